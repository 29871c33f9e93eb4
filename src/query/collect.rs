//! Cells of one row on their way into results: limits of versions and of families, batches.

use super::ValueLoader;
use super::filter::{Direction, Included};
use super::row::RowRequest;
use crate::Result;
use crate::model::{
    Cell, CellInfo, FamilySchema, FoundCell, Piece, ReadSpec, StoredCell, TakePiece, Tells, VALUE_PIECE, ValueRef,
};

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

/// What becomes of the cells of a row while it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Showing {
    /// Each goes out at once: memory does not grow with the row.
    Now,
    /// They wait, without their values, until the row is judged.
    Later,
    /// None is shown: the row is read for the filter's sake only.
    Never,
}

/// The cells of one row on their way out, in results of at most `size` cells.
pub(super) struct Batches<'a> {
    row: &'a [u8],
    size: Option<usize>,
    showing: Showing,
    tells: Tells,
    /// Cells that wait.
    pub held: Vec<Included>,
    /// Cells of the result that has begun.
    open: usize,
    pub emitted: bool,
}

/// A longer value is not kept by a cell that waits, but read again.
const HELD_VALUE_MAX: usize = 256;

impl<'a> Batches<'a> {
    pub fn new(row: &'a [u8], size: Option<usize>, (showing, tells): (Showing, Tells)) -> Self {
        Self { row, size, showing, tells, held: Vec::new(), open: 0, emitted: false }
    }

    pub fn add<S>(&mut self, mut included: Included, request: &mut RowRequest<'_, S>) -> Result<()> {
        match self.showing {
            Showing::Now => return self.show(included, request),
            Showing::Later => {
                included.value = included.value.filter(|value| value.len() <= HELD_VALUE_MAX);
                self.held.push(included);
            }
            Showing::Never => {}
        }
        Ok(())
    }

    /// The row is over, and what waits is shown.
    pub fn finish<S>(&mut self, request: &mut RowRequest<'_, S>) -> Result<()> {
        for included in std::mem::take(&mut self.held) {
            self.show(included, request)?;
        }
        self.end(request)
    }

    fn end<S>(&mut self, request: &mut RowRequest<'_, S>) -> Result<()> {
        if std::mem::take(&mut self.open) > 0 { (request.emit)(&Piece::End) } else { Ok(()) }
    }

    fn show<S>(&mut self, included: Included, request: &mut RowRequest<'_, S>) -> Result<()> {
        if self.open == 0 {
            (request.emit)(&Piece::Row(self.row.to_vec()))?;
        }
        self.open += 1;
        self.emitted = true;
        match self.tells {
            Tells::Values => emit_included(included, request.loader, request.emit)?,
            Tells::Infos => (request.emit)(&Piece::Found(Box::new(found(included))))?,
        }
        if self.size.is_some_and(|size| self.open >= size) { self.end(request) } else { Ok(()) }
    }
}

/// Shows a stored cell of a family with its value.
pub fn emit_stored(family: &str, cell: StoredCell, loader: &mut dyn ValueLoader, emit: TakePiece<'_>) -> Result<()> {
    emit_included(Included::whole(family, cell), loader, emit)
}

fn found(included: Included) -> FoundCell {
    let Included { family, cell, key_only, expires_at, .. } = included;
    let StoredCell { qualifier, timestamp, kind, seq, tags, value, .. } = cell;
    let value = if key_only || !kind.is_put() { ValueRef::default() } else { value };
    let info = CellInfo { timestamp, seq, tags, value, deleted_at: None, hidden_from: None, expires_at };
    FoundCell { family, qualifier, kind, info }
}

fn emit_included(included: Included, loader: &mut dyn ValueLoader, emit: TakePiece<'_>) -> Result<()> {
    let Included { family, cell: stored, value, key_only, .. } = included;
    let empty = key_only || !stored.kind.is_put();
    let len = if empty { 0 } else { stored.value.len() as usize };
    let value = match value {
        _ if empty => Vec::new(),
        Some(value) if len <= VALUE_PIECE => value,
        _ if len <= VALUE_PIECE => loader.load(&stored)?,
        _ => Vec::new(),
    };
    let (qualifier, tags) = (stored.qualifier.clone(), stored.tags.clone());
    let cell = Cell { family, qualifier, timestamp: stored.timestamp, kind: stored.kind, tags, value };
    if len <= VALUE_PIECE {
        return emit(&Piece::Cell(cell));
    }
    emit(&Piece::Head(cell, len as u64))?;
    for offset in (0..len).step_by(VALUE_PIECE) {
        let bytes = loader.load_part(&stored, offset as u64, VALUE_PIECE)?;
        emit(&Piece::Value(bytes))?;
    }
    Ok(())
}
