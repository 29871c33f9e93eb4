//! Cells of one row on their way into results: limits of versions and of families, batches.

use super::ValueLoader;
use super::filters::filter::{Included, Version};
use super::lent::LentCell;
use crate::Result;
use crate::model::{
    Cell, CellInfo, CellKind, FamilySchema, FoundCell, Generation, Piece, ReadSpec, RowKey, SeqNo, StoredCell, Tags,
    TakePiece, Tells, Timestamp, VALUE_PIECE, ValueRef,
};

/// Place in the cells of one row and family, counted after the filter.
pub(super) struct FamilyCursor {
    /// Versions of a column that a filter may let pass.
    versions: u32,
    column: Option<(Vec<u8>, u32)>,
    offset: u64,
    end: Option<u64>,
    cells: u64,
}

impl FamilyCursor {
    pub fn new(read: &ReadSpec, family: &FamilySchema) -> Self {
        let versions = if read.raw { read.max_versions } else { read.max_versions.min(family.rules.versions) };
        let offset = u64::from(read.offset_per_family);
        let end = read.max_per_family.map(|most| offset + u64::from(most));
        Self { versions, column: None, offset, end, cells: 0 }
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
    /// They wait, without longer values, until the row is judged.
    Later,
    /// None is shown: the row is read for the filter's sake only.
    Never,
}

/// Who takes the cells, and how values are read that the cells do not carry.
pub struct Taker<'t, 'l> {
    pub loader: &'l mut dyn ValueLoader,
    pub emit: TakePiece<'t>,
}

/// A cell that waits.
pub(super) enum Held {
    Stored(Box<Included>),
    Lent(HeldCell),
}

/// A copy of a cell that was lent: its qualifier and value are in a buffer of the row.
pub(super) struct HeldCell {
    family: usize,
    /// Where the qualifier begins, where it ends and the value begins, where that ends.
    bytes: [usize; 3],
    timestamp: Timestamp,
    seq: SeqNo,
    generation: Generation,
    expires_at: Option<Timestamp>,
}

impl HeldCell {
    fn lent<'b>(&self, bytes: &'b [u8]) -> LentCell<'b> {
        let [from, middle, to] = self.bytes;
        let &Self { timestamp, seq, generation, .. } = self;
        LentCell { qualifier: &bytes[from..middle], timestamp, seq, generation, value: &bytes[middle..to] }
    }
}

/// The cells of one row on their way out, in results of at most `size` cells. Its buffers are used again, so that a cell that
/// is lent costs no allocation.
pub(super) struct Batches {
    pub size: Option<usize>,
    pub tells: Tells,
    /// Names of the families that are read, ascending.
    families: Vec<String>,
    pub showing: Showing,
    row: Piece,
    /// The cell that is shown, if it was lent.
    cell: Piece,
    /// Cells that wait, and the bytes of those that were lent.
    held: Vec<Held>,
    bytes: Vec<u8>,
    /// Cells of the result that has begun.
    open: usize,
    pub emitted: bool,
}

/// A longer value is not kept by a cell that waits, but read again.
const HELD_VALUE_MAX: usize = 256;
/// Buffers that have grown beyond so many cells, or so many bytes, are not kept for the next row.
const KEPT_CELLS: usize = 1 << 10;
const KEPT_BYTES: usize = 64 << 10;

impl Batches {
    pub fn new(families: Vec<String>) -> Self {
        let (family, qualifier, value) = (String::new(), Vec::new(), Vec::new());
        let (timestamp, kind, tags) = (Timestamp::ZERO, CellKind::Put, Tags::default());
        Self {
            size: None,
            tells: Tells::Values,
            families,
            showing: Showing::Now,
            row: Piece::Row(RowKey::new()),
            cell: Piece::Cell(Cell { family, qualifier, timestamp, kind, tags, value }),
            held: Vec::new(),
            bytes: Vec::new(),
            open: 0,
            emitted: false,
        }
    }

    /// A row begins.
    pub fn enter(&mut self, row: &[u8], showing: Showing) {
        if let Piece::Row(key) = &mut self.row {
            row.clone_into(key);
        }
        (self.showing, self.open, self.emitted) = (showing, 0, false);
        self.let_go();
    }

    /// What waited is gone.
    fn let_go(&mut self) {
        self.held.clear();
        self.held.shrink_to(KEPT_CELLS);
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
    }

    /// The longest value of a cell that may be lent.
    pub fn longest_lent(&self) -> usize {
        let is_shown_at_once = self.showing != Showing::Later && self.tells == Tells::Values;
        if is_shown_at_once { VALUE_PIECE } else { HELD_VALUE_MAX }
    }

