//! Versions that newer ones have hidden for good, in families of NEW_VERSION_BEHAVIOR. Pure.
//!
//! Such a family shows a version never again that VERSIONS newer ones hid once, whatever becomes of these
//! (NewVersionBehaviorTracker). Which of them were there then no copy can tell, as cells have no sequence ids outside of
//! their store: such versions are left out, as by a compaction.

use std::collections::BTreeSet;

use crate::model::{Cell, CellKind, Qualifier, Timestamp, Tombstone};

/// Looks at the cells of a row, in the order of raw scans.
pub struct Masked<'a> {
    /// Those that have it.
    families: &'a BTreeSet<String>,
    family: String,
    /// Up to which time the family is deleted; all of it, where single times of it are.
    deleted_to: Option<Timestamp>,
    qualifier: Qualifier,
    column_deleted_to: Option<Timestamp>,
    version_deleted: Option<Timestamp>,
}

impl<'a> Masked<'a> {
    pub fn new(families: &'a BTreeSet<String>) -> Self {
        Self {
            families,
            family: String::new(),
            deleted_to: None,
            qualifier: Qualifier::default(),
            column_deleted_to: None,
            version_deleted: None,
        }
    }

    /// Whether the next cell is such a version: one that is neither shown nor deleted.
    pub fn has(&mut self, cell: &Cell, is_shown: bool) -> bool {
        self.enter(cell);
        let CellKind::Tombstone(tombstone) = cell.kind else {
            let is_deleted = [self.deleted_to, self.column_deleted_to].iter().flatten().any(|to| cell.timestamp <= *to)
                || self.version_deleted == Some(cell.timestamp)
                || cell.tags.ended_at.is_some();
            return !is_shown && !is_deleted && self.families.contains(&cell.family);
        };
        match tombstone {
            Tombstone::Family => self.deleted_to = self.deleted_to.max(Some(cell.timestamp)),
            Tombstone::FamilyVersion => self.deleted_to = Some(Timestamp::MAX),
            Tombstone::Column => self.column_deleted_to = self.column_deleted_to.max(Some(cell.timestamp)),
            Tombstone::Version => self.version_deleted = Some(cell.timestamp),
        }
        false
    }

    fn enter(&mut self, cell: &Cell) {
        if self.family != cell.family {
            self.family.clone_from(&cell.family);
            self.deleted_to = None;
        } else if self.qualifier == cell.qualifier {
            return;
        }
        self.qualifier.clone_from(&cell.qualifier);
        (self.column_deleted_to, self.version_deleted) = (None, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Tags;

    fn cell(family: &str, qualifier: &str, time: i64, kind: CellKind) -> Cell {
        let tags = Tags::default();
        Cell {
            family: family.into(),
            qualifier: qualifier.into(),
            timestamp: Timestamp(time),
            kind,
            tags,
            value: vec![],
        }
    }

    #[test]
    fn what_is_neither_shown_nor_deleted_is_masked_in_new_families_alone() {
        use Tombstone::{Column, Family, FamilyVersion, Version};
        let put = CellKind::Put;
        let marker = CellKind::Tombstone;
        let kept = |time| {
            let mut cell = cell("f", "b", time, put);
            cell.tags.ended_at = Some(Timestamp(time));
            cell
        };
        // With whether it is masked; nothing is shown.
        let cells = [
            (cell("c", "a", 1, put), false),
            (cell("f", "", 9, put), true),
            (cell("f", "", 4, marker(Family)), false),
            (cell("f", "", 4, put), false),
            (cell("f", "a", 9, put), true),
            (cell("f", "a", 7, marker(Version)), false),
            (cell("f", "a", 7, put), false),
            (cell("f", "a", 6, put), true),
            (cell("f", "a", 5, marker(Column)), false),
            (cell("f", "a", 5, put), false),
            (cell("f", "b", 7, put), true),
            (kept(6), false),
            (cell("f", "b", 5, put), true),
            (cell("f", "b", 4, put), false),
            (cell("g", "", 3, marker(FamilyVersion)), false),
            (cell("g", "a", 9, put), false),
            (cell("h", "a", 3, put), true),
        ];
        let families = ["f", "g", "h"].map(str::to_owned).into();
        let mut masked = Masked::new(&families);
        let found: Vec<bool> = cells.iter().map(|(cell, _)| masked.has(cell, false)).collect();
        assert_eq!(found, cells.iter().map(|(_, is)| *is).collect::<Vec<_>>());
        let mut masked = Masked::new(&families);
        assert!(cells.iter().all(|(cell, _)| !masked.has(cell, true)), "what is shown is not");
    }
}
