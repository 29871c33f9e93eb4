//! The sorted sources that a walk merges: a memtable's cells, page by page, and a run's extents.

use std::sync::Arc;

use super::{PAGE, PAGE_BYTES};
use crate::Result;
use crate::format::key::common;
use crate::model::{Generation, SeqNo};
use crate::segment::{ExtentCursor, Reading};
use crate::store::layout::Run;
use crate::store::memtable::{self, FamilyTable, MemCell};

/// One sorted source.
pub(super) enum Lane {
    Memory(Box<MemoryLane>),
    Run(Box<RunLane>),
}

pub(super) struct MemoryLane {
    pub(super) table: Arc<FamilyTable>,
    pub(super) page: Vec<MemCell>,
    pub(super) at: usize,
    /// Where the next page starts; `None`: there is none.
    pub(super) next: Option<Vec<u8>>,
    pub(super) size: usize,
    /// Cells of a page after a jump: what lies here and there is not copied at large.
    pub(super) first: usize,
}

impl MemoryLane {
    pub(super) fn key(&self) -> Option<&[u8]> {
        self.page.get(self.at).map(MemCell::key)
    }

    pub(super) fn fill(&mut self, end: &[u8], read_point: SeqNo) {
        while self.at == self.page.len()
            && let Some(from) = self.next.take()
        {
            self.page.clear();
            self.at = 0;
            // The last cell that was looked at, unless it is that of the page.
            let (mut unseen, mut bytes) = (None, 0);
            let size = self.size;
            let (page, limit) = (&mut self.page, self.size);
            let count = self.table.page(&from, Some(end), limit, &mut |cell| {
                if bytes > PAGE_BYTES {
                    return;
                }
                bytes += cell.stored().len();
                let is_seen = memtable::seq_of(cell.key()) <= read_point;
                if is_seen {
                    page.push(cell.clone());
                }
                unseen = (!is_seen).then(|| cell.clone());
            });
            if (count == size || bytes > PAGE_BYTES)
                && let Some(last) = unseen.as_ref().or(page.last())
            {
                self.next = Some([last.key(), &[0]].concat());
            }
            self.size = (self.size * 4).min(PAGE);
        }
    }

    pub(super) fn seek(&mut self, target: &[u8]) {
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
    fn next_row(&mut self, row_end: &[u8], end: &[u8], read_point: SeqNo) -> Result<usize> {
        let before = self.at;
        self.seek(row_end);
        if let (Some(before), Some(next)) = (self.page.get(before), self.page.get(self.at)) {
            return Ok(common(before.key(), next.key()));
        }
        self.fill(end, read_point);
        Ok(0)
    }
}

/// A run: its extents one after the other.
pub(super) struct RunLane {
    pub(super) run: Arc<Run>,
    pub(super) generation: Generation,
    pub(super) reading: Reading,
    /// The extent that is read.
    pub(super) at: usize,
    pub(super) cursor: Option<ExtentCursor>,
}

impl RunLane {
    pub(super) fn key(&self) -> Option<&[u8]> {
        self.cursor.as_ref().and_then(ExtentCursor::key)
    }

    pub(super) fn seek(&mut self, target: &[u8]) -> Result<()> {
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
    pub(super) fn pass_ends(&mut self) -> Result<()> {
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
    pub(super) fn key(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(lane) => lane.key(),
            Self::Run(lane) => lane.key(),
        }
    }

    /// Steps; so many bytes exactly the next key shares with the one before, 0: that is not known.
    pub(super) fn advance(&mut self, end: &[u8], read_point: SeqNo) -> Result<usize> {
        match self {
            Self::Memory(lane) => {
                lane.at += 1;
                if let Some([before, next]) = lane.page.get(lane.at - 1..=lane.at) {
                    return Ok(common(before.key(), next.key()));
                }
                lane.fill(end, read_point);
                Ok(0)
            }
            Self::Run(lane) => lane.advance(),
        }
    }

    /// From a cell past its row, which ends at `row_end`, or to where that goes on in the next extent; what is shared, as
    /// [`Lane::advance`].
    #[inline]
    pub(super) fn next_row(&mut self, row_end: &[u8], end: &[u8], read_point: SeqNo) -> Result<usize> {
        match self {
            Self::Memory(lane) => lane.next_row(row_end, end, read_point),
            Self::Run(lane) => lane.next_row(),
        }
    }

    pub(super) fn seek(&mut self, target: &[u8], end: &[u8], read_point: SeqNo) -> Result<()> {
        match self {
            Self::Memory(lane) => {
                lane.seek(target);
                lane.fill(end, read_point);
                Ok(())
            }
            Self::Run(lane) => lane.seek(target),
        }
    }
}
