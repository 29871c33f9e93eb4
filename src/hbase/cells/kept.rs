//! Deleted versions that a family keeps, from what a raw scan shows. Pure.

use std::collections::BTreeSet;

use crate::hbase::client::Cell;
use crate::hbase::client::wire::cell::PUT;
use crate::model::Timestamp;

const VERSION: u8 = 8;
const FAMILY_VERSION: u8 = 10;
const COLUMN: u8 = 12;
const FAMILY: u8 = 14;

/// Tombstones of a row and family, gathered as they come: those of the family before its columns.
#[derive(Default)]
pub(in crate::hbase) struct Tombstones {
    family: BTreeSet<i64>,
    family_versions: BTreeSet<i64>,
    qualifier: Vec<u8>,
    column: BTreeSet<i64>,
    versions: BTreeSet<i64>,
    last_put: Option<i64>,
}

impl Tombstones {
    /// Takes the next cell of a raw scan; of a put that a tombstone covers the time of the one that ended it, which is
    /// the earliest.
    pub fn take(&mut self, cell: &Cell) -> Option<Timestamp> {
        if cell.qualifier != self.qualifier {
            self.qualifier.clone_from(&cell.qualifier);
            self.column.clear();
            self.versions.clear();
            self.last_put = None;
        }
        let time = cell.timestamp;
        match cell.kind {
            FAMILY => drop(self.family.insert(time)),
            FAMILY_VERSION => drop(self.family_versions.insert(time)),
            COLUMN => drop(self.column.insert(time)),
            VERSION => drop(self.versions.insert(time)),
            // Of puts of one timestamp the last is the one that there is.
            PUT if self.last_put.replace(time) != Some(time) => return self.end_of(time),
            _ => {}
        }
        None
    }

    fn end_of(&self, time: i64) -> Option<Timestamp> {
        let first = |set: &BTreeSet<i64>| set.range(time..).next().copied();
        let exact = |set: &BTreeSet<i64>| set.contains(&time).then_some(time);
        let ends = [first(&self.family), first(&self.column), exact(&self.family_versions), exact(&self.versions)];
        ends.into_iter().flatten().min().map(Timestamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_put_is_ended_by_the_earliest_tombstone_that_covers_it() {
        let cell = |qualifier: &str, timestamp, kind| Cell {
            row: b"r".to_vec(),
            family: b"f".to_vec(),
            qualifier: qualifier.into(),
            timestamp,
            kind,
            value: Vec::new(),
        };
        let cells = [
            (cell("", 90, FAMILY), None),
            (cell("", 40, FAMILY_VERSION), None),
            (cell("a", 100, PUT), None),
            (cell("a", 60, COLUMN), None),
            (cell("a", 60, PUT), Some(60)),
            (cell("a", 60, PUT), None),
            (cell("a", 50, VERSION), None),
            (cell("a", 50, PUT), Some(50)),
            (cell("a", 40, PUT), Some(40)),
            (cell("b", 60, PUT), Some(90)),
        ];
        let mut tombstones = Tombstones::default();
        for (cell, end) in &cells {
            assert_eq!(tombstones.take(cell), end.map(Timestamp), "{cell:?}");
        }
    }
}