    pub fn add(&mut self, mut included: Included, taker: &mut Taker<'_, '_>) -> Result<()> {
        match self.showing {
            Showing::Now => return self.show(included, taker),
            Showing::Later => {
                included.value = included.value.filter(|value| value.len() <= HELD_VALUE_MAX);
                self.held.push(Held::Stored(Box::new(included)));
            }
            Showing::Never => {}
        }
        Ok(())
    }

    /// As [`Self::add`], of a cell of one of the families, with the value that is shown of it.
    pub fn add_lent(
        &mut self,
        (family, cell): (usize, &LentCell<'_>),
        expires_at: Option<Timestamp>,
        taker: &mut Taker<'_, '_>,
    ) -> Result<()> {
        match self.showing {
            Showing::Now => return self.show_lent((family, cell), expires_at, taker),
            Showing::Later => {
                let from = self.bytes.len();
                self.bytes.extend_from_slice(cell.qualifier);
                let middle = self.bytes.len();
                self.bytes.extend_from_slice(cell.value);
                let bytes = [from, middle, self.bytes.len()];
                let &LentCell { timestamp, seq, generation, .. } = cell;
                self.held.push(Held::Lent(HeldCell { family, bytes, timestamp, seq, generation, expires_at }));
            }
            Showing::Never => {}
        }
        Ok(())
    }

    /// Whether no cell waits.
    pub fn holds_none(&self) -> bool {
        self.held.is_empty()
    }

    /// Drops the cells that wait and are not wanted.
    pub fn retain(&mut self, keeps: impl Fn(&Version<'_>) -> bool) {
        let Self { held, bytes, families, .. } = self;
        held.retain(|held| match held {
            Held::Stored(included) => keeps(&included.version()),
            Held::Lent(held) => {
                let LentCell { qualifier, timestamp, .. } = held.lent(bytes);
                keeps(&Version { family: &families[held.family], qualifier, timestamp })
            }
        });
    }

    /// Families were read one by one as they were needed: their cells go into their order.
    pub fn sort_families(&mut self) {
        let families = &self.families;
        let name = |held: &Held| match held {
            Held::Stored(included) => included.family.clone(),
            Held::Lent(held) => families[held.family].clone(),
        };
        self.held.sort_by_cached_key(name);
    }

    /// The row is over, and what waits is shown.
    pub fn finish(&mut self, taker: &mut Taker<'_, '_>) -> Result<()> {
        let (mut held, bytes) = (std::mem::take(&mut self.held), std::mem::take(&mut self.bytes));
        for cell in held.drain(..) {
            match cell {
                Held::Stored(included) => self.show(*included, taker)?,
                Held::Lent(held) => self.show_lent((held.family, &held.lent(&bytes)), held.expires_at, taker)?,
            }
        }
        (self.held, self.bytes) = (held, bytes);
        self.end(taker)
    }

    fn begin(&mut self, taker: &mut Taker<'_, '_>) -> Result<()> {
        if self.open == 0 {
            (taker.emit)(&self.row)?;
        }
        self.open += 1;
        self.emitted = true;
        Ok(())
    }

    fn end(&mut self, taker: &mut Taker<'_, '_>) -> Result<()> {
        if std::mem::take(&mut self.open) > 0 { (taker.emit)(&Piece::End) } else { Ok(()) }
    }

    fn end_if_full(&mut self, taker: &mut Taker<'_, '_>) -> Result<()> {
        if self.size.is_some_and(|size| self.open >= size) { self.end(taker) } else { Ok(()) }
    }

    fn show(&mut self, included: Included, taker: &mut Taker<'_, '_>) -> Result<()> {
        self.begin(taker)?;
        match self.tells {
            Tells::Values => emit_included(included, taker.loader, taker.emit)?,
            Tells::Infos => (taker.emit)(&Piece::Found(Box::new(found(included))))?,
        }
        self.end_if_full(taker)
    }

    fn show_lent(
        &mut self,
        (family, lent): (usize, &LentCell<'_>),
        expires_at: Option<Timestamp>,
        taker: &mut Taker<'_, '_>,
    ) -> Result<()> {
        let name = self.families[family].as_str();
        if self.tells == Tells::Infos {
            return self.show(Included { expires_at, ..Included::whole(name, lent.to_stored()) }, taker);
        }
        if let Piece::Cell(cell) = &mut self.cell {
            if cell.family != name {
                name.clone_into(&mut cell.family);
            }
            lent.qualifier.clone_into(&mut cell.qualifier);
            lent.value.clone_into(&mut cell.value);
            cell.timestamp = lent.timestamp;
        }
        self.begin(taker)?;
        (taker.emit)(&self.cell)?;
        self.end_if_full(taker)
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
