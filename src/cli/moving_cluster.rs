//! mv on a cluster: it restores no deleted versions as such, so they go with the tombstones that hide them.

use super::moving::{Mover, TRIES};
use crate::bulk::copy::{Copied, Part, rename};
use crate::model::{ColumnKey, Qualifier, SeqNo, TimeRange};
use crate::tree::place::FamilyPlace;
use crate::{Error, ErrorKind, Result};

impl Mover {
    pub(super) fn family_on_cluster(&self, from: &FamilyPlace, to: &FamilyPlace) -> Result<u64> {
        let part = |of: &FamilyPlace| Part {
            table: of.table.clone(),
            row: of.row.clone(),
            family: of.family.clone(),
            qualifier: None,
        };
        self.with_tombstones(&part(from), &part(to))
    }

    pub(super) fn cell_on_cluster(&self, from: &ColumnKey, to: &ColumnKey) -> Result<u64> {
        let part = |of: &ColumnKey| Part {
            table: of.table.clone(),
            row: of.row.clone(),
            family: of.family.clone(),
            qualifier: Some(of.qualifier.clone()),
        };
        self.with_tombstones(&part(from), &part(to))
    }

    /// Moves a part with what is deleted, and with what deletes it.
    fn with_tombstones(&self, from: &Part, to: &Part) -> Result<u64> {
        let mut moved = 0;
        let mut written = Vec::new();
        rename(&self.backend, (from, to), &mut |copied: &Copied| {
            self.progress.add(copied.cells);
            moved += copied.cells;
            if !self.ends(copied, from, to)? {
                written.push(copied.qualifier.clone());
            }
            Ok(())
        })?;
        for qualifier in written {
            moved += self.once_more(from, to, &qualifier)?;
        }
        Ok(moved)
    }

    /// Erases a column that was copied, unless it was written to meanwhile; whether nothing is left of it.
    fn ends(&self, copied: &Copied, from: &Part, to: &Part) -> Result<bool> {
        let target = to.qualifier.clone().unwrap_or_else(|| copied.qualifier.clone());
        let (one, other) = (column(from, copied.qualifier.clone()), column(to, target));
        match copied.newest {
            // Numbers of versions are their timestamps there.
            Some(newest) => self.erase_column(&one, &other, Some(SeqNo(newest.0.cast_unsigned()))),
            None => Ok(self.backend.newest(&one, TimeRange::ALL)?.is_none()),
        }
    }

    fn once_more(&self, from: &Part, to: &Part, qualifier: &Qualifier) -> Result<u64> {
        let target = to.qualifier.clone().unwrap_or_else(|| qualifier.clone());
        let (one, other) = (
            Part { qualifier: Some(qualifier.clone()), ..from.clone() },
            Part { qualifier: Some(target), ..to.clone() },
        );
        let (mut moved, mut is_done) = (0, false);
        for _ in 0..TRIES {
            rename(&self.backend, (&one, &other), &mut |copied: &Copied| {
                moved += copied.cells;
                is_done = self.ends(copied, &one, &other)?;
                Ok(())
            })?;
            if is_done {
                return Ok(moved);
            }
        }
        let shown = String::from_utf8_lossy(qualifier);
        let text = format!("cell {shown} is being written all the time; end its writers, then mv --resume");
        Err(Error::new(ErrorKind::Refused, text))
    }
}

fn column(of: &Part, qualifier: Qualifier) -> ColumnKey {
    ColumnKey { table: of.table.clone(), row: of.row.clone(), family: of.family.clone(), qualifier }
}
