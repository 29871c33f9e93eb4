//! A row's cells, as they are held and written. Pure.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::ROW;
use crate::model::{Cell, CellKind, DeleteKind, DeleteMarker, Mutation, PutCell, Time, Timestamp, Tombstone};

/// Where a version stands within its row; the order of scans.
pub type Place = (String, Vec<u8>, Reverse<Timestamp>);

pub fn place(cell: &Cell) -> Place {
    (cell.family.clone(), cell.qualifier.clone(), Reverse(cell.timestamp))
}

pub fn is_put(cell: &Cell) -> bool {
    cell.kind == CellKind::Put
}

/// Gathers the cells of a row, as far as it may be held.
#[derive(Default)]
pub struct Sorter {
    cells: Vec<Cell>,
    bytes: usize,
    is_passed: bool,
}

impl Sorter {
    /// Takes the next cell; true once, when the row has become too large.
    pub fn take(&mut self, cell: Cell) -> bool {
        if self.is_passed {
            return false;
        }
        self.bytes += cell.value.len() + cell.qualifier.len() + 100;
        self.cells.push(cell);
        // One cell is held whatever its length.
        self.bytes > ROW && self.cells.len() > 1
    }

    /// The rest of the row is of no interest.
    pub fn pass(&mut self) {
        (self.cells, self.is_passed) = (Vec::new(), true);
    }

    /// At the end of the row: its cells, unless it was too large.
    pub fn finish(&mut self) -> Option<Vec<Cell>> {
        let Self { cells, is_passed, .. } = std::mem::take(self);
        (!is_passed).then_some(cells)
    }
}

/// Of what was put twice at one time the first that comes, which is what there is.
pub fn once(mut puts: Vec<Cell>) -> Vec<Cell> {
    puts.dedup_by(|next, kept| place(next) == place(kept));
    puts
}

/// Puts with all that is known of the cells; none of none.
pub fn puts(cells: impl Iterator<Item = Cell>) -> Vec<Mutation> {
    let (mut plain, mut restored) = (Vec::new(), Vec::new());
    for cell in cells {
        let put = PutCell {
            ttl_ms: cell.tags.ttl_ms,
            file: cell.tags.file,
            ended_at: cell.tags.ended_at,
            ..PutCell::new(cell.family, cell.qualifier, Time::At(cell.timestamp), cell.value)
        };
        match put.ended_at {
            // A deleted version that was brought back: it stays deleted.
            Some(_) => restored.push(Mutation::Restore(Box::new(put))),
            None => plain.push(put),
        }
    }
    let plain = (!plain.is_empty()).then_some(Mutation::Put(plain));
    restored.into_iter().chain(plain).collect()
}

/// The tombstones as they were, each by itself: one of a family takes the place of those before it in one Delete.
pub fn deletes(cells: Vec<Cell>) -> Vec<Mutation> {
    let marker = |cell: Cell| {
        let Cell { family, qualifier, timestamp, kind, tags, .. } = cell;
        let kind = match kind {
            CellKind::Put => return None,
            CellKind::Tombstone(Tombstone::Version) => DeleteKind::Version { family, qualifier },
            CellKind::Tombstone(Tombstone::Column) => DeleteKind::Column { family, qualifier },
            CellKind::Tombstone(Tombstone::Family) => DeleteKind::Family { family },
            CellKind::Tombstone(Tombstone::FamilyVersion) => DeleteKind::FamilyVersion { family },
        };
        Some(Mutation::Delete(vec![DeleteMarker { kind, time: Time::At(timestamp), erases: tags.erases }]))
    };
    cells.into_iter().filter_map(marker).collect()
}

pub fn is_of_family(cell: &Cell) -> bool {
    cell.kind == CellKind::Tombstone(Tombstone::Family)
}

/// Tombstones in steps that are to be written one after the other: of what comes in one step HBase knows one tombstone of a
/// family (NewVersionBehaviorTracker has them by their sequence id).
pub fn steps(tombstones: Vec<Cell>) -> Vec<Vec<Cell>> {
    let (mut steps, mut of_families) = (vec![Vec::new()], BTreeMap::<String, usize>::new());
    for cell in tombstones {
        let mut at = 0;
        if is_of_family(&cell) {
            let next = of_families.entry(cell.family.clone()).or_default();
            at = std::mem::replace(next, *next + 1);
        }
        if at == steps.len() {
            steps.push(Vec::new());
        }
        steps[at].push(cell);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Tags;

    fn cell(qualifier: &str, time: i64, kind: CellKind, len: usize) -> Cell {
        let (timestamp, tags, value) = (Timestamp(time), Tags::default(), vec![b'v'; len]);
        Cell { family: "f".into(), qualifier: qualifier.into(), timestamp, kind, tags, value }
    }

    #[test]
    fn of_each_family_a_step_has_one_tombstone() {
        let family = CellKind::Tombstone(Tombstone::Family);
        let of = |family: &str, cell: Cell| Cell { family: family.into(), ..cell };
        let cells = vec![
            cell("", 10, family, 0),
            cell("", 7, family, 0),
            cell("", 5, family, 0),
            cell("a", 7, CellKind::Tombstone(Tombstone::Column), 0),
            of("g", cell("", 9, family, 0)),
            of("g", cell("", 8, family, 0)),
        ];
        let times = |step: &Vec<Cell>| step.iter().map(|cell| cell.timestamp.0).collect::<Vec<_>>();
        let found: Vec<_> = steps(cells).iter().map(times).collect();
        assert_eq!(found, [vec![10, 7, 9], vec![7, 8], vec![5]]);
        assert_eq!(steps(Vec::new()), [Vec::new()]);
    }

    #[test]
    fn a_row_is_held_until_it_is_too_large() {
        let mut sorter = Sorter::default();
        assert!(!sorter.take(cell("a", 1, CellKind::Put, ROW + 1)), "one cell is held");
        assert_eq!(sorter.finish().map(|cells| cells.len()), Some(1));
        assert!(!sorter.take(cell("a", 1, CellKind::Put, ROW - 200)));
        assert!(sorter.take(cell("b", 1, CellKind::Put, 200)));
        sorter.pass();
        assert!(!sorter.take(cell("c", 1, CellKind::Put, ROW)));
        assert_eq!(sorter.finish(), None);
        assert_eq!(sorter.finish().map(|cells| cells.len()), Some(0));
    }
}
