//! Purging on request: deleted cells and their tombstones go now, whatever their family says about keeping them.

use super::merge::Scope;
use crate::Result;
use crate::backend::{CompactionKind, Event, PurgeScope};
use crate::model::{FamilyId, FamilyRules, KeepDeleted, Origin};
use crate::store::catalogue::upkeep;
use crate::store::engine::{Engine, family, known_table};
use crate::store::extents::flush;
use crate::store::jobs::{collect, compact};
use crate::store::space::{reserve, room};

/// See [`crate::backend::Backend::purge`].
pub fn purge_deleted(engine: &Engine, scope: &PurgeScope) -> Result<()> {
    let _hurry = engine.hurry.up();
    engine.wake(|_| ());
    reserve::with_reserve(engine, || upkeep::note_purge(engine, scope)).map_err(|e| room::told_full(engine, e))?;
    flush::flush(engine)?;
    let catalogue = engine.catalogue.load_full();
    let table = known_table(&catalogue, &scope.table)?;
    let mut families: Vec<(FamilyId, Scope)> = match &scope.family {
        Some(name) => vec![family(table, name)?],
        None => table.families.values().collect(),
    }
    .into_iter()
    .map(|family| (family.id, Scope { row: scope.row.clone(), qualifier: scope.qualifier.clone() }))
    .collect();
    // Order: behind the cells that they are of: what nothing needs any more goes, whichever row it is of.
    families.extend(table.indexes.values().map(|index| (index.entries.id, Scope::default())));
    for (family, within) in families {
        compact::merge_family(engine, family, (CompactionKind::Major, within), keeping_nothing)?;
    }
    engine.subscribers.announce(&[purged(scope)]);
    // Order: the files first that nothing refers to: what they lead to counts as live as long as they are there.
    engine.structure.collect();
    collect::collect_blobs(engine)?;
    if engine.disk.is_short() {
        reserve::restore_reserve(engine)?;
    }
    Ok(())
}

fn keeping_nothing(rules: &FamilyRules) -> FamilyRules {
    let mut rules = rules.clone();
    rules.purge_deleted_after_ms = Some(0);
    rules.keep_versions_for_ms = 0;
    if !rules.new_version_behavior {
        rules.keep_deleted = KeepDeleted::False;
        rules.time_to_purge_deletes_ms = 0;
    }
    rules
}

fn purged(scope: &PurgeScope) -> Event {
    let (table, origin) = (scope.table.clone(), Origin::default());
    match &scope.row {
        None => Event::Table { table, origin },
        Some(row) => Event::Row { table, row: row.clone(), family: scope.family.clone(), origin },
    }
}
