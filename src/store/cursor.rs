//! A forward walk over the cells of memtables and index as one sorted sequence.
//!
//! Reads pages ahead and holds no transaction between them. The memtables are taken before the index is
//! asked, so that a flush in between hides nothing; what is met twice is given once.

use std::sync::Arc;

use crate::env::sync::Mutex;

use super::memtable::{Memtable, Memtables};
use super::page::Page;
use super::reads::Reading;
use crate::Result;
use crate::index::{Direction, Index, IndexRow, key};
use crate::model::{SeqNo, StoredCell};
use crate::visibility::CellSource;

/// Largest page, in cells.
const PAGE: usize = 1024;

/// What a read sees: everything up to a sequence number.
#[derive(Clone)]
pub struct Snapshot {
    pub read_point: SeqNo,
    pub tables: Arc<Memtables>,
    /// While it lives nothing is dropped that it may have to show.
    pub _reading: Arc<Reading>,
}

/// See the module.
pub struct Cursor<'s> {
    index: &'s Index,
    read_point: SeqNo,
    end: Vec<u8>,
    lanes: Vec<Lane>,
}

struct Lane {
    /// `None`: the index.
    table: Option<Arc<Memtable>>,
    page: Page,
    /// Where the next page starts; `None`: there is none.
    next: Option<Vec<u8>>,
    size: usize,
}

impl Lane {
    fn new(table: Option<Arc<Memtable>>, from: &[u8], size: usize) -> Self {
        Self { table, page: Page::default(), next: Some(from.to_vec()), size }
    }

    fn fill(&mut self, index: &Index, end: &[u8], read_point: SeqNo) -> Result<()> {
        while self.page.is_empty()
            && let Some(from) = self.next.take()
        {
            let mut last = Vec::new();
            let page = &mut self.page;
            page.clear();
            let mut wanted = |key: &[u8]| {
                last.clear();
                last.extend_from_slice(key);
                key::decode_suffix(key).is_some_and(|(_, _, seq)| seq <= read_point)
            };
            let count = match &self.table {
                Some(table) => table.page(&from, end, self.size, &mut |key, cell| {
                    if wanted(key) {
                        page.push(key, cell);
                    }
                }),
                None => index.packed_page(&from, end, self.size, Direction::Ascending, &mut |key, packed| {
                    if wanted(key) {
                        page.push_packed(key, packed);
                    }
                    Ok(())
                })?,
            };
            if count == self.size {
                last.push(0);
                self.next = Some(last);
            }
            self.size = (self.size * 4).min(PAGE);
        }
        Ok(())
    }

    fn seek(&mut self, target: &[u8], first: usize) {
        self.page.seek(target);
        if self.page.is_empty()
            && let Some(next) = &mut self.next
            && next.as_slice() < target
        {
            *next = target.to_vec();
            self.size = first;
        }
    }
}

impl<'s> Cursor<'s> {
    /// The cells of `[from, end)`, all of one family; the first page has `first` cells at most.
    pub fn new(index: &'s Index, snapshot: &Snapshot, from: &[u8], end: Vec<u8>, first: usize) -> Self {
        let cursor = Self::in_memory(index, snapshot, from, end, first);
        let indexed = key::family_of(from).is_none_or(|family| snapshot.tables.indexed.latest(family).is_some());
        if indexed { cursor.with_index(from, first) } else { cursor }
    }

    /// As [`Cursor::new`], of the memtables alone.
    pub fn in_memory(index: &'s Index, snapshot: &Snapshot, from: &[u8], end: Vec<u8>, first: usize) -> Self {
        let tables = snapshot.tables.all().filter(|table| !table.is_empty());
        let lanes = tables.map(|table| Lane::new(Some(Arc::clone(table)), from, first)).collect();
        Self { index, read_point: snapshot.read_point, end, lanes }
    }

    /// As [`Cursor::new`], of the index alone.
    pub fn in_index(index: &'s Index, from: &[u8], end: Vec<u8>, first: usize) -> Self {
        Self { index, read_point: SeqNo(u64::MAX), end, lanes: Vec::new() }.with_index(from, first)
    }

    /// The index as well; before anything was taken.
    pub fn with_index(mut self, from: &[u8], first: usize) -> Self {
        // Order: memtables before the index, so that of equal keys theirs is taken.
        self.lanes.push(Lane::new(None, from, first));
        self
    }

