//! Scans whose cells are judged, by a filter most of all, of the newest versions without more: each column's first cell is
//! lent to who judges, and a row that is not in the answer costs no allocation.

use super::cursor::{Cursor, RowCells, RowPlace, SharedCursor};
use super::writing::no_tags;
use crate::Result;
use crate::format::key;
use crate::model::{FamilySchema, Qualifier, RowKey, StoredCell};
use crate::query::{InFamily, LentCell, Onward, RowKeyVerdict, RowQuery, Step, Taker};
use crate::visibility::{CellSource, ReadRules, shows_by_itself};

/// Cells of a column that are passed one by one before the rest is jumped over.
const STEPS: usize = 8;

/// The row that is read; its buffers are used again.
#[derive(Default)]
pub(super) struct JudgedRow {
    place: RowPlace,
    row: RowKey,
    /// What the keys of a column's cells begin with.
    column: Vec<u8>,
    qualifier: Qualifier,
    /// That of a cell which the cursor has passed.
    value: Vec<u8>,
}

/// A family that is read.
struct Lane<'l> {
    at: usize,
    family: &'l FamilySchema,
}

impl JudgedRow {
    /// Enters the least row at which one of the cursors stands; whether there is one.
    pub(super) fn enter<'c>(&mut self, cursors: impl Iterator<Item = &'c SharedCursor>) -> bool {
        self.place.enter(|take| cursors.for_each(|cursor| cursor.lock().key().into_iter().for_each(&mut *take)))
    }

    /// Enters a row.
    pub(super) fn enter_row(&mut self, prefix: &[u8]) {
        self.place.enter(|take| take(prefix));
    }

    /// The row that was entered last.
    pub(super) fn row(&self) -> Option<RowKey> {
        self.place.row()
    }

    /// Reads what the row has in the families of the query, whose cursors end up behind it.
    pub(super) fn read<'l>(
        &mut self,
        query: &mut RowQuery,
        lanes: impl Iterator<Item = (&'l FamilySchema, Option<&'l SharedCursor>)>,
        taker: &mut Taker<'_, '_>,
    ) -> Result<Step> {
        key::set_row(self.place.prefix(), &mut self.row);
        let verdict = query.enter(&self.row);
        match verdict {
            RowKeyVerdict::Read => query.begin_lent(&self.row),
            RowKeyVerdict::Skip => {}
            RowKeyVerdict::Stop => return Ok(Step::Stop),
        }
        for (at, (family, cursor)) in lanes.enumerate() {
            let Some(cursor) = cursor else { continue };
            let mut cursor = cursor.lock();
            if verdict == RowKeyVerdict::Read {
                self.read_family(&Lane { at, family }, &mut cursor, query, taker)?;
            }
            self.pass_rest(&mut cursor)?;
        }
        if verdict == RowKeyVerdict::Read { query.finish_lent(taker) } else { Ok(Step::Continue) }
    }

    fn read_family(
        &mut self,
        lane: &Lane<'_>,
        cursor: &mut Cursor,
        query: &mut RowQuery,
        taker: &mut Taker<'_, '_>,
    ) -> Result<()> {
        let Some(mut part) = query.begin_family(lane.at, &self.row) else { return Ok(()) };
        let mut is_in_row = self.is_in_row(cursor);
        // Tombstones of the family have the empty qualifier, and so they stand first.
        let is_empty = |key: &[u8]| key.len() <= self.place.prefix().len() + key::EMPTY + key::SUFFIX;
        if is_in_row && cursor.key().is_some_and(is_empty) {
            query.judge_stored(&mut part, cursor.row(self.place.prefix().to_vec()), taker)?;
            is_in_row = false;
        }
        while is_in_row {
            let onward = self.read_column(lane, &mut part, cursor, query, taker)?;
            is_in_row = onward != Onward::NextRow && self.pass_column(cursor)?;
            if let (Onward::Column(column), true) = (onward, is_in_row) {
                cursor.seek(&key::column_prefix(self.place.prefix(), &column))?;
                is_in_row = self.is_in_row(cursor);
            }
        }
        query.end_family(part);
        Ok(())
    }

    /// Reads the column at which the cursor stands; from where to read on.
    fn read_column(
        &mut self,
        lane: &Lane<'_>,
        part: &mut InFamily,
        cursor: &mut Cursor,
        query: &mut RowQuery,
        taker: &mut Taker<'_, '_>,
    ) -> Result<Onward> {
        let key = cursor.key().unwrap_or_default();
        self.column.clear();
        self.column.extend_from_slice(&key[..key.len() - key::SUFFIX]);
        let row_len = self.place.prefix().len();
        let rules = ReadRules::plain(&lane.family.rules, query.now());
        let Some(cell) = lent(cursor, &rules, &mut self.qualifier, (row_len, query.longest_lent())) else {
            return query.judge_stored(part, self.column_cells(cursor), taker);
        };
        if query.sees_newest_alone(lane.at) {
            return query.judge_lent(part, cell, taker);
        }
        cell.value.clone_into(&mut self.value);
        let (timestamp, seq, generation) = (cell.timestamp, cell.seq, cell.generation);
        cursor.advance()?;
        let cell = LentCell { qualifier: &self.qualifier, timestamp, seq, generation, value: &self.value };
        if !cursor.goes_on_with(&self.column) {
            return query.judge_lent(part, cell, taker);
        }
        let all = WithFirst { first: Some(cell.to_stored()), rest: self.column_cells(cursor) };
        query.judge_stored(part, all, taker)
    }

    fn column_cells<'c>(&self, cursor: &'c mut Cursor) -> RowCells<'c> {
        RowCells::until(cursor, self.place.prefix().to_vec(), key::prefix_end(&self.column))
    }

    fn is_in_row(&self, cursor: &Cursor) -> bool {
        cursor.key().is_some_and(|key| key < self.place.end())
    }

    /// Passes what is left of the column; whether the cursor is still in the row then.
    fn pass_column(&self, cursor: &mut Cursor) -> Result<bool> {
        for _ in 0..STEPS {
            if !cursor.goes_on_with(&self.column) {
                return Ok(cursor.goes_on_with(self.place.prefix()));
            }
            cursor.advance()?;
        }
        cursor.seek(&key::prefix_end(&self.column))?;
        Ok(self.is_in_row(cursor))
    }

    /// Passes what is left of the row.
    fn pass_rest(&self, cursor: &mut Cursor) -> Result<()> {
        if self.is_in_row(cursor) {
            // A row of one cell says nothing of where the next one begins.
            cursor.advance()?;
            cursor.pass_row(self.place.end())?;
        }
        Ok(())
    }
}

