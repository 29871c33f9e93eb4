//! The rows that the entries of a secondary index name, in the order of rows: candidates, each once.
//!
//! Entries of one value lie in that order. Those of a range of values do not: they are walked over as a whole, and the
//! next rows are held, at most [`WINDOW`] of them or [`WINDOW_BYTES`]; where there are more, the walk is made again, or all
//! rows of the table are looked at, if that is less work. That bounds the memory, whatever the range has.

use std::collections::{BTreeSet, VecDeque};

use super::entry::{range_of, value_prefix};
use super::gate::Gate;
use crate::Result;
use crate::format::key;
use crate::model::{FamilyId, IndexSchema, RowKey, Scan, TableSchema};
use crate::store::cursor::view::ReadView;
use crate::store::cursor::walk::Cursor;
use crate::store::layout::far::FAR;
use crate::store::read::get;
use crate::store::secondary::gate;

/// Rows that are held of a range of values; few in tests, whose ranges are small.
const WINDOW: usize = if cfg!(test) { 4 } else { 65_536 };
const WINDOW_BYTES: usize = 4 << 20;
/// Entries that are walked over in the time of a look at a row.
const LOOK: u64 = 24;

/// A bound of rows: from which on, or up to which; empty: there is none.
#[derive(Clone, Copy)]
pub struct Bound<'r> {
    pub row: &'r [u8],
    pub inclusive: bool,
}

/// Between which rows the next one is looked for.
#[derive(Clone, Copy)]
pub struct Bounds<'r> {
    pub lower: Bound<'r>,
    pub upper: Bound<'r>,
    pub reversed: bool,
}

impl Bounds<'_> {
    /// The key from which on a value's entries are wanted.
    fn first(&self, value: &[u8]) -> Vec<u8> {
        match self.lower {
            Bound { row: [], .. } => value.to_vec(),
            Bound { row, inclusive: true } => key::column_prefix(value, row),
            Bound { row, inclusive: false } => key::prefix_end(&key::column_prefix(value, row)),
        }
    }

    /// The key before which they are.
    fn end(&self, value: &[u8]) -> Vec<u8> {
        match self.upper {
            Bound { row: [], .. } => key::prefix_end(value),
            Bound { row, inclusive: true } => key::prefix_end(&key::column_prefix(value, row)),
            Bound { row, inclusive: false } => key::column_prefix(value, row),
        }
    }

    fn has(&self, row: &[u8]) -> bool {
        let Self { lower, upper, .. } = self;
        let is_behind = lower.row.is_empty() || row > lower.row || lower.inclusive && row == lower.row;
        let is_before = upper.row.is_empty() || row < upper.row || upper.inclusive && row == upper.row;
        is_behind && is_before
    }
}

/// Where the candidates come from.
enum Source {
    /// All rows of the table: there is no complete index.
    Table,
    /// The entries of one value, whose keys begin so.
    Value { prefix: Vec<u8>, cursor: Option<Cursor> },
    /// Those of a range of values.
    Range { from: Vec<u8>, end: Vec<u8>, window: VecDeque<RowKey>, is_last: bool },
}

/// See the module.
pub struct LookUp {
    pub gate: Gate,
    entries: FamilyId,
    /// Of the indexed column.
    indexed: Option<FamilyId>,
    source: Source,
}

impl LookUp {
    /// For a scan that asks an index; `None`: it asks none.
    pub fn new(table: &TableSchema, scan: &Scan) -> Result<Option<Self>> {
        let Some(by) = &scan.by else { return Ok(None) };
        let gate = Gate::new(table, by, &scan.read)?;
        let index = gate::usable_index(table, by)?;
        let source = match (index, by.equals.first()) {
            (None, _) => Source::Table,
            (Some(_), Some(value)) => Source::Value { prefix: value_prefix(value), cursor: None },
            (Some(_), None) => {
                let (from, end) = range_of(by);
                Source::Range { from, end, window: VecDeque::new(), is_last: false }
            }
        };
        let entries = index.map_or(FamilyId(0), |index| index.entries.id);
        let indexed =
            index.and_then(|index| index.columns.first()).and_then(|column| table.families.get(&column.family));
        Ok(Some(Self { gate, entries, indexed: indexed.map(|family| family.id), source }))
    }

