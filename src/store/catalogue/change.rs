//! Changes of the catalogue: what they check, and how they become durable.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::emptied::Emptied;
use super::events::{events_of, events_of_system};
use super::index_states::take_over;
use super::prove::{Proven, check_declared};
use super::restore::{restore_family, unset_for_restore};
use super::tables::{check_new_name, insert_table, new_family_id, new_table_id, no_namespace, truncate};
use super::{attribute_times, complete, dropped};
use crate::backend::Event;
use crate::journal::{CatalogueDelta, Edit, Item};
use crate::model::declared::attributes::namespace_property;
use crate::model::{
    Catalogue, CatalogueChange, FamilyId, NamespaceSchema, Origin, TableName, TableSchema, TableState, Timestamp,
    check_namespace,
};
use crate::store::catalogue::prove;
use crate::store::engine::{Engine, edits, known_table};
use crate::store::layout::runs::Layout;
use crate::store::space::room;
use crate::{Error, ErrorKind, Result};

/// Namespaces that always exist.
const RESERVED: [&str; 2] = ["default", "hbase"];

/// An empty catalogue.
pub fn initial() -> Catalogue {
    let namespace = |name: &str| NamespaceSchema { name: name.to_owned(), ..NamespaceSchema::default() };
    Catalogue {
        namespaces: RESERVED.iter().map(|name| ((*name).to_owned(), namespace(name))).collect(),
        next_table_id: 1,
        next_family_id: 1,
        ..Catalogue::default()
    }
}

/// Applies a change at the time `now`; the events it causes.
fn apply(catalogue: &mut Catalogue, change: CatalogueChange, origin: Origin, now: Timestamp) -> Result<Vec<Event>> {
    let events = events_of(catalogue, &change, origin);
    match change {
        CatalogueChange::CreateNamespace(new) => create_namespace(catalogue, new)?,
        CatalogueChange::AlterNamespace(new) => alter_namespace(catalogue, new)?,
        CatalogueChange::DropNamespace { name } => drop_namespace(catalogue, &name)?,
        CatalogueChange::RenameNamespace { from, to } => rename_namespace(catalogue, &from, &to)?,
        CatalogueChange::CreateTable(new) => create_table(catalogue, new)?,
        CatalogueChange::AlterTable(new) => alter_table(catalogue, new, now)?,
        CatalogueChange::DropTable { name } => dropped::drop_for_good(catalogue, &name)?,
        CatalogueChange::SetTableAside { name } => dropped::set_table_aside(catalogue, &name, now)?,
        CatalogueChange::SetFamilyAside { table, family } => {
            dropped::check_goes(catalogue, &table, &family)?;
            dropped::set_family_aside(catalogue, &table, &family, now)?;
        }
        CatalogueChange::Undrop { table, family: None } => dropped::undrop_table(catalogue, &table, now)?,
        CatalogueChange::Undrop { table, family: Some(family) } => {
            dropped::undrop_family(catalogue, (&table, &family), now)?;
        }
        CatalogueChange::BringBack { table, family: None, at } => dropped::bring_back(catalogue, &table, at, now)?,
        CatalogueChange::BringBack { table, family: Some(family), at } => {
            dropped::bring_family_back(catalogue, (&table, &family), at, now)?;
        }
        CatalogueChange::ForgetDropped => dropped::forget(catalogue, now),
        CatalogueChange::ForgetTable { name } => drop(dropped::forget_table(catalogue, &name)),
        CatalogueChange::TruncateTable { name } => truncate(catalogue, &name, now)?,
        CatalogueChange::SetCellsAside { name } => dropped::set_cells_aside(catalogue, &name, now)?,
        CatalogueChange::RenameTable { from, to } => rename(catalogue, &from, &to)?,
        CatalogueChange::ExchangeTables { one, other } => exchange(catalogue, &one, &other)?,
        CatalogueChange::SetTableState { name, state } => set_state(catalogue, &name, state)?,
        CatalogueChange::RestoreFamily { table, family } => restore_family(catalogue, &table, &family)?,
        CatalogueChange::UnsetForRestore { table, family, name } => {
            unset_for_restore(catalogue, &table, &family, &name)?;
        }
        CatalogueChange::SetAttributeTime { key, time } => attribute_times::set(catalogue, key, time)?,
        CatalogueChange::At { version, change } => {
            if catalogue.version != version {
                return Err(Error::new(ErrorKind::Overtaken, "another change of the schema came between; try again"));
            }
            return apply(catalogue, *change, origin, now);
        }
        CatalogueChange::IfEmpty { change, .. } => return apply(catalogue, *change, origin, now),
        CatalogueChange::Configure { setting, value } => catalogue.settings.change(&setting, value.as_deref())?,
    }
    catalogue.version += 1;
    Ok(events)
}

fn create_namespace(catalogue: &mut Catalogue, new: NamespaceSchema) -> Result<()> {
    check_namespace(&new.name)?;
    if catalogue.namespaces.contains_key(&new.name) {
        return Err(Error::new(ErrorKind::NamespaceExists, format!("Namespace {} already exists", new.name)));
    }
    check_quota(&new)?;
    catalogue.dropped_namespaces.remove(&new.name);
    catalogue.namespaces.insert(new.name.clone(), new);
    Ok(())
}