    /// The lane with the smallest key.
    fn first(&mut self) -> Result<Option<usize>> {
        let mut best: Option<usize> = None;
        for at in 0..self.lanes.len() {
            self.lanes[at].fill(self.index, &self.end, self.read_point)?;
            let Some(key) = self.lanes[at].page.front() else { continue };
            let smaller = best.and_then(|b| self.lanes[b].page.front()).is_none_or(|least| key < least);
            if smaller {
                best = Some(at);
            }
        }
        Ok(best)
    }

    /// The next key, without moving.
    pub fn peek(&mut self) -> Result<Option<&[u8]>> {
        let lane = self.first()?;
        Ok(lane.and_then(|at| self.lanes[at].page.front()))
    }

    /// The next cell.
    pub fn pop(&mut self) -> Result<Option<(Vec<u8>, IndexRow)>> {
        let Some(at) = self.first()? else { return Ok(None) };
        let cell = self.lanes[at].page.pop(self.index)?;
        if let Some((key, _)) = &cell {
            for lane in &mut self.lanes {
                if lane.page.front().is_some_and(|other| other == key) {
                    lane.page.pass();
                }
            }
        }
        Ok(cell)
    }

    /// Moves to the first cell that is not before `target`; never back.
    pub fn seek(&mut self, target: &[u8]) {
        for lane in &mut self.lanes {
            lane.seek(target, 16);
        }
    }

    /// The cells of one row and family, from where the cursor is.
    pub fn row(&mut self, prefix: Vec<u8>) -> RowCells<'_, 's> {
        let end = key::prefix_end(&prefix);
        RowCells { cursor: self, prefix, end }
    }
}

/// A cell of the index or a memtable as the rules of visibility see it; `None` for a broken key.
pub fn stored_cell(key: &[u8], row: IndexRow, prefix_len: usize) -> Option<StoredCell> {
    let (timestamp, kind, seq) = key::decode_suffix(key)?;
    let qualifier = key::qualifier_of(key, prefix_len)?;
    let IndexRow { value, generation, tags, own } = row;
    Some(StoredCell { qualifier, timestamp, kind, seq, generation, tags, value, own })
}

/// One row and family of a cursor.
pub struct RowCells<'c, 's> {
    cursor: &'c mut Cursor<'s>,
    prefix: Vec<u8>,
    end: Vec<u8>,
}

/// As [`RowCells`], of a cursor that goes on to other rows later.
pub struct SharedRow<'s> {
    cursor: SharedCursor<'s>,
    prefix: Vec<u8>,
    end: Vec<u8>,
}

/// A cursor that several rows are read from, one after the other.
pub type SharedCursor<'s> = Arc<Mutex<Cursor<'s>>>;

impl<'s> SharedRow<'s> {
    pub fn new(cursor: &SharedCursor<'s>, prefix: Vec<u8>) -> Self {
        Self { cursor: Arc::clone(cursor), end: key::prefix_end(&prefix), prefix }
    }
}

impl Cursor<'_> {
    fn next_before(&mut self, end: &[u8], prefix_len: usize) -> Result<Option<StoredCell>> {
        match self.peek()? {
            Some(key) if key < end => {}
            _ => return Ok(None),
        }
        let cell = self.pop()?;
        Ok(cell.and_then(|(key, row)| stored_cell(&key, row, prefix_len)))
    }
}

fn after_column(prefix: &[u8], qualifier: &[u8]) -> Vec<u8> {
    key::prefix_end(&key::column_prefix(prefix, qualifier))
}

impl CellSource for RowCells<'_, '_> {
    fn next(&mut self) -> Result<Option<StoredCell>> {
        self.cursor.next_before(&self.end, self.prefix.len())
    }

    fn skip_column(&mut self, qualifier: &[u8]) -> Result<()> {
        self.cursor.seek(&after_column(&self.prefix, qualifier));
        Ok(())
    }

    fn seek_column(&mut self, qualifier: &[u8]) -> Result<()> {
        self.cursor.seek(&key::column_prefix(&self.prefix, qualifier));
        Ok(())
    }
}

impl CellSource for SharedRow<'_> {
    fn next(&mut self) -> Result<Option<StoredCell>> {
        self.cursor.lock().next_before(&self.end, self.prefix.len())
    }

    fn skip_column(&mut self, qualifier: &[u8]) -> Result<()> {
        self.cursor.lock().seek(&after_column(&self.prefix, qualifier));
        Ok(())
    }

    fn seek_column(&mut self, qualifier: &[u8]) -> Result<()> {
        self.cursor.lock().seek(&key::column_prefix(&self.prefix, qualifier));
        Ok(())
    }
}
