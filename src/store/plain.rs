//! Scans of the newest versions without more: each column's first cell tells, so that hardly any of them needs the rules
//! in full.

use super::cursor::{Cursor, RowCells, RowPlace, SharedCursor};
use crate::Result;
use crate::format::key;
use crate::model::{Cell, CellKind, FamilySchema, Piece, RowKey, Tags, TakePiece, Timestamp, VALUE_PIECE};
use crate::query::{ValueLoader, emit_stored};
use crate::visibility::{FamilyReader, ReadRules, shows_by_itself};

/// Cells of a column that are passed one by one before the rest is jumped over.
const STEPS: usize = 8;

/// The row that is read; its buffers are used again, so that no cell costs an allocation.
pub(super) struct PlainRow {
    place: RowPlace,
    /// What the keys of a column's cells begin with.
    column: Vec<u8>,
    /// Whether a piece of it went out.
    shown: bool,
    /// The cell that is shown.
    cell: Piece,
}

/// Who takes the cells, and how values are read that the cells do not carry.
pub(super) struct Taker<'t, 'l> {
    pub(super) loader: &'l mut dyn ValueLoader,
    pub(super) emit: TakePiece<'t>,
}

impl Default for PlainRow {
    fn default() -> Self {
        let (family, qualifier, value) = (String::new(), Vec::new(), Vec::new());
        let (timestamp, kind, tags) = (Timestamp::ZERO, CellKind::Put, Tags::default());
        let cell = Piece::Cell(Cell { family, qualifier, timestamp, kind, tags, value });
        Self { place: RowPlace::default(), column: Vec::new(), shown: false, cell }
    }
}

impl PlainRow {
    /// Enters the least row at which one of the cursors stands; whether there is one.
    pub(super) fn enter<'c>(&mut self, cursors: impl Iterator<Item = &'c SharedCursor>) -> bool {
        self.shown = false;
        self.place.enter(|take| cursors.for_each(|cursor| cursor.lock().key().into_iter().for_each(&mut *take)))
    }

    /// The row that was entered last.
    pub(super) fn row(&self) -> Option<RowKey> {
        self.place.row()
    }

    /// The row is over; whether anything of it is in the answer.
    pub(super) fn finish(&mut self, emit: TakePiece<'_>) -> Result<bool> {
        if self.shown {
            emit(&Piece::End)?;
        }
        Ok(self.shown)
    }

    fn begin(&mut self, emit: TakePiece<'_>) -> Result<()> {
        if !self.shown {
            self.shown = true;
            emit(&Piece::Row(self.place.row().unwrap_or_default()))?;
        }
        Ok(())
    }

    /// Reads what the row has in a family, whose cursor ends up behind it.
    pub(super) fn read(
        &mut self,
        (family, now): (&FamilySchema, Timestamp),
        cursor: &mut Cursor,
        taker: &mut Taker<'_, '_>,
    ) -> Result<()> {
        let rules = ReadRules::plain(&family.rules, now);
        // Tombstones of the family have the empty qualifier, and so they stand first.
        let is_empty = |key: &[u8]| key.len() <= self.place.prefix().len() + key::EMPTY + key::SUFFIX;
        if cursor.key().is_some_and(|key| key < self.place.end() && is_empty(key)) {
            let mut reader = FamilyReader::new(cursor.row(self.place.prefix().to_vec()), rules);
            while let Some(visible) = reader.next()? {
                self.begin(taker.emit)?;
                emit_stored(&family.name, visible.cell, taker.loader, taker.emit)?;
            }
            return cursor.pass_row(self.place.end());
        }
        while cursor.key().is_some_and(|key| key < self.place.end()) {
            self.read_column((family, rules), cursor, taker)?;
        }
        Ok(())
    }

    fn read_column(
        &mut self,
        (family, rules): (&FamilySchema, ReadRules<'_>),
        cursor: &mut Cursor,
        taker: &mut Taker<'_, '_>,
    ) -> Result<()> {
        let (row_len, key) = (self.place.prefix().len(), cursor.key().unwrap_or_default());
        self.column.clear();
        self.column.extend_from_slice(&key[..key.len() - key::SUFFIX]);
        match shown(&rules, cursor) {
            Some((timestamp, tags)) => {
                self.begin(taker.emit)?;
                self.show(&family.name, (timestamp, tags), (row_len, cursor), taker)?;
                self.pass_column(cursor)
            }
            None => {
                let end = key::prefix_end(&self.column);
                let cells = RowCells::until(cursor, self.place.prefix().to_vec(), end.clone());
                if let Some(visible) = FamilyReader::new(cells, rules).next()? {
                    self.begin(taker.emit)?;
                    emit_stored(&family.name, visible.cell, taker.loader, taker.emit)?;
                }
                cursor.seek(&end)
            }
        }
    }

    /// Shows the cell at which the cursor stands.
    fn show(
        &mut self,
        name: &str,
        (timestamp, tags): (Timestamp, Tags),
        (row_len, cursor): (usize, &mut Cursor),
        taker: &mut Taker<'_, '_>,
    ) -> Result<()> {
        let Some(stored) = cursor.cell() else { return Ok(()) };
        if stored.is_damaged() || stored.is_root() || stored.len() > VALUE_PIECE as u64 {
            return cursor.stored(row_len).map_or(Ok(()), |cell| emit_stored(name, cell, taker.loader, taker.emit));
        }
        if let Piece::Cell(cell) = &mut self.cell {
            let known = cursor.key().is_some_and(|key| key::set_qualifier(key, row_len, &mut cell.qualifier));
            debug_assert!(known, "a cursor stands at keys");
            cursor.load_value(&mut cell.value)?;
            if cell.family != name {
                name.clone_into(&mut cell.family);
            }
            (cell.timestamp, cell.tags) = (timestamp, tags);
        }
        (taker.emit)(&self.cell)
    }

    fn pass_column(&self, cursor: &mut Cursor) -> Result<()> {
        for _ in 0..STEPS {
            cursor.advance()?;
            if cursor.key().is_none_or(|key| !key.starts_with(&self.column)) {
                return Ok(());
            }
        }
        cursor.seek(&key::prefix_end(&self.column))
    }
}

/// Timestamp and tags of a column's first cell, if it is what a plain read sees of the column; else the rules in full have
/// to be asked.
fn shown(rules: &ReadRules<'_>, cursor: &Cursor) -> Option<(Timestamp, Tags)> {
    let (timestamp, kind, _) = cursor.key().and_then(key::decode_suffix)?;
    let cell = cursor.cell()?;
    let tags = if cell.is_plain() { Tags::default() } else { cell.tags() };
    shows_by_itself(rules, (timestamp, kind), &tags).then_some((timestamp, tags))
}
