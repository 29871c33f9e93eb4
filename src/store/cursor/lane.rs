//! The sorted sources that a walk merges: a memtable's cells, page by page, and a run's extents.

use std::sync::Arc;

use crate::Result;
use crate::format::key::{self, common};
use crate::model::{Generation, SeqNo};
use crate::segment::{ExtentCursor, Reading};
use crate::store::layout::runs::Run;
use crate::store::memory::memtable;
use crate::store::memory::memtable::{FamilyTable, MemCell};

/// Most cells that are copied out of a memtable at once.
const PAGE: usize = 256;
/// Most bytes of values of these.
const PAGE_BYTES: usize = 1 << 20;

/// One sorted source.
pub enum Lane {
    Memory(Box<MemoryLane>),
    Run(Box<RunLane>),
}

/// What a walk copies of a memtable beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    All,
    /// Of each row the first cell: for who mostly asks for no more of it. Others are fetched when they are asked for.
    FirstOfRow,
}

/// Cells that are fetched where more of a row is asked for.
const MORE: usize = 16;

pub struct MemoryLane {
    pub table: Arc<FamilyTable>,
    pub page: Vec<MemCell>,
    pub at: usize,
    /// Where the next page starts; `None`: there is none.
    next: Option<Vec<u8>>,
    size: usize,
    /// Cells of a page after a jump: what lies here and there is not copied at large.
    first: usize,
    copied: Copied,
    /// What the present page has.
    has: Copied,
    /// Used again.
    row_end: Vec<u8>,
}

impl MemoryLane {
    /// One that begins at `from`; to be filled.
    pub fn new(table: Arc<FamilyTable>, copied: Copied, from: &[u8], first: usize) -> Self {
        let next = Some(from.to_vec());
        let (has, row_end) = (Copied::All, Vec::new());
        Self { table, page: Vec::new(), at: 0, next, size: first, first, copied, has, row_end }
    }

    pub fn key(&self) -> Option<&[u8]> {
        self.page.get(self.at).map(MemCell::key)
    }

    pub fn fill(&mut self, end: &[u8], read_point: SeqNo) {
        while self.at == self.page.len()
            && let Some(from) = self.next.take()
        {
            self.has = self.copied;
            self.fill_from(&from, end, read_point);
            self.size = (self.size * 4).min(PAGE);
        }
    }

    /// Makes the page the one that begins at `from`.
    fn fill_from(&mut self, from: &[u8], end: &[u8], read_point: SeqNo) {
        self.page.clear();
        self.at = 0;
        let size = self.size;
        let (page, is_seen) = (&mut self.page, |cell: &MemCell| memtable::seq_of(cell.key()) <= read_point);
        if self.has == Copied::FirstOfRow {
            let last = self.table.first_of_rows((from, end), size, is_seen, |cell| page.push(cell.clone()));
            self.next = last.map(|last| [&*last, &[0]].concat());
            return;
        }
        let (mut looked, mut bytes) = (0, 0);
        let next = &mut self.next;
        self.table.page(from, Some(end), size, &mut |cell| {
            if bytes > PAGE_BYTES {
                return;
            }
            looked += 1;
            bytes += cell.stored().len();
            if looked == size || bytes > PAGE_BYTES {
                *next = Some([cell.key(), &[0]].concat());
            }
            if is_seen(cell) {
                page.push(cell.clone());
            }
        });
    }

    /// Goes to the first cell that is not below `target`, of which nothing is in the page: it has been left out.
    fn fetch_more(&mut self, target: &[u8], end: &[u8], read_point: SeqNo) {
        (self.has, self.size) = (Copied::All, MORE);
        self.next = None;
        self.fill_from(target, end, read_point);
        self.fill(end, read_point);
    }

    /// To the next cell; what is shared, as [`Lane::advance`].
    fn advance(&mut self, end: &[u8], read_point: SeqNo) -> usize {
        if self.has == Copied::FirstOfRow {
            if let Some(key) = self.key() {
                let target = [key, &[0]].concat();
                self.fetch_more(&target, end, read_point);
            }
            return 0;
        }
        self.at += 1;
        if let Some([before, next]) = self.page.get(self.at - 1..=self.at) {
            return common(before.key(), next.key());
        }
        self.fill(end, read_point);
        0
    }

    /// To the first cell that is not below `target`.
    fn seek(&mut self, target: &[u8], end: &[u8], read_point: SeqNo) {
        let before = self.at;
        self.jump(target);
        if self.has == Copied::FirstOfRow
            && let Some(last) = self.page[before..self.at].last()
            && key::row_prefix_len(last.key()).is_some_and(|len| target.starts_with(&last.key()[..len]))
        {
            return self.fetch_more(target, end, read_point);
        }
        self.fill(end, read_point);
    }

