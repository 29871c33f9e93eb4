//! The cells of a row, of one of its families or of a column, under other names: versions as they are, and what deleted
//! them. For a backend that restores no deleted versions as such.
//!
//! Column by column: what is hidden goes in one step with what hides it, then what is shown. So a move that was stopped goes
//! on: a column of which the source shows nothing and the target shows something was moved before.
//! What bounds memory: some parts of 256 KiB, [`MOST`] bytes of one column, one value, a family's tombstones.

use std::sync::Arc;

use super::ALL;
use super::rows;
use super::stream::Stream;
use crate::backend::Backend;
use crate::model::{
    Cell, CellKind, ColumnKey, Mutation, Origin, Qualifier, RowKey, RowMutations, Scan, TableName, TimeRange,
    Timestamp, Tombstone,
};
use crate::{Error, ErrorKind, Result};

/// Bytes of the versions of one column.
const MOST: usize = 64 << 20;

/// A family of a row, or one column of it.
#[derive(Clone)]
pub struct Part {
    pub table: TableName,
    pub row: RowKey,
    pub family: String,
    pub qualifier: Option<Qualifier>,
}

/// A column that was copied.
pub struct Copied {
    pub qualifier: Qualifier,
    /// The newest version that the source shows.
    pub newest: Option<Timestamp>,
    /// Versions and tombstones.
    pub cells: u64,
}

impl Part {
    fn scan(&self, raw: bool) -> Scan {
        let mut scan = Scan::all(self.table.clone());
        (scan.start, scan.start_inclusive) = (self.row.clone(), true);
        (scan.stop, scan.stop_inclusive) = (self.row.clone(), true);
        (scan.read.raw, scan.read.max_versions) = (raw, ALL);
        scan.read.columns = [(self.family.clone(), None)].into();
        scan
    }

    fn takes(&self, qualifier: &[u8]) -> bool {
        self.qualifier.as_ref().is_none_or(|own| own == qualifier)
    }

    /// The column's name in the other place.
    fn target(&self, qualifier: &Qualifier) -> Qualifier {
        self.qualifier.clone().unwrap_or_else(|| qualifier.clone())
    }
}

/// Cells of one column.
#[derive(Default)]
struct Column {
    puts: Vec<(Cell, bool)>,
    tombstones: Vec<Cell>,
    bytes: usize,
}

/// What is copied where.
struct Renaming<'a> {
    backend: &'a Arc<dyn Backend>,
    to: &'a Part,
    /// Tombstones of the family, which each column has as its own too: with what they hide they go in one step.
    of_family: Vec<Cell>,
}

/// Copies a part to another column by column; `copied` is told of each. What is there already is written again.
pub fn rename(
    backend: &Arc<dyn Backend>,
    (from, to): (&Part, &Part),
    copied: &mut dyn FnMut(&Copied) -> Result<()>,
) -> Result<()> {
    // Order: what is deleted between the two shows as deleted by now, whatever was shown.
    let mut plain = Stream::open(backend, from.scan(false))?;
    let mut shown = plain.next_cell()?;
    let mut raw = Stream::open(backend, from.scan(true))?;
    let mut renaming = Renaming { backend, to, of_family: Vec::new() };
    let mut open: Option<(Qualifier, Column)> = None;
    let mut last = None;
    while let Some(cell) = raw.next_cell()? {
        if matches!(cell.kind, CellKind::Tombstone(Tombstone::Family | Tombstone::FamilyVersion)) {
            renaming.of_family(cell, from.qualifier.is_none())?;
            continue;
        }
        if !from.takes(&cell.qualifier) {
            continue;
        }
        let place = rows::place(&cell);
        while shown.as_ref().is_some_and(|one| rows::place(one) < place) {
            shown = plain.next_cell()?;
        }
        let is_shown = shown.as_ref().is_some_and(|one| rows::place(one) == place);
        if open.as_ref().is_some_and(|(qualifier, _)| *qualifier != cell.qualifier)
            && let Some(done) = open.take()
        {
            copied(&renaming.column(done)?)?;
        }
        let (_, column) = open.get_or_insert_with(|| (cell.qualifier.clone(), Column::default()));
        // Of what was put twice at one time the first that comes is what there is.
        if !rows::is_put(&cell) {
            column.tombstones.push(cell);
        } else if last.replace(place.clone()) != Some(place) {
            column.put(cell, is_shown)?;
        }
    }
    open.map_or(Ok(()), |done| copied(&renaming.column(done)?))
}

