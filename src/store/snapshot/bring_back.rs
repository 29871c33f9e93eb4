//! Bringing tables of a snapshot back: families of their own refer to the snapshot's extents, all in one edit.

use crate::Result;
use crate::backend::{Event, Existing, Restoration};
use crate::journal::{Item, Reference};
use crate::model::{Catalogue, FamilyId, Origin, TableName, TableState};
use crate::store::catalogue::change::change_with;
use crate::store::catalogue::dropped::drop_for_good;
use crate::store::catalogue::index_states::doubt_others;
use crate::store::catalogue::tables::{
    check_new_name, families_of, insert_table, new_family_id, new_table_id, no_namespace,
};
use crate::store::engine::{Engine, known_table};
use crate::store::secondary::entry;
use crate::store::snapshot::snapshots;

/// Makes tables of those that a snapshot has.
pub fn restore_tables(engine: &Engine, restoration: &Restoration, origin: Origin) -> Result<()> {
    engine.log.check_poison()?;
    let _held = engine.turns.snapshot();
    let (state, edit, record) = snapshots::snapshot_record(engine, &restoration.snapshot)?;
    let families = families_of(&record.catalogue);
    let held: Vec<_> = state.counted_at(edit).filter(|(of, _)| families.contains(&of.family)).collect();
    change_with(engine, |catalogue, _| {
        let mut items = Vec::new();
        let mut events = Vec::new();
        for (table, to) in &restoration.tables {
            if !catalogue.namespaces.contains_key(&*to.namespace) {
                let namespace = record.catalogue.namespaces.get(&*to.namespace).cloned();
                let namespace = namespace.ok_or_else(|| no_namespace(&to.namespace))?;
                events.push(Event::Namespace { name: namespace.name.clone(), origin: Origin::default() });
                catalogue.namespaces.insert(namespace.name.clone(), namespace);
            }
            let pairs = bring_back(catalogue, &record.catalogue, (table, to), restoration.existing)
                .map_err(|e| e.context(format!("make {to} of a snapshot")))?;
            for (old, new) in pairs {
                let of_old = held.iter().filter(|(of, _)| of.family == old);
                for (of, held) in of_old {
                    let (reference, from) = (Reference { family: new, ..**of }, held.from_at(edit));
                    let (first_layer, last_layer) = (held.first_layer, held.last_layer);
                    items.push(Item::Add { reference, first_layer, last_layer });
                    if !from.is_empty() {
                        items.push(Item::Trim { reference, from });
                    }
                }
            }
            events.push(Event::Replaced { table: to.clone() });
            events.push(Event::Table { table: to.clone(), origin });
        }
        Ok((events, items))
    })
}

/// Declares a table of a snapshot under a name; its families of then, each with what it is now.
fn bring_back(
    catalogue: &mut Catalogue,
    there: &Catalogue,
    (table, to): (&TableName, &TableName),
    existing: Existing,
) -> Result<Vec<(FamilyId, FamilyId)>> {
    let mut new = known_table(there, table)?.clone();
    new.state = TableState::Enabled;
    let complete = entry::complete_entries(catalogue);
    match catalogue.tables.get(to).filter(|_| existing == Existing::Replace) {
        Some(present) => {
            new.state = present.state;
            drop_for_good(catalogue, to)?;
        }
        None => check_new_name(catalogue, to)?,
    }
    new.name = to.clone();
    new.id = new_table_id(catalogue);
    let mut pairs = Vec::new();
    // Order: by the entries that the snapshot holds, before they get another number.
    doubt_others(&mut new, &complete);
    for family in new.stored_families_mut() {
        let old = std::mem::replace(&mut family.id, new_family_id(catalogue));
        if there.restored.contains(&old) {
            catalogue.restored.insert(family.id);
        }
        pairs.push((old, family.id));
    }
    insert_table(catalogue, new)?;
    Ok(pairs)
}
