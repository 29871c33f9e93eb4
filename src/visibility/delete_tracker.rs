//! Which cells the tombstones seen so far hide, by HBase's classic rules (ScanDeleteTracker).

use std::collections::HashSet;

use super::markers::covers;
use crate::model::{CellKind, Qualifier, StoredCell, Timestamp, Tombstone};

/// Why a cell is hidden, and the time of the tombstone that hides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deletion {
    pub by: Tombstone,
    pub at: Timestamp,
}

impl Deletion {
    /// Whether everything older in the column is hidden too.
    pub fn ends_column(self) -> bool {
        matches!(self.by, Tombstone::Family | Tombstone::Column)
    }
}

/// Tombstones of one row and family, fed in HBase's order.
#[derive(Debug, Default)]
pub(super) struct DeleteTracker {
    family: Option<Timestamp>,
    family_versions: HashSet<Timestamp>,
    column: Option<ColumnMarker>,
    /// The last tombstone of a column, and the times of all of the family: also those that another makes superfluous.
    last: Option<(Qualifier, Timestamp)>,
    family_times: HashSet<Timestamp>,
    /// Erasing tombstones of the family and of the current column.
    erasers: Vec<StoredCell>,
}

#[derive(Debug)]
struct ColumnMarker {
    qualifier: Qualifier,
    kind: Tombstone,
    timestamp: Timestamp,
}

impl DeleteTracker {
    /// Remembers a tombstone; one that an earlier one makes superfluous is ignored.
    pub fn add(&mut self, cell: &StoredCell) {
        let CellKind::Tombstone(kind) = cell.kind else { return };
        if cell.kind.is_family_tombstone() {
            self.family_times.insert(cell.timestamp);
        } else {
            self.last = Some((cell.qualifier.clone(), cell.timestamp));
        }
        if self.family.is_some_and(|t| cell.timestamp <= t) {
            return;
        }
        match kind {
            Tombstone::Family => self.family = Some(cell.timestamp),
            Tombstone::FamilyVersion => {
                self.family_versions.insert(cell.timestamp);
            }
            Tombstone::Column | Tombstone::Version => self.add_column_marker(cell, kind),
        }
    }

    fn add_column_marker(&mut self, cell: &StoredCell, kind: Tombstone) {
        let weaker = |old: &ColumnMarker| {
            old.qualifier == cell.qualifier && old.kind == Tombstone::Column && kind == Tombstone::Version
        };
        if self.column.as_ref().is_some_and(weaker) {
            return;
        }
        self.column = Some(ColumnMarker { qualifier: cell.qualifier.clone(), kind, timestamp: cell.timestamp });
    }

    /// Remembers a tombstone that leaves nothing to be kept (ours; judged by the order of writing).
    pub fn add_eraser(&mut self, tombstone: &StoredCell) {
        self.erasers.retain(|old| old.kind.is_family_tombstone() || old.qualifier == tombstone.qualifier);
        self.erasers.push(tombstone.clone());
    }

    /// Whether an erasing tombstone was written after this put that covers it.
    pub fn erased(&self, put: &StoredCell) -> bool {
        self.erasers.iter().any(|tombstone| covers(tombstone, put))
    }

    /// Whether a tombstone of exactly this put's time hides it.
    pub fn covers_exactly(&self, put: &StoredCell) -> bool {
        let last = self.last.as_ref().is_some_and(|(q, t)| *t == put.timestamp && *q == put.qualifier);
        last || self.family_times.contains(&put.timestamp)
    }

    /// The tombstone that hides this put, if one does.
    pub fn deletion(&self, put: &StoredCell) -> Option<Deletion> {
        if let Some(at) = self.family.filter(|t| put.timestamp <= *t) {
            return Some(Deletion { by: Tombstone::Family, at });
        }
        if self.family_versions.contains(&put.timestamp) {
            return Some(Deletion { by: Tombstone::FamilyVersion, at: put.timestamp });
        }
        let marker = self.column.as_ref().filter(|m| m.qualifier == put.qualifier)?;
        let hides = marker.kind == Tombstone::Column || marker.timestamp == put.timestamp;
        hides.then_some(Deletion { by: marker.kind, at: marker.timestamp })
    }
}