impl Column {
    fn put(&mut self, cell: Cell, is_shown: bool) -> Result<()> {
        self.bytes += cell.value.len() + cell.qualifier.len() + 100;
        if self.bytes > MOST && !self.puts.is_empty() {
            let shown = cell.qualifier.escape_ascii();
            let text = format!(
                "{}:{shown} has more than {MOST} bytes of versions: copy what is newest, and delete it",
                cell.family
            );
            return Err(Error::new(ErrorKind::ValueTooLarge, text));
        }
        self.puts.push((cell, is_shown));
        Ok(())
    }
}

impl Renaming<'_> {
    /// A tombstone of the family: the target's family gets it before everything else, unless one column moves alone.
    fn of_family(&mut self, cell: Cell, is_whole: bool) -> Result<()> {
        if is_whole {
            let mut cell = cell.clone();
            cell.family.clone_from(&self.to.family);
            self.write(rows::deletes(vec![cell]))?;
        }
        self.of_family.push(cell);
        Ok(())
    }

    fn column(&self, (qualifier, column): (Qualifier, Column)) -> Result<Copied> {
        let target = self.to.target(&qualifier);
        let named = |mut cell: Cell| {
            (cell.family, cell.qualifier) = (self.to.family.clone(), target.clone());
            cell
        };
        let newest = column.puts.iter().find(|(_, is_shown)| *is_shown).map(|(cell, _)| cell.timestamp);
        if newest.is_none() && self.is_moved(&target)? {
            return Ok(Copied { qualifier, newest, cells: 0 });
        }
        let (shown, hidden): (Vec<_>, Vec<_>) = column.puts.into_iter().partition(|(_, is_shown)| *is_shown);
        let mut tombstones: Vec<Cell> = column.tombstones.into_iter().map(named).collect();
        if !hidden.is_empty() {
            tombstones.extend(self.of_family.iter().cloned().map(of_column).map(named));
        }
        let cells = (shown.len() + hidden.len() + tombstones.len()) as u64;
        let in_order = |cells: Vec<(Cell, bool)>| rows::puts(cells.into_iter().rev().map(|(cell, _)| named(cell)));
        // Order: what is hidden is never there without what hides it, and never after it.
        let mut first = in_order(hidden);
        first.extend(rows::deletes(tombstones));
        self.write(first)?;
        self.write(in_order(shown))?;
        Ok(Copied { qualifier, newest, cells })
    }

    /// Whether a column of which the source shows nothing was moved before: then the target shows it.
    fn is_moved(&self, target: &Qualifier) -> Result<bool> {
        let key = ColumnKey {
            table: self.to.table.clone(),
            row: self.to.row.clone(),
            family: self.to.family.clone(),
            qualifier: target.clone(),
        };
        Ok(self.backend.newest(&key, TimeRange::ALL)?.is_some())
    }

    fn write(&self, mutations: Vec<Mutation>) -> Result<()> {
        if mutations.is_empty() {
            return Ok(());
        }
        let (table, row, origin) = (self.to.table.clone(), self.to.row.clone(), Origin::default());
        self.backend.mutate(RowMutations { table, row, mutations, durability: None, origin }, None).map(drop)
    }
}

/// What deletes all of a family up to some time deletes as much of each column.
fn of_column(mut cell: Cell) -> Cell {
    match cell.kind {
        CellKind::Tombstone(Tombstone::Family) => cell.kind = CellKind::Tombstone(Tombstone::Column),
        CellKind::Tombstone(Tombstone::FamilyVersion) => cell.kind = CellKind::Tombstone(Tombstone::Version),
        CellKind::Tombstone(Tombstone::Column | Tombstone::Version) | CellKind::Put => {}
    }
    cell
}
