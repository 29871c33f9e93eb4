//! Directories that vanish with their last cell where cells expire: how long the kernel may keep their names.

use std::time::Duration;

use crate::Result;
use crate::backend::Versions;
use crate::fs::base::Fs;
use crate::model::{CellInfo, TimeRange, Timestamp};
use crate::tree::place::{NodeKey, Place};

/// The kernel counts in ticks and rounds up: what it may keep up to a moment it keeps a little longer.
const TICKS_MS: i64 = 25;

impl Fs {
    /// How long the kernel may keep what ends at a moment.
    pub(in crate::fs) fn until(&self, at: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(at.0 - self.tree.backend.now().0 - TICKS_MS).unwrap_or(0))
    }

    /// Whether a row or a family of one may vanish by itself.
    pub(in crate::fs) fn may_expire(&self, key: &NodeKey) -> Result<bool> {
        match &key.place {
            Place::Row(row) if key.is_present() => self.tree.backend.may_expire(&row.table),
            Place::Family(family) if key.is_present() => self.tree.backend.may_expire(&family.table),
            _ => Ok(false),
        }
    }

    /// When the first cell that is visible in a directory expires; `None`: never, or there is none.
    pub(in crate::fs) fn first_expiry(&self, key: &NodeKey) -> Result<Option<Timestamp>> {
        let (table, row, families) = match &key.place {
            Place::Row(row) if !self.tree.uncommitted.dirs.has_row(row)? => {
                let families = self.tree.backend.list_families(&row.table, &row.row, TimeRange::ALL, Versions::Live)?;
                (&row.table, &row.row, families)
            }
            Place::Family(place) if !self.tree.uncommitted.dirs.has_family(place)? => {
                (&place.table, &place.row, vec![place.family.clone()])
            }
            _ => return Ok(None),
        };
        let Some(family) = families.first() else { return Ok(None) };
        let first = self.tree.backend.list_columns(table, row, family, None, TimeRange::ALL, 1)?;
        Ok(first.first().and_then(|(_, cell)| cell.expires_at))
    }

    pub(in crate::fs) fn is_fresh(&self, cell: &CellInfo) -> bool {
        cell.expires_at.is_none_or(|at| at > self.tree.backend.now())
    }
}