/// The cell at which the cursor stands, if it has nothing but a value that is not too long, and is what a plain read sees of
/// its column: nearly all are so.
fn lent<'c>(
    cursor: &'c Cursor,
    rules: &ReadRules<'_>,
    qualifier: &'c mut Qualifier,
    (row_len, longest): (usize, usize),
) -> Option<LentCell<'c>> {
    let value = cursor.bare_value().filter(|value| value.len() <= longest)?;
    let key = cursor.key()?;
    let (timestamp, kind, seq) = key::decode_suffix(key)?;
    if !shows_by_itself(rules, (timestamp, kind), no_tags()) || !key::set_qualifier(key, row_len, qualifier) {
        return None;
    }
    Some(LentCell { qualifier, timestamp, seq, generation: cursor.generation(), value })
}

/// Cells of a column behind its first one, which was taken before.
struct WithFirst<S> {
    first: Option<StoredCell>,
    rest: S,
}

impl<S: CellSource> CellSource for WithFirst<S> {
    fn next(&mut self) -> Result<Option<StoredCell>> {
        match self.first.take() {
            Some(first) => Ok(Some(first)),
            None => self.rest.next(),
        }
    }

    fn skip_column(&mut self, qualifier: &[u8]) -> Result<()> {
        self.first = self.first.take().filter(|first| first.qualifier.as_slice() > qualifier);
        self.rest.skip_column(qualifier)
    }

    fn seek_column(&mut self, qualifier: &[u8]) -> Result<()> {
        self.first = self.first.take().filter(|first| first.qualifier.as_slice() >= qualifier);
        self.rest.seek_column(qualifier)
    }
}