    /// To the first cell of the page that is not below `target`, or to where the next one begins.
    fn jump(&mut self, target: &[u8]) {
        self.at += memtable::count_before(&self.page[self.at..], target);
        if self.at == self.page.len()
            && let Some(next) = &mut self.next
            && next.as_slice() < target
        {
            *next = target.to_vec();
            self.size = self.first;
        }
    }

    /// See [`Lane::next_row`].
    fn next_row(&mut self, row: &[u8], end: &[u8], read_point: SeqNo) -> Result<usize> {
        let (before, mut row_end) = (self.at, std::mem::take(&mut self.row_end));
        key::set_prefix_end(row, &mut row_end);
        self.jump(&row_end);
        self.row_end = row_end;
        if let (Some(before), Some(next)) = (self.page.get(before), self.page.get(self.at)) {
            return Ok(common(before.key(), next.key()));
        }
        self.fill(end, read_point);
        Ok(0)
    }
}

/// A run: its extents one after the other.
pub struct RunLane {
    pub run: Arc<Run>,
    pub generation: Generation,
    pub reading: Reading,
    /// The extent that is read.
    pub at: usize,
    pub cursor: Option<ExtentCursor>,
}

impl RunLane {
    pub fn key(&self) -> Option<&[u8]> {
        self.cursor.as_ref().and_then(ExtentCursor::key)
    }

    pub fn seek(&mut self, target: &[u8]) -> Result<()> {
        let at = self.run.extents.partition_point(|extent| extent.last_key() < target).max(self.at);
        if at != self.at || self.cursor.is_none() {
            self.at = at;
            self.cursor = None;
            let Some(extent) = self.run.extents.get(at) else { return Ok(()) };
            self.cursor = Some(extent.readable()?.cursor(self.reading));
        }
        if let Some(cursor) = &mut self.cursor {
            // What was trimmed away is not there.
            cursor.seek(self.run.extents.get(at).map_or(target, |extent| extent.first_key().max(target)))?;
        }
        self.pass_ends()
    }

    /// To the next cell; so many bytes exactly its key shares with the one before, 0: that is not known.
    #[inline]
    fn advance(&mut self) -> Result<usize> {
        let Some(cursor) = &mut self.cursor else { return Ok(0) };
        cursor.advance()?;
        self.shared_or_next()
    }

    /// From a cell to the first one of the next row, or of the next extent; what is shared, as [`RunLane::advance`].
    #[inline]
    fn next_row(&mut self) -> Result<usize> {
        let Some(cursor) = &mut self.cursor else { return Ok(0) };
        cursor.next_row()?;
        self.shared_or_next()
    }

    #[inline]
    fn shared_or_next(&mut self) -> Result<usize> {
        match &self.cursor {
            Some(cursor) if cursor.key().is_some() => Ok(cursor.shared()),
            _ => self.pass_ends().map(|()| 0),
        }
    }

    /// From the end of an extent to the first cell of the next.
    pub fn pass_ends(&mut self) -> Result<()> {
        while self.cursor.as_ref().is_some_and(|cursor| cursor.key().is_none()) {
            self.at += 1;
            self.cursor = None;
            let Some(extent) = self.run.extents.get(self.at) else { return Ok(()) };
            let mut cursor = extent.readable()?.cursor(self.reading);
            cursor.seek(extent.first_key())?;
            self.cursor = Some(cursor);
        }
        Ok(())
    }
}

impl Lane {
    pub fn key(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(lane) => lane.key(),
            Self::Run(lane) => lane.key(),
        }
    }

    /// Steps; so many bytes exactly the next key shares with the one before, 0: that is not known.
    pub fn advance(&mut self, end: &[u8], read_point: SeqNo) -> Result<usize> {
        match self {
            Self::Memory(lane) => Ok(lane.advance(end, read_point)),
            Self::Run(lane) => lane.advance(),
        }
    }

    /// From a cell past its row, whose keys begin with `row`, or to where that goes on in the next extent; what is shared,
    /// as [`Lane::advance`].
    #[inline]
    pub fn next_row(&mut self, row: &[u8], end: &[u8], read_point: SeqNo) -> Result<usize> {
        match self {
            Self::Memory(lane) => lane.next_row(row, end, read_point),
            Self::Run(lane) => lane.next_row(),
        }
    }

    pub fn seek(&mut self, target: &[u8], end: &[u8], read_point: SeqNo) -> Result<()> {
        match self {
            Self::Memory(lane) => {
                lane.seek(target, end, read_point);
                Ok(())
            }
            Self::Run(lane) => lane.seek(target),
        }
    }
}