fn alter_namespace(catalogue: &mut Catalogue, new: NamespaceSchema) -> Result<()> {
    check_quota(&new)?;
    let old = catalogue.namespaces.get_mut(&new.name).ok_or_else(|| no_namespace(&new.name))?;
    *old = new;
    Ok(())
}

fn check_quota(namespace: &NamespaceSchema) -> Result<()> {
    namespace.properties.iter().try_for_each(|(name, value)| namespace_property(name, value))
}

fn drop_namespace(catalogue: &mut Catalogue, name: &str) -> Result<()> {
    if RESERVED.contains(&name) {
        return Err(Error::new(ErrorKind::Constraint, format!("Reserved namespace {name} cannot be removed.")));
    }
    let tables = catalogue.tables.keys().filter(|t| *t.namespace == *name).count();
    if tables > 0 {
        let text = format!("Only empty namespaces can be removed. Namespace {name} has {tables} tables");
        return Err(Error::new(ErrorKind::NotEmpty, text));
    }
    let gone = catalogue.namespaces.remove(name).ok_or_else(|| no_namespace(name))?;
    dropped::set_namespace_aside(catalogue, gone);
    Ok(())
}

fn rename_namespace(catalogue: &mut Catalogue, from: &str, to: &str) -> Result<()> {
    check_namespace(to)?;
    if RESERVED.contains(&from) {
        return Err(Error::new(ErrorKind::Constraint, format!("Reserved namespace {from} cannot be renamed.")));
    }
    if RESERVED.contains(&to) {
        return Err(Error::new(ErrorKind::NamespaceExists, format!("Namespace {to} already exists")));
    }
    if from != to && catalogue.namespaces.contains_key(from) && catalogue.namespaces.contains_key(to) {
        // As of any directory, only an empty one is replaced.
        drop_namespace(catalogue, to)?;
    }
    let mut moved = catalogue.namespaces.remove(from).ok_or_else(|| no_namespace(from))?;
    moved.name = to.to_owned();
    catalogue.namespaces.insert(to.to_owned(), moved);
    let names: Vec<TableName> = catalogue.tables.keys().filter(|t| *t.namespace == *from).cloned().collect();
    for name in names {
        if let Some(mut table) = catalogue.tables.remove(&name) {
            table.name.namespace = to.into();
            catalogue.tables.insert(table.name.clone(), table);
        }
    }
    dropped::rename_namespace(catalogue, from, to);
    attribute_times::rename_namespace(catalogue, from, to);
    Ok(())
}

fn create_table(catalogue: &mut Catalogue, mut new: TableSchema) -> Result<()> {
    check_new_name(catalogue, &new.name)?;
    new.id = new_table_id(catalogue);
    for family in new.families.values_mut() {
        family.id = new_family_id(catalogue);
        family.forget_past();
    }
    check_declared(None, &mut new)?;
    take_over(catalogue, None, &mut new)?;
    insert_table(catalogue, new)
}

/// Families that are not in the new schema are dropped so that they can be brought back.
fn alter_table(catalogue: &mut Catalogue, mut new: TableSchema, now: Timestamp) -> Result<()> {
    check_declared(Some(known_table(catalogue, &new.name)?), &mut new)?;
    let name = new.name.clone();
    let stays = |family: &&String| new.families.contains_key(*family);
    let gone: Vec<String> = known_table(catalogue, &name)?.families.keys().filter(|f| !stays(f)).cloned().collect();
    gone.iter().try_for_each(|family| dropped::set_family_aside(catalogue, &name, family, now))?;
    let old = known_table(catalogue, &name)?.clone();
    new.id = old.id;
    for (name, family) in &mut new.families {
        family.id = old.families.get(name).map_or_else(|| new_family_id(catalogue), |kept| kept.id);
        // What a client gives does not count.
        family.forget_past();
    }
    take_over(catalogue, Some(&old), &mut new)?;
    insert_table(catalogue, new)
}

fn rename(catalogue: &mut Catalogue, from: &TableName, to: &TableName) -> Result<()> {
    let mut table = known_table(catalogue, from)?.clone();
    if from == to {
        return check_new_name(catalogue, to);
    }
    // Order: it leaves its place first, so that the quota of a namespace counts it once.
    catalogue.tables.remove(from);
    check_new_name(catalogue, to)?;
    table.name = to.clone();
    catalogue.tables.insert(to.clone(), table);
    Ok(())
}

fn exchange(catalogue: &mut Catalogue, one: &TableName, other: &TableName) -> Result<()> {
    let (mut first, mut second) = (known_table(catalogue, one)?.clone(), known_table(catalogue, other)?.clone());
    std::mem::swap(&mut first.name, &mut second.name);
    catalogue.tables.extend(BTreeMap::from([(one.clone(), second), (other.clone(), first)]));
    Ok(())
}

