//! Purging on request: deleted cells and their tombstones go now, whatever PURGE_DELETED_AFTER says.

use super::compact::announce_as;
use super::engine::{Engine, family, known_table};
use super::pace::Pace;
use super::sweep::{Span, Sweep};
use crate::Result;
use crate::backend::{CompactionKind, Purge};
use crate::model::{FamilySchema, KeepDeleted};

impl Engine {
    /// Drops what is deleted in the purge's scope: from the index, from segments when they are rewritten.
    pub fn purge_deleted(&self, purge: &Purge) -> Result<()> {
        self.flush()?;
        let catalogue = self.catalogue.load_full();
        let table = known_table(&catalogue, &purge.table)?;
        let families: Vec<&FamilySchema> = match &purge.family {
            Some(name) => vec![family(table, name)?],
            None => table.families.values().collect(),
        };
        for family in families {
            let mut family = family.clone();
            if family.rules.new_version_behavior {
                family.rules.purge_deleted_after_ms = Some(0);
            } else {
                family.rules.keep_deleted = KeepDeleted::False;
            }
            self.purge_family(purge, &family)?;
        }
        self.purge_segments(&mut Pace::full(self))
    }

    fn purge_family(&self, purge: &Purge, family: &FamilySchema) -> Result<()> {
        let _one = self.compacting.lock();
        let Some(extent) = self.requested(family, CompactionKind::Major) else { return Ok(()) };
        let span = Span { row: purge.row.clone(), qualifier: purge.qualifier.clone() };
        let swept = Sweep::new(self, family, extent).within(span).run(&mut Pace::full(self), &mut |_| ())?;
        if let Some(swept) = swept {
            self.announce(&announce_as(&purge.table, family, swept));
        }
        Ok(())
    }
}
