//! Scans whose cells are judged, by a filter most of all, of the newest versions without more: each column's first cell is
//! lent to who judges, and a row that is not in the answer costs no allocation.

use crate::Result;
use crate::format::key;
use crate::model::{FamilySchema, Qualifier, RowKey, StoredCell};
use crate::query::{InFamily, LentCell, Onward, RowKeyVerdict, RowQuery, Step, Taker};
use crate::store::cursor::lent::no_tags;
use crate::store::cursor::row_cells::{RowCells, SharedCursor};
use crate::store::cursor::row_place::RowPlace;
use crate::store::cursor::walk::Cursor;
use crate::visibility::{CellSource, ReadRules, shows_by_itself};

/// The row that is read; its buffers are used again.
#[derive(Default)]
pub struct JudgedRow {
    row: RowKey,
    /// What the keys of a column's cells begin with.
    column: Vec<u8>,
    qualifier: Qualifier,
    /// That of a cell which the cursor has passed.
    value: Vec<u8>,
}

/// What is read: a family of a row.
struct Part<'l> {
    at: usize,
    family: &'l FamilySchema,
    place: &'l RowPlace,
}

impl JudgedRow {
    /// Reads what the row has in the families of the query, whose cursors end up behind it.
    pub fn read<'l>(
        &mut self,
        place: &RowPlace,
        query: &mut RowQuery,
        lanes: impl Iterator<Item = (&'l FamilySchema, Option<&'l SharedCursor>)>,
        taker: &mut Taker<'_, '_>,
    ) -> Result<Step> {
        key::set_last_part(place.prefix(), 0, &mut self.row);
        let verdict = query.enter(&self.row);
        match verdict {
            RowKeyVerdict::Read => query.begin(&self.row),
            RowKeyVerdict::Skip => {}
            RowKeyVerdict::Stop => return Ok(Step::Stop),
        }
        for (at, (family, cursor)) in lanes.enumerate() {
            let Some(cursor) = cursor else { continue };
            let mut cursor = cursor.lock();
            if verdict == RowKeyVerdict::Read {
                self.read_family(&Part { at, family, place }, &mut cursor, query, taker)?;
            }
            pass_rest(place, &mut cursor)?;
        }
        if verdict == RowKeyVerdict::Read { query.finish_lent(taker) } else { Ok(Step::Continue) }
    }

    fn read_family(
        &mut self,
        of: &Part<'_>,
        cursor: &mut Cursor,
        query: &mut RowQuery,
        taker: &mut Taker<'_, '_>,
    ) -> Result<()> {
        let Some(mut part) = query.begin_family(of.at, &self.row) else { return Ok(()) };
        let mut is_in_row = of.place.holds(cursor);
        if of.place.begins_empty(cursor) {
            query.read_stored(&mut part, cursor.row(of.place.prefix().to_vec()), taker)?;
            is_in_row = false;
        }
        while is_in_row {
            let onward = self.read_column(of, &mut part, cursor, query, taker)?;
            is_in_row = onward != Onward::NextRow
                && match cursor.goes_on_with(&self.column) {
                    true => of.place.pass_column(&self.column, cursor)?,
                    false => cursor.goes_on_with(of.place.prefix()),
                };
            if let (Onward::Column(column), true) = (onward, is_in_row) {
                cursor.seek(&key::column_prefix(of.place.prefix(), &column))?;
                is_in_row = of.place.holds(cursor);
            }
        }
        query.leave_family(part);
        Ok(())
    }

    /// Reads the column at which the cursor stands; from where to read on.
    fn read_column(
        &mut self,
        of: &Part<'_>,
        part: &mut InFamily,
        cursor: &mut Cursor,
        query: &mut RowQuery,
        taker: &mut Taker<'_, '_>,
    ) -> Result<Onward> {
        let key = cursor.key().unwrap_or_default();
        self.column.clear();
        self.column.extend_from_slice(&key[..key.len() - key::SUFFIX]);
        let rules = query.lent_rules(of.at, of.family);
        let Some(cell) = lent(cursor, &rules, (&self.column, of.place), &mut self.qualifier, query.longest_lent())
        else {
            return query.read_stored(part, self.column_cells(of, cursor), taker);
        };
        if query.sees_newest_alone(of.at) {
            return query.judge_lent(part, cell, taker);
        }
        cell.value.clone_into(&mut self.value);
        let (timestamp, seq, generation) = (cell.timestamp, cell.seq, cell.generation);
        cursor.advance()?;
        let cell = LentCell { qualifier: &self.qualifier, timestamp, seq, generation, value: &self.value };
        if !cursor.goes_on_with(&self.column) {
            return query.judge_lent(part, cell, taker);
        }
        let all = WithFirst { first: Some(cell.to_stored()), rest: self.column_cells(of, cursor) };
        query.read_stored(part, all, taker)
    }

    fn column_cells<'c>(&self, of: &Part<'_>, cursor: &'c mut Cursor) -> RowCells<'c> {
        RowCells::until(cursor, of.place.prefix().to_vec(), key::prefix_end(&self.column))
    }
}

/// Passes what is left of the row.
fn pass_rest(place: &RowPlace, cursor: &mut Cursor) -> Result<()> {
    if place.holds(cursor) {
        // A row of one cell says nothing of where the next one begins.
        cursor.advance()?;
        cursor.pass_row(place)?;
    }
    Ok(())
}

/// The cell at which the cursor stands, if it has nothing but a value that is not too long, and is what a plain read sees of
/// its column: nearly all are so.
fn lent<'c>(
    cursor: &'c Cursor,
    rules: &ReadRules<'_>,
    (column, place): (&[u8], &RowPlace),
    qualifier: &'c mut Qualifier,
    longest: usize,
) -> Option<LentCell<'c>> {
    let value = cursor.bare_value().filter(|value| value.len() <= longest)?;
    let key = cursor.key()?;
    let (timestamp, kind, seq) = key::decode_suffix(key)?;
    if !shows_by_itself(rules, (timestamp, kind), no_tags())
        || !key::set_last_part(column, place.prefix().len(), qualifier)
    {
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
