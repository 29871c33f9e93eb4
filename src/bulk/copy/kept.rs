//! The deleted versions of a row that are kept.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use crate::Result;
use crate::backend::{Backend, HistoryFrom};
use crate::model::{Cell, CellInfo, Qualifier, TableName, Timestamp};

/// Versions of a family that are listed at once.
const PAGE: usize = 1000;
/// Times of later tombstones of a family that are remembered; others are taken for earlier ones.
const LATER: usize = 4096;

/// From when on reads of the past do not see a deleted version, if that is before its end.
pub fn hidden_before_end(info: &CellInfo) -> Option<Timestamp> {
    info.hidden_from.filter(|hidden| info.deleted_at.is_some_and(|end| *hidden < end))
}

/// A page at a time; asked in the order of scans.
pub struct Kept<'a> {
    backend: &'a Arc<dyn Backend>,
    table: &'a TableName,
    row: &'a [u8],
    family: String,
    page: VecDeque<(Qualifier, CellInfo)>,
    /// Where the next page begins; `None`: there is none.
    next: Option<HistoryFrom>,
    /// Times from which on versions of the family are hidden before their ends.
    later: BTreeSet<Timestamp>,
}

impl<'a> Kept<'a> {
    pub fn new(backend: &'a Arc<dyn Backend>, table: &'a TableName, row: &'a [u8]) -> Self {
        let (family, page, next, later) = (String::new(), VecDeque::new(), None, BTreeSet::new());
        Self { backend, table, row, family, page, next, later }
    }

    /// Whether a tombstone may have come when a version that it hides was deleted already.
    pub fn is_later(&mut self, tombstone: &Cell) -> Result<bool> {
        self.enter(&tombstone.family)?;
        Ok(self.later.contains(&tombstone.timestamp))
    }

    /// The version of a cell's time; asked in the order of scans.
    pub fn find(&mut self, cell: &Cell) -> Result<Option<&CellInfo>> {
        self.enter(&cell.family)?;
        loop {
            let wanted = |(qualifier, info): &(Qualifier, CellInfo)| is_at_or_behind((qualifier, info.timestamp), cell);
            match self.page.front() {
                Some(first) if wanted(first) => break,
                Some(_) => drop(self.page.pop_front()),
                None if self.next.is_some() => self.turn()?,
                None => break,
            }
        }
        let is_it = |(qualifier, info): &&(Qualifier, CellInfo)| {
            *qualifier == cell.qualifier && info.timestamp == cell.timestamp && info.deleted_at.is_some()
        };
        Ok(self.page.front().filter(is_it).map(|(_, info)| info))
    }

    fn enter(&mut self, family: &str) -> Result<()> {
        if self.family == family {
            return Ok(());
        }
        family.clone_into(&mut self.family);
        self.later.clear();
        self.begin();
        let mut pages = 0;
        while self.next.is_some() && self.later.len() < LATER {
            self.turn()?;
            self.later.extend(self.page.iter().filter_map(|(_, info)| hidden_before_end(info)));
            pages += 1;
        }
        // Most have no second page.
        if pages > 1 || self.next.is_some() {
            self.begin();
        }
        Ok(())
    }

    fn begin(&mut self) {
        self.page.clear();
        self.next = Some(HistoryFrom { qualifier: Qualifier::default(), before: None });
    }

    fn turn(&mut self) -> Result<()> {
        let page = self.backend.list_history(self.table, self.row, &self.family, self.next.as_ref(), PAGE)?;
        let last = page.last().filter(|_| page.len() == PAGE);
        self.next =
            last.map(|(qualifier, info)| HistoryFrom { qualifier: qualifier.clone(), before: Some(info.timestamp) });
        self.page = page.into();
        Ok(())
    }
}

/// Whether a version stands where a cell does, or behind it.
fn is_at_or_behind((qualifier, timestamp): (&Qualifier, Timestamp), cell: &Cell) -> bool {
    (qualifier, std::cmp::Reverse(timestamp)) >= (&cell.qualifier, std::cmp::Reverse(cell.timestamp))
}
