//! Scans of the newest versions without more: each column's first cell tells, so that hardly any of them needs the rules
//! in full.

use crate::Result;
use crate::format::key;
use crate::model::{Cell, CellKind, FamilySchema, Piece, RowKey, Tags, TakePiece, Timestamp, VALUE_PIECE};
use crate::query::{Taker, emit_stored};
use crate::store::cursor::lent::no_tags;
use crate::store::cursor::row_cells::RowCells;
use crate::store::cursor::row_place::RowPlace;
use crate::store::cursor::walk::Cursor;
use crate::visibility::{FamilyReader, ReadRules, shows_by_itself};

/// The row that is read; its buffers are used again, so that no cell costs an allocation.
pub struct PlainRow {
    /// What the keys of a column's cells begin with.
    column: Vec<u8>,
    /// Whether a piece of it went out.
    shown: bool,
    /// Its key.
    row: Piece,
    /// The cell that is shown, and whether it has no tags.
    cell: Piece,
    is_untagged: bool,
}

impl Default for PlainRow {
    fn default() -> Self {
        let (family, qualifier, value) = (String::new(), Vec::new(), Vec::new());
        let (timestamp, kind, tags) = (Timestamp::ZERO, CellKind::Put, Tags::default());
        let cell = Piece::Cell(Cell { family, qualifier, timestamp, kind, tags, value });
        let row = Piece::Row(RowKey::new());
        Self { column: Vec::new(), shown: false, row, cell, is_untagged: true }
    }
}

impl PlainRow {
    /// A row begins.
    pub fn enter(&mut self) {
        self.shown = false;
    }

    /// The row is over; whether anything of it is in the answer.
    pub fn finish(&mut self, emit: TakePiece<'_>) -> Result<bool> {
        if self.shown {
            emit(&Piece::End)?;
        }
        Ok(self.shown)
    }

    fn begin(&mut self, place: &RowPlace, emit: TakePiece<'_>) -> Result<()> {
        if !self.shown {
            self.shown = true;
            if let Piece::Row(row) = &mut self.row {
                key::set_last_part(place.prefix(), 0, row);
            }
            emit(&self.row)?;
        }
        Ok(())
    }

    /// Reads what the row has in a family, whose cursor ends up behind it.
    pub fn read(
        &mut self,
        place: &RowPlace,
        (family, rules): (&FamilySchema, ReadRules<'_>),
        cursor: &mut Cursor,
        taker: &mut Taker<'_, '_>,
    ) -> Result<()> {
        if place.begins_empty(cursor) {
            let mut reader = FamilyReader::new(cursor.row(place.prefix().to_vec()), rules);
            while let Some(visible) = reader.next()? {
                self.begin(place, taker.emit)?;
                emit_stored(&family.name, visible.cell, taker.loader, taker.emit)?;
            }
            return cursor.pass_row(place);
        }
        self.of_family(&family.name);
        let mut is_in_row = place.holds(cursor);
        while is_in_row {
            is_in_row = self.read_column(place, (family, rules), cursor, taker)?;
        }
        Ok(())
    }

    /// What is shown from now on is of this family.
    fn of_family(&mut self, name: &str) {
        if let Piece::Cell(cell) = &mut self.cell
            && cell.family != name
        {
            name.clone_into(&mut cell.family);
        }
    }

    /// Reads the column at which the cursor stands; whether it is still in the row then.
    fn read_column(
        &mut self,
        place: &RowPlace,
        (family, rules): (&FamilySchema, ReadRules<'_>),
        cursor: &mut Cursor,
        taker: &mut Taker<'_, '_>,
    ) -> Result<bool> {
        let key = cursor.key().unwrap_or_default();
        self.column.clear();
        self.column.extend_from_slice(&key[..key.len() - key::SUFFIX]);
        if self.show_bare(place, rules, (key, cursor.bare_value()), taker)? {
            return place.pass_column(&self.column, cursor);
        }
        if let Some(shown) = shown(&rules, cursor) {
            self.begin(place, taker.emit)?;
            self.show(place, (&family.name, shown), cursor, taker)?;
            return place.pass_column(&self.column, cursor);
        }
        let end = key::prefix_end(&self.column);
        let cells = RowCells::until(cursor, place.prefix().to_vec(), end.clone());
        if let Some(visible) = FamilyReader::new(cells, rules).next()? {
            self.begin(place, taker.emit)?;
            emit_stored(&family.name, visible.cell, taker.loader, taker.emit)?;
        }
        cursor.seek(&end)?;
        Ok(place.holds(cursor))
    }

    /// Shows the cell at which the cursor stands, by its key and its value, if it has nothing but a short value and is what a
    /// plain read sees of its column: nearly all are so. Whether it did.
    fn show_bare(
        &mut self,
        place: &RowPlace,
        rules: ReadRules<'_>,
        (key, value): (&[u8], Option<&[u8]>),
        taker: &mut Taker<'_, '_>,
    ) -> Result<bool> {
        let Some(value) = value.filter(|value| value.len() <= VALUE_PIECE) else { return Ok(false) };
        let Some((timestamp, kind, _)) = key::decode_suffix(key) else { return Ok(false) };
        if !shows_by_itself(&rules, (timestamp, kind), no_tags()) {
            return Ok(false);
        }
        self.begin(place, taker.emit)?;
        if let Piece::Cell(cell) = &mut self.cell {
            key::set_last_part(&self.column, place.prefix().len(), &mut cell.qualifier);
            cell.timestamp = timestamp;
            cell.value.clear();
            cell.value.extend_from_slice(value);
            if !self.is_untagged {
                (cell.tags, self.is_untagged) = (Tags::default(), true);
            }
        }
        (taker.emit)(&self.cell)?;
        Ok(true)
    }

    /// Shows the cell at which the cursor stands.
    fn show(
        &mut self,
        place: &RowPlace,
        (name, (timestamp, tags)): (&str, (Timestamp, Tags)),
        cursor: &mut Cursor,
        taker: &mut Taker<'_, '_>,
    ) -> Result<()> {
        let row_len = place.prefix().len();
        let (Some(stored), Piece::Cell(cell)) = (cursor.cell(), &mut self.cell) else { return Ok(()) };
        if stored.is_damaged() || stored.is_root() || stored.len() > VALUE_PIECE as u64 {
            return cursor.stored(row_len).map_or(Ok(()), |cell| emit_stored(name, cell, taker.loader, taker.emit));
        }
        cursor.load_value(&mut cell.value)?;
        key::set_last_part(&self.column, row_len, &mut cell.qualifier);
        (cell.timestamp, cell.tags, self.is_untagged) = (timestamp, tags, false);
        (taker.emit)(&self.cell)
    }
}

/// Timestamp and tags of a column's first cell, if it is what a plain read sees of the column; else the rules in full have
/// to be asked.
fn shown(rules: &ReadRules<'_>, cursor: &Cursor) -> Option<(Timestamp, Tags)> {
    let (timestamp, kind, _) = cursor.key().and_then(key::decode_suffix)?;
    let tags = cursor.tags()?;
    shows_by_itself(rules, (timestamp, kind), &tags).then(|| (timestamp, tags.into_owned()))
}
