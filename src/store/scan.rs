//! Gets and scans: which rows, in which order. What of a row is in the answer is `query`'s.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::env::sync::Mutex;

use super::cursor::{Cursor, SharedCursor, SharedRow, Snapshot};
use super::engine::Engine;
use super::plan::Planner;
use super::read::SNAPSHOT_ROWS;
use crate::backend::Rows;
use crate::index::{Direction, key};
use crate::model::{
    FamilyId, FamilySchema, Get, Piece, ReadSpec, Results, RowKey, RowResult, Scan, StoredCell, TableSchema, TakePiece,
    TimeRange, Timestamp, check_row,
};
use crate::query::{RowKeyVerdict, RowQuery, RowRequest, Step, ValueLoader};
use crate::{ErrorKind, Result};

/// Reads values for `query`.
struct Loader<'s>(&'s Engine);

impl ValueLoader for Loader<'_> {
    fn load(&mut self, cell: &StoredCell) -> Result<Vec<u8>> {
        self.load_part(cell, 0, cell.value.len as usize)
    }

    fn load_part(&mut self, cell: &StoredCell, offset: u64, len: usize) -> Result<Vec<u8>> {
        let (values, handle) = (&self.0.values, &cell.value);
        match values.read(handle, offset, len) {
            Err(e) if e.kind == ErrorKind::NotFound => values.read(&self.0.current(handle)?, offset, len),
            other => other,
        }
    }
}

/// A family that is read, and where its cursor is.
struct Lane<'s> {
    family: FamilyId,
    cursor: Option<SharedCursor<'s>>,
}

/// A scan under way.
struct Scanner<'s> {
    engine: &'s Engine,
    scan: Scan,
    query: RowQuery,
    lanes: Vec<Lane<'s>>,
    /// Only rows after (before, if reversed) this one.
    passed: Option<RowKey>,
    /// Rows since the snapshot was taken.
    looked: usize,
    snapshot: Snapshot,
    ready: VecDeque<RowResult>,
    ended: bool,
}

impl Engine {
    /// One row, in pieces; none if nothing of it is visible.
    pub fn get_pieces(&self, get: &Get, take: TakePiece<'_>) -> Result<()> {
        check_row(&get.row)?;
        let catalogue = self.catalogue.load();
        let table = self.table(&catalogue, &get.table)?;
        self.get_in(&self.snapshot(), table, (&get.row, &get.read), take)
    }

    fn get_in(
        &self,
        snapshot: &Snapshot,
        table: &TableSchema,
        (row, read): (&[u8], &ReadSpec),
        emit: TakePiece<'_>,
    ) -> Result<()> {
        let mut query = RowQuery::get(read, table, self.now())?;
        if query.enter(row) != RowKeyVerdict::Read {
            return Ok(());
        }
        let mut open = |family: &FamilySchema| {
            let prefix = key::row_prefix(family.id, row);
            let cursor = Arc::new(Mutex::new(self.row_cursor(snapshot, &prefix, 16)));
            Ok(SharedRow::new(&cursor, prefix))
        };
        query.read_row(RowRequest { row, open: &mut open, loader: &mut Loader(self), emit })?;
        Ok(())
    }

    /// Rows of a range, in order; holds one of them at a time.
    pub fn scan(&self, scan: &Scan) -> Result<Rows<'_>> {
        Ok(Box::new(self.scanner(scan)?))
    }

    /// Rows of a range, in order, piece by piece: neither a wide row nor a long value is held.
    pub fn scan_pieces(&self, scan: &Scan, take: TakePiece<'_>) -> Result<()> {
        let mut scanner = self.scanner(scan)?;
        while !scanner.ended {
            scanner.step(take)?;
        }
        Ok(())
    }

    fn scanner(&self, scan: &Scan) -> Result<Scanner<'_>> {
        let catalogue = self.catalogue.load();
        let table = self.table(&catalogue, &scan.table)?;
        let query = RowQuery::scan(scan, table, self.now())?;
        let mut scan = scan.clone();
        if let Some(hint) = query.start_hint() {
            skip_to(&mut scan, hint);
        }
        let lanes = query.families().map(|schema| Lane { family: schema.id, cursor: None }).collect();
        Ok(Scanner {
            engine: self,
            scan,
            query,
            lanes,
            passed: None,
            looked: SNAPSHOT_ROWS,
            snapshot: self.snapshot(),
            ready: VecDeque::new(),
            ended: false,
        })
    }

    /// `Some` if the row, read through the filter, is not empty: the least timestamp of later puts.
    pub fn filter_holds(&self, planner: &Planner<'_>, filter: &[u8], range: TimeRange) -> Result<Option<Timestamp>> {
        let read = ReadSpec { filter: Some(filter.to_owned()), time_range: range, ..ReadSpec::default() };
        let mut newest = None;
        self.get_in(&planner.snapshot, planner.table, (planner.row, &read), &mut |piece| {
            if let Piece::Cell(cell) | Piece::Head(cell, _) = piece {
                newest = newest.max(Some(cell.timestamp));
            }
            Ok(())
        })?;
        Ok(newest)
    }

    /// The greatest row of a family in `[from, end)` of keys.
    fn last_row(&self, snapshot: &Snapshot, from: &[u8], end: &[u8]) -> Result<Option<RowKey>> {
        let mut last = None;
        self.index.page(from, end, 1, Direction::Descending, &mut |key, _| {
            last = Some(key.to_vec());
            Ok(())
        })?;
        for table in snapshot.tables.all() {
            last = last.max(table.last_key(from, end));
        }
        Ok(last.as_deref().and_then(key::row_of))
    }
}