fn set_state(catalogue: &mut Catalogue, name: &TableName, state: TableState) -> Result<()> {
    known_table(catalogue, name)?;
    let table = catalogue.tables.get_mut(name).filter(|table| table.state != state);
    match (table, state) {
        (Some(table), _) => table.state = state,
        (None, TableState::Disabled) => {
            return Err(Error::new(ErrorKind::TableDisabled, format!("table {name} is disabled already")));
        }
        (None, TableState::Enabled) => {
            return Err(Error::new(ErrorKind::TableEnabled, format!("table {name} is enabled already")));
        }
    }
    Ok(())
}

/// Whether a change makes something new, which a full disk does not take; what is made smaller or goes is no such thing.
fn is_made(catalogue: &Catalogue, change: &CatalogueChange) -> bool {
    match change {
        CatalogueChange::CreateNamespace(_)
        | CatalogueChange::CreateTable(_)
        | CatalogueChange::RestoreFamily { .. } => true,
        CatalogueChange::AlterTable(new) => catalogue.tables.get(&new.name).is_none_or(|old| {
            new.families.keys().any(|name| !old.families.contains_key(name))
                || new.indexes.keys().any(|name| !old.indexes.contains_key(name))
        }),
        CatalogueChange::At { change, .. } | CatalogueChange::IfEmpty { change, .. } => is_made(catalogue, change),
        _ => false,
    }
}

/// Checks, applies, makes durable and publishes a change.
pub fn alter(engine: &Engine, change: CatalogueChange, origin: Origin) -> Result<()> {
    if is_made(&engine.catalogue.load(), &change) {
        room::await_room(engine, true);
        room::check_reserve(engine, 0)?;
    }
    let proven = prove::prove(engine, &change)?;
    let emptied = Emptied::of(&change);
    let apply = |catalogue: &mut Catalogue, now: Timestamp| {
        Proven::covers(proven.as_ref(), catalogue, &change)?;
        Ok((apply(catalogue, change, origin, now)?, Vec::new()))
    };
    let changed = change_where(engine, |before| emptied.check(engine, before), apply);
    changed.map_err(|e| room::told_full(engine, e))
}

/// As [`alter`], of a change that gives the events it causes.
pub fn change_catalogue(
    engine: &Engine,
    change: impl FnOnce(&mut Catalogue, Timestamp) -> Result<Vec<Event>>,
) -> Result<()> {
    change_with(engine, |catalogue, now| Ok((change(catalogue, now)?, Vec::new())))
}

/// As [`change_catalogue`], with other parts of the same edit.
pub fn change_with(
    engine: &Engine,
    change: impl FnOnce(&mut Catalogue, Timestamp) -> Result<(Vec<Event>, Vec<Item>)>,
) -> Result<()> {
    change_where(engine, |_| Ok(()), change)
}

/// As [`change_with`], where `check` takes the catalogue of before, when nobody writes.
fn change_where(
    engine: &Engine,
    check: impl FnOnce(&Catalogue) -> Result<()>,
    change: impl FnOnce(&mut Catalogue, Timestamp) -> Result<(Vec<Event>, Vec<Item>)>,
) -> Result<()> {
    let events = {
        let _one = engine.turns.alter();
        engine.log.check_poison()?;
        let (before, now) = (engine.catalogue.load_full(), engine.now());
        let mut catalogue = (*before).clone();
        let (events, items) = change(&mut catalogue, now)?;
        attribute_times::note(&before, &mut catalogue, now);
        complete::note(&before, &mut catalogue, now, &|family| complete::may_be_full(engine, family));
        #[cfg(test)]
        let is_awaited = !engine.breaks(crate::store::options::Broken::WritesUndeclared);
        #[cfg(not(test))]
        let is_awaited = true;
        // Order: those that write by the old one are done before the answer; and before the journal is locked, which
        // they may need for a file of large values.
        let _writers = is_awaited.then(|| engine.turns.declare());
        check(&before)?;
        let told = events_of_system(&before, &catalogue);
        let changed = edits::commit(
            engine,
            |layout| Ok(edit_of(layout, &before, &catalogue, items)),
            |layout| {
                engine.tracks.take_runs(layout);
                // Order: new families can be read before anyone hears of them, old ones until nobody does.
                engine.show(&Arc::new(layout.with_gone(&engine.layout())), |_| None);
                engine.catalogue.store(Arc::clone(&layout.state.catalogue));
                engine.show(layout, |_| None);
            },
        );
        changed?;
        [events, told].concat()
    };
    engine.wake(|state| (state.compact, state.index) = (true, true));
    engine.subscribers.announce(&events);
    Ok(())
}

/// The edit of a change of the catalogue: what belongs to nothing that is kept goes with it.
fn edit_of(layout: &Layout, before: &Catalogue, after: &Catalogue, items: Vec<Item>) -> Edit {
    let kept: std::collections::BTreeSet<FamilyId> = after.stored_families().map(|family| family.id).collect();
    let gone = layout.state.live().filter(|(reference, _)| !kept.contains(&reference.family));
    let mut edit = Edit::from(Item::Catalogue(Box::new(CatalogueDelta::between(before, after))));
    edit.items.extend(gone.map(|(reference, _)| Item::Remove(*reference)));
    edit.items.extend(items);
    edit
}