    /// By the entries of one value, however many are there.
    pub fn of_value(gate: Gate, index: &IndexSchema, value: &[u8]) -> Self {
        let source = Source::Value { prefix: value_prefix(value), cursor: None };
        Self { gate, entries: index.entries.id, indexed: None, source }
    }

    /// Whether the rows of the table are the candidates.
    pub fn is_of_table(&self) -> bool {
        matches!(self.source, Source::Table)
    }

    /// Another view is read from now on.
    pub fn renew(&mut self) {
        if let Source::Value { cursor, .. } = &mut self.source {
            *cursor = None;
        }
    }

    /// The next candidate; `None`: there is no more.
    pub fn next(&mut self, view: &ReadView, bounds: Bounds<'_>) -> Result<Option<RowKey>> {
        let entries = self.entries;
        match &mut self.source {
            Source::Table => Ok(None),
            Source::Value { prefix, .. } if bounds.reversed => {
                let (first, end) = (bounds.first(prefix), bounds.end(prefix));
                let last = get::last_key(view, entries, &first, &end)?;
                Ok(last.and_then(|key| key::qualifier_of(&key, prefix.len())))
            }
            Source::Value { prefix, cursor } => {
                let first = bounds.first(prefix);
                let cursor = match cursor {
                    Some(cursor) => cursor,
                    None => cursor.insert(Cursor::new(view, entries, &first, bounds.end(prefix), 64)?),
                };
                cursor.seek(&first)?;
                Ok(cursor.key().and_then(|key| key::qualifier_of(key, prefix.len())))
            }
            Source::Range { from, end, window, is_last } => {
                if window.is_empty() && !*is_last {
                    let filled = fill(view, entries, (from, end), bounds)?;
                    if filled.is_more_than(self.indexed.map_or(0, |family| view.rows_of_runs(family).sum())) {
                        self.source = Source::Table;
                        return Ok(None);
                    }
                    (*window, *is_last) = (filled.rows, filled.is_all);
                }
                Ok(window.pop_front())
            }
        }
    }
}

/// The next rows of a range of values.
struct Filled {
    rows: VecDeque<RowKey>,
    /// These are the last.
    is_all: bool,
    /// Entries that were walked over, and those of them that are of the rows between the bounds.
    walked: u64,
    within: u64,
}

impl Filled {
    /// Whether what follows costs more than a look at all rows of a table, which are so many at the most.
    fn is_more_than(&self, table_rows: u64) -> bool {
        let walks = self.within / (self.rows.len() as u64).max(1);
        !self.is_all && walks.saturating_mul(self.walked) > table_rows.saturating_sub(self.within).saturating_mul(LOOK)
    }
}

fn fill(view: &ReadView, entries: FamilyId, (from, end): (&[u8], &[u8]), bounds: Bounds<'_>) -> Result<Filled> {
    let end = if from < end { end } else { from };
    debug_assert!(end <= FAR);
    let mut cursor = Cursor::new(view, entries, from, end.to_vec(), 1024)?;
    let (mut rows, mut bytes) = (BTreeSet::new(), 0);
    let mut filled = Filled { rows: VecDeque::new(), is_all: true, walked: 0, within: 0 };
    while let Some(key) = cursor.key() {
        filled.walked += 1;
        let row = key::row_prefix_len(key).and_then(|len| key::qualifier_of(key, len));
        if let Some(row) = row.filter(|row| bounds.has(row)) {
            filled.within += 1;
            let len = row.len();
            bytes += if rows.insert(row) { len } else { 0 };
            while rows.len() > WINDOW || bytes > WINDOW_BYTES && rows.len() > 1 {
                let farthest = if bounds.reversed { rows.pop_first() } else { rows.pop_last() };
                bytes -= farthest.map_or(0, |row| row.len());
                filled.is_all = false;
            }
        }
        cursor.advance()?;
    }
    filled.rows = if bounds.reversed { rows.into_iter().rev().collect() } else { rows.into_iter().collect() };
    Ok(filled)
}
