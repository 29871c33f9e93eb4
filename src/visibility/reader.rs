//! Walks the stored cells of one row and family and hands out the visible ones.
//!
//! Knows the order of cells and how to jump; what is visible is decided by the two matchers.

use std::collections::VecDeque;
use std::ops::Bound;

use super::classic::ClassicMatcher;
use super::newversion::NewVersionMatcher;
use super::visible::{Flow, VisibleCell};
use super::{CellSource, ReadRules, View};
use crate::Result;
use crate::model::{Qualifier, StoredCell};

enum Matcher<'a> {
    Classic(Box<ClassicMatcher<'a>>),
    NewVersion(Box<NewVersionMatcher<'a>>),
}

/// The visible cells of one row of one family, in HBase's order.
pub struct FamilyReader<'a, S> {
    source: S,
    rules: ReadRules<'a>,
    matcher: Matcher<'a>,
    /// Columns before this one are not wanted.
    from: Qualifier,
    ready: VecDeque<VisibleCell>,
    ended: bool,
    cells_read: usize,
}

impl<'a, S: CellSource> FamilyReader<'a, S> {
    /// `source` stands before the first cell of the row and family.
    pub fn new(source: S, rules: ReadRules<'a>) -> Self {
        let raw = rules.view == View::Raw;
        let matcher = if rules.family.new_version_behavior && !raw {
            Matcher::NewVersion(Box::new(NewVersionMatcher::new(rules)))
        } else {
            Matcher::Classic(Box::new(ClassicMatcher::new(rules)))
        };
        let ended = rules.columns.is_some_and(|c| c.is_empty());
        Self { source, rules, matcher, from: Qualifier::new(), ready: VecDeque::new(), ended, cells_read: 0 }
    }

    /// The next visible cell.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<VisibleCell>> {
        loop {
            if let Some(visible) = self.ready.pop_front() {
                return Ok(Some(visible));
            }
            if self.ended {
                return Ok(None);
            }
            match self.source.next()? {
                Some(cell) => {
                    self.cells_read += 1;
                    self.take(cell)?;
                }
                None => self.end(),
            }
        }
    }

    /// A filter is done with the column of the cell that it was given last.
    ///
    /// As in HBase this is a step to the next cell only where tombstones of the family may follow (empty
    /// qualifier), and in new-version families whose columns are named.
    pub fn leave_column(&mut self, qualifier: &[u8]) {
        let steps_by_cell = matches!(self.matcher, Matcher::NewVersion(_)) && self.rules.columns.is_some();
        if !qualifier.is_empty() && !steps_by_cell {
            let mut after = qualifier.to_vec();
            after.push(0);
            self.seek_column(&after);
        }
    }

    /// Goes on with the first column that is this one or greater; never back. Tombstones of the family
    /// are still seen.
    pub fn seek_column(&mut self, qualifier: &[u8]) {
        if qualifier > self.from.as_slice() {
            self.from = qualifier.to_vec();
            self.ready.retain(|v| v.cell.qualifier.as_slice() >= qualifier);
        }
    }

    /// A filter's hint: as [`Self::seek_column`], but classic families jump over what lies between, as
    /// HBase does. From a cell with an empty qualifier that may pass by tombstones of the family.
    pub fn jump_to_column(&mut self, qualifier: &[u8]) -> Result<()> {
        self.seek_column(qualifier);
        match self.matcher {
            Matcher::Classic(_) => self.source.seek_column(qualifier),
            Matcher::NewVersion(_) => Ok(()),
        }
    }

    /// Cells that were stored where the reader looked, visible or not.
    pub fn cells_read(&self) -> usize {
        self.cells_read
    }

    /// Nothing more is wanted of this row and family.
    pub fn finish(&mut self) {
        self.ready.clear();
        self.ended = true;
    }

    fn end(&mut self) {
        self.ended = true;
        match &mut self.matcher {
            Matcher::Classic(m) => m.finish(&mut self.ready),
            Matcher::NewVersion(m) => m.finish(&mut self.ready),
        }
    }

    fn take(&mut self, cell: StoredCell) -> Result<()> {
        // Family tombstones lie among the cells of the empty qualifier: that region is read to its end.
        if !cell.qualifier.is_empty() && !self.arrive(&cell.qualifier)? {
            return Ok(());
        }
        if cell.qualifier.is_empty() && !self.wants_empty() && (cell.kind.is_put() || self.rules.view == View::Raw) {
            return Ok(());
        }
        let is_empty = cell.qualifier.is_empty();
        let leaving = if is_empty { Qualifier::new() } else { cell.qualifier.clone() };
        let flow = match &mut self.matcher {
            Matcher::Classic(m) => m.push(cell, &mut self.ready),
            Matcher::NewVersion(m) => m.push(cell, &mut self.ready),
        };
        if flow == Flow::NextColumn && !is_empty {
            self.leave(&leaving)?;
        }
        Ok(())
    }

    fn wants_empty(&self) -> bool {
        self.from.is_empty() && self.rules.columns.is_none_or(|c| c.contains([].as_slice()))
    }

    /// Whether this column is wanted; if not, the source is moved to the next one that is.
    fn arrive(&mut self, qualifier: &[u8]) -> Result<bool> {
        if qualifier < self.from.as_slice() {
            self.source.seek_column(&self.from)?;
            return Ok(false);
        }
        match self.rules.columns {
            Some(columns) if !columns.contains(qualifier) => self.leave(qualifier).map(|()| false),
            _ => Ok(true),
        }
    }

    /// Moves the source past a column, to the next one that is wanted.
    fn leave(&mut self, qualifier: &[u8]) -> Result<()> {
        let Some(columns) = self.rules.columns else { return self.source.skip_column(qualifier) };
        match columns.range::<[u8], _>((Bound::Excluded(qualifier), Bound::Unbounded)).next() {
            Some(next) => self.source.seek_column(next),
            None => {
                self.end();
                Ok(())
            }
        }
    }
}
