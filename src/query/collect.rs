//! Cells of one row on their way into results: limits of versions and of families, batches.

use super::ValueLoader;
use super::filter::{Direction, Included};
use super::row::RowRequest;
use crate::Result;
use crate::model::{Cell, FamilySchema, ReadSpec, RowResult, StoredCell};

/// Place in the cells of one row and family, counted after the filter.
pub(super) struct FamilyCursor {
    /// Versions of a column that a filter may let pass.
    versions: u32,
    column: Option<(Vec<u8>, u32)>,
    offset: u64,
    end: Option<u64>,
    cells: u64,
    pub direction: Direction,
}

impl FamilyCursor {
    pub fn new(read: &ReadSpec, family: &FamilySchema, direction: Direction) -> Self {
        let versions = if read.raw { read.max_versions } else { read.max_versions.min(family.rules.versions) };
        let offset = u64::from(read.offset_per_family);
        let end = read.max_per_family.map(|most| offset + u64::from(most));
        Self { versions, column: None, offset, end, cells: 0, direction }
    }

    pub fn exceeds_versions(&mut self, cell: &StoredCell) -> bool {
        match &mut self.column {
            Some((column, count)) if *column == cell.qualifier => {
                *count += 1;
                *count > self.versions
            }
            column => {
                *column = Some((cell.qualifier.clone(), 1));
                self.versions < 1
            }
        }
    }

    /// Counts a cell; whether it lies between the offset and the limit.
    pub fn takes_next(&mut self) -> bool {
        self.cells += 1;
        self.cells > self.offset && self.end.is_none_or(|end| self.cells <= end)
    }

    /// The limit is reached: the filter is not asked about anything more of the family.
    pub fn is_full(&self) -> bool {
        self.end.is_some_and(|end| self.cells >= end)
    }
}

/// Collects the cells of one row into results of at most `size` cells.
pub(super) struct Batches<'a> {
    row: &'a [u8],
    size: Option<usize>,
    pub held: Vec<Included>,
    pub emitted: bool,
}

impl<'a> Batches<'a> {
    pub fn new(row: &'a [u8], size: Option<usize>) -> Self {
        Self { row, size, held: Vec::new(), emitted: false }
    }

    pub fn add<S>(&mut self, included: Included, request: &mut RowRequest<'_, S>) -> Result<()> {
        self.held.push(included);
        if self.size.is_some_and(|size| self.held.len() >= size) { self.flush(request) } else { Ok(()) }
    }

    pub fn flush<S>(&mut self, request: &mut RowRequest<'_, S>) -> Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let held = std::mem::take(&mut self.held);
        let cells = held.into_iter().map(|c| cell(c, request.loader)).collect::<Result<_>>()?;
        self.emitted = true;
        (request.emit)(RowResult { row: self.row.to_vec(), cells })
    }
}

fn cell(included: Included, loader: &mut dyn ValueLoader) -> Result<Cell> {
    let Included { family, cell, value, key_only } = included;
    let value = match value {
        _ if key_only || !cell.kind.is_put() => Vec::new(),
        Some(value) => value,
        None => loader.load(&cell)?,
    };
    let StoredCell { qualifier, timestamp, kind, tags, .. } = cell;
    Ok(Cell { family, qualifier, timestamp, kind, tags, value })
}