/// Narrows a scan to where a row can pass its filter.
fn skip_to(scan: &mut Scan, hint: Vec<u8>) {
    let narrower = if scan.reversed { scan.start.is_empty() || hint <= scan.start } else { hint > scan.start };
    if narrower {
        (scan.start, scan.start_inclusive) = (hint, !scan.reversed);
    }
}

impl<'s> Scanner<'s> {
    /// The key of a family before which nothing is wanted.
    fn lower(&self, family: FamilyId) -> Vec<u8> {
        let (row, inclusive) = match (self.scan.reversed, &self.passed) {
            (false, Some(row)) => (row.as_slice(), false),
            (false, None) => (self.scan.start.as_slice(), self.scan.start_inclusive),
            (true, _) => (self.scan.stop.as_slice(), self.scan.stop_inclusive),
        };
        match (row, inclusive) {
            ([], _) => key::family_prefix(family),
            (row, true) => key::row_prefix(family, row),
            (row, false) => key::prefix_end(&key::row_prefix(family, row)),
        }
    }

    /// The key of a family from which on nothing is wanted.
    fn upper(&self, family: FamilyId) -> Vec<u8> {
        let (row, inclusive) = match (self.scan.reversed, &self.passed) {
            (true, Some(row)) => (row.as_slice(), false),
            (true, None) => (self.scan.start.as_slice(), self.scan.start_inclusive),
            (false, _) => (self.scan.stop.as_slice(), self.scan.stop_inclusive),
        };
        match (row, inclusive) {
            ([], _) => key::family_end(family),
            (row, true) => key::prefix_end(&key::row_prefix(family, row)),
            (row, false) => key::row_prefix(family, row),
        }
    }

    /// The next row that has a stored cell.
    fn next_row(&mut self) -> Result<Option<RowKey>> {
        if self.looked >= SNAPSHOT_ROWS {
            self.looked = 0;
            self.snapshot = self.engine.snapshot();
            self.lanes.iter_mut().for_each(|lane| lane.cursor = None);
        }
        self.looked += 1;
        if self.scan.reversed { self.next_reversed() } else { self.next_forward() }
    }

    fn next_forward(&mut self) -> Result<Option<RowKey>> {
        let mut least: Option<RowKey> = None;
        for at in 0..self.lanes.len() {
            let family = self.lanes[at].family;
            let lower = self.lower(family);
            if self.lanes[at].cursor.is_none() {
                let cursor = Cursor::new(&self.engine.index, &self.snapshot, &lower, self.upper(family), 64);
                self.lanes[at].cursor = Some(Arc::new(Mutex::new(cursor)));
            }
            let Some(cursor) = &self.lanes[at].cursor else { continue };
            let mut cursor = cursor.lock();
            cursor.seek(&lower);
            if let Some(row) = cursor.peek()?.and_then(key::row_of)
                && least.as_ref().is_none_or(|l| row < *l)
            {
                least = Some(row);
            }
        }
        Ok(least)
    }

    fn next_reversed(&mut self) -> Result<Option<RowKey>> {
        let mut greatest = None;
        for lane in &self.lanes {
            let (lower, upper) = (self.lower(lane.family), self.upper(lane.family));
            greatest = greatest.max(self.engine.last_row(&self.snapshot, &lower, &upper)?);
        }
        let Some(row) = &greatest else { return Ok(None) };
        for lane in &mut self.lanes {
            let cursor = self.engine.row_cursor(&self.snapshot, &key::row_prefix(lane.family, row), 16);
            lane.cursor = Some(Arc::new(Mutex::new(cursor)));
        }
        Ok(greatest)
    }

    /// Reads on until a result is ready or the scan is over.
    fn advance(&mut self) -> Result<()> {
        while self.ready.is_empty() && !self.ended {
            let (mut results, mut ready) = (Results::default(), std::mem::take(&mut self.ready));
            self.step(&mut |piece| {
                ready.extend(results.take(piece));
                Ok(())
            })?;
            self.ready = ready;
        }
        Ok(())
    }

    /// Reads the next row, or finds that the scan is over.
    fn step(&mut self, emit: TakePiece<'_>) -> Result<()> {
        let Some(row) = self.next_row()? else {
            self.ended = true;
            return Ok(());
        };
        match self.query.enter(&row) {
            RowKeyVerdict::Read => self.ended = self.read_row(&row, emit)? == Step::Stop,
            RowKeyVerdict::Skip => {}
            RowKeyVerdict::Stop => self.ended = true,
        }
        self.passed = Some(row);
        Ok(())
    }

    fn read_row(&mut self, row: &[u8], emit: TakePiece<'_>) -> Result<Step> {
        let lanes = &self.lanes;
        let (engine, snapshot) = (self.engine, &self.snapshot);
        let mut open = |family: &FamilySchema| {
            let prefix = key::row_prefix(family.id, row);
            let lane = lanes.iter().find(|lane| lane.family == family.id).and_then(|lane| lane.cursor.as_ref());
            Ok(match lane {
                Some(cursor) => SharedRow::new(cursor, prefix),
                None => SharedRow::new(&Arc::new(Mutex::new(engine.row_cursor(snapshot, &prefix, 16))), prefix),
            })
        };
        let loader = &mut Loader(engine);
        self.query.read_row(RowRequest { row, open: &mut open, loader, emit })
    }
}

impl Iterator for Scanner<'_> {
    type Item = Result<RowResult>;

    fn next(&mut self) -> Option<Self::Item> {
        let advanced = self.advance();
        if let Err(e) = self.engine.noted(advanced) {
            self.ended = true;
            self.ready.clear();
            return Some(Err(e));
        }
        self.ready.pop_front().map(Ok)
    }
}
