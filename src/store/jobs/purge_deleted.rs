//! Purging on request: deleted cells and their tombstones go now, whatever their family says about keeping them.

use super::merge::Scope;
use crate::Result;
use crate::backend::{CompactionKind, Event, PurgeScope};
use crate::model::{FamilyRules, FamilySchema, KeepDeleted, Origin};
use crate::store::engine::{Engine, family, known_table};

impl Engine {
    /// See [`crate::backend::Backend::purge`].
    pub fn purge_deleted(&self, scope: &PurgeScope) -> Result<()> {
        let _hurry = self.hurry.up();
        self.wake(|_| ());
        self.with_reserve(|| self.note_purge(scope)).map_err(|e| self.told_full(e))?;
        self.flush()?;
        let catalogue = self.catalogue.load_full();
        let table = known_table(&catalogue, &scope.table)?;
        let mut families: Vec<(&FamilySchema, Scope)> = match &scope.family {
            Some(name) => vec![family(table, name)?],
            None => table.families.values().collect(),
        }
        .into_iter()
        .map(|family| (family, Scope { row: scope.row.clone(), qualifier: scope.qualifier.clone() }))
        .collect();
        // Order: behind the cells that they are of: what nothing needs any more goes, whichever row it is of.
        families.extend(table.indexes.values().map(|index| (&index.entries, Scope::default())));
        for (family, within) in families {
            let _one = self.compacting.lock();
            let rules = keeping_nothing(&family.rules);
            let runs = self.requested(family, CompactionKind::Major);
            let what = (CompactionKind::Major, runs, within);
            self.merge_runs(&scope.table, family, &rules, what, &mut self.full_pace())?;
        }
        self.subscribers.announce(&[purged(scope)]);
        // Order: the files first that nothing refers to: what they lead to counts as live as long as they are there.
        self.structure.collect();
        self.collect_blobs()?;
        if self.disk.is_short() {
            self.restore_reserve()?;
        }
        Ok(())
    }
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
