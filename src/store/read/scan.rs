//! Gets and scans: which rows, in which order. What of a row is in the answer is `query`'s.

mod lean_steps;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::env::sync::Mutex;

use super::lean::LeanRow;
use super::point::SNAPSHOT_ROWS;
use crate::Result;
use crate::backend::Rows;
use crate::format::key;
use crate::model::{
    FamilyId, FamilySchema, Get, Piece, ReadSpec, Results, RowKey, RowResult, Scan, StoredCell, TableSchema, TakePiece,
    TimeRange, Timestamp, check_row,
};
use crate::query::{RowKeyVerdict, RowQuery, RowRequest, Step, ValueLoader};
use crate::store::cursor::row_cells::{SharedCursor, SharedRow};
use crate::store::cursor::snapshot::Snapshot;
use crate::store::cursor::walk::{Cursor, End};
use crate::store::engine::{Engine, family};
use crate::store::layout::far::FAR;
use crate::store::plan::planner::Planner;
use crate::store::secondary::lookup::{Bound, Bounds, LookUp};

/// Reads values for `query`.
struct Loader<'s>(&'s Engine, &'s Snapshot);

impl ValueLoader for Loader<'_> {
    fn load(&mut self, cell: &StoredCell) -> Result<Vec<u8>> {
        self.load_part(cell, 0, cell.value.len() as usize)
    }

    fn load_part(&mut self, cell: &StoredCell, offset: u64, len: usize) -> Result<Vec<u8>> {
        self.0.read_reference(self.1, &cell.value, offset, len)
    }
}

/// A family that is read, and where its cursor is.
struct Lane {
    family: FamilySchema,
    cursor: Option<SharedCursor>,
}

/// A scan under way.
struct Scanner<'s> {
    engine: &'s Engine,
    scan: Scan,
    query: RowQuery,
    lanes: Vec<Lane>,
    /// `Some`: the rows are read by a look at each column's first cell.
    lean: Option<LeanRow>,
    /// `Some`: only rows that an index has.
    by: Option<LookUp>,
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

    /// As [`Engine::get_pieces`], as a snapshot has it.
    pub fn get_in(
        &self,
        snapshot: &Snapshot,
        table: &TableSchema,
        (row, read): (&[u8], &ReadSpec),
        emit: TakePiece<'_>,
    ) -> Result<()> {
        let without_doubt;
        let mut snapshot = snapshot;
        if snapshot.doubt.is_some() {
            without_doubt = settled(snapshot, table, (row, read))?;
            snapshot = &without_doubt;
        }
        let mut query = RowQuery::get(read, table, self.now())?;
        if query.enter(row) != RowKeyVerdict::Read {
            return Ok(());
        }
        let mut open = |family: &FamilySchema| {
            let prefix = key::row_prefix(row);
            let cursor = Arc::new(Mutex::new(self.row_cursor(snapshot, family.id, &prefix, 16)?));
            Ok(SharedRow::new(&cursor, prefix))
        };
        query.read_row(RowRequest { row, open: &mut open, loader: &mut Loader(self, snapshot), emit })?;
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
        let by = LookUp::new(self, table, scan)?;
        let mut scan = scan.clone();
        if let Some(hint) = query.start_hint() {
            skip_to(&mut scan, hint);
        }
        let lanes = query.families().map(|schema| Lane { family: schema.clone(), cursor: None }).collect();
        let snapshot = self.snapshot();
        snapshot.check_doubt()?;
        Ok(Scanner {
            engine: self,
            scan,
            lean: LeanRow::of(&query),
            by,
            query,
            lanes,
            passed: None,
            looked: SNAPSHOT_ROWS,
            snapshot,
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
    fn last_row(&self, snapshot: &Snapshot, family: FamilyId, from: &[u8], end: &[u8]) -> Result<Option<RowKey>> {
        Ok(self.last_key(snapshot, family, from, end)?.as_deref().and_then(key::row_of))
    }

    /// The greatest key of a family in `[from, end)`.
    pub fn last_key(&self, snapshot: &Snapshot, family: FamilyId, from: &[u8], end: &[u8]) -> Result<Option<Vec<u8>>> {
        snapshot.looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut last = None;
        for run in snapshot.layout.runs(family).iter().flat_map(|runs| &runs.runs) {
            last = last.max(run.last_before(from, end)?);
        }
        for table in snapshot.tables.of(family) {
            last = last.max(table.last_key(from, Some(end)));
        }
        Ok(last)
    }
}

/// While it is not known what the log has lost: the newest versions of named columns can be read that were written since.
fn settled(snapshot: &Snapshot, table: &TableSchema, (row, read): (&[u8], &ReadSpec)) -> Result<Snapshot> {
    let ReadSpec { columns, time_range, family_time_ranges, max_versions, filter, raw, .. } = read;
    let is_newest = *time_range == TimeRange::ALL && family_time_ranges.is_empty() && *max_versions == 1;
    if !is_newest || filter.is_some() || *raw || columns.is_empty() {
        snapshot.check_doubt()?;
    }
    let prefix = key::row_prefix(row);
    for (name, qualifiers) in columns {
        let Some(qualifiers) = qualifiers else {
            snapshot.check_doubt()?;
            continue;
        };
        let family = family(table, name)?;
        for qualifier in qualifiers {
            Cursor::first_of(snapshot, family.id, &prefix, &key::column_prefix(&prefix, qualifier))?;
        }
    }
    Ok(snapshot.without_doubt())
}

/// Narrows a scan to where a row can pass its filter.
fn skip_to(scan: &mut Scan, hint: Vec<u8>) {
    let narrower = if scan.reversed { scan.start.is_empty() || hint <= scan.start } else { hint > scan.start };
    if narrower {
        (scan.start, scan.start_inclusive) = (hint, !scan.reversed);
    }
}

impl<'s> Scanner<'s> {
    /// The rows between which the next one is.
    fn bounds(&self) -> Bounds<'_> {
        let Scan { reversed, start, start_inclusive, stop, stop_inclusive, .. } = &self.scan;
        let stop = Bound { row: stop, inclusive: *stop_inclusive };
        let start = match &self.passed {
            Some(row) => Bound { row, inclusive: false },
            None => Bound { row: start, inclusive: *start_inclusive },
        };
        let (lower, upper) = if *reversed { (stop, start) } else { (start, stop) };
        Bounds { lower, upper, reversed: *reversed }
    }

    /// The key before which nothing is wanted.
    fn lower(&self) -> Vec<u8> {
        match self.bounds().lower {
            Bound { row: [], .. } => Vec::new(),
            Bound { row, inclusive: true } => key::row_prefix(row),
            Bound { row, inclusive: false } => key::prefix_end(&key::row_prefix(row)),
        }
    }

    /// The key from which on nothing is wanted.
    fn upper(&self) -> End {
        match self.bounds().upper {
            Bound { row: [], .. } => FAR.into(),
            Bound { row, inclusive: true } => key::prefix_end(&key::row_prefix(row)).into(),
            Bound { row, inclusive: false } => key::row_prefix(row).into(),
        }
    }

    /// Looks at one more row; after many with what is stored then.
    fn renew(&mut self) {
        if self.looked >= SNAPSHOT_ROWS {
            self.looked = 0;
            self.snapshot = self.engine.snapshot();
            self.lanes.iter_mut().for_each(|lane| lane.cursor = None);
            self.by.iter_mut().for_each(LookUp::renew);
        }
        self.looked += 1;
    }

    /// Lends each family's cursor, which is at `lower` or behind it.
    fn open_lane(&mut self, at: usize, lower: &[u8]) -> Result<SharedCursor> {
        if let Some(cursor) = &self.lanes[at].cursor {
            return Ok(Arc::clone(cursor));
        }
        // What an index names lies here and there.
        let first = if self.by.as_ref().is_some_and(|by| !by.is_of_table()) { 16 } else { 64 };
        let cursor = Cursor::new(&self.snapshot, self.lanes[at].family.id, lower, self.upper(), first)?;
        let cursor = Arc::new(Mutex::new(cursor));
        self.lanes[at].cursor = Some(Arc::clone(&cursor));
        Ok(cursor)
    }

    /// The next row that has a stored cell.
    fn next_row(&mut self) -> Result<Option<RowKey>> {
        loop {
            self.renew();
            let row = self.next_candidate()?;
            let (Some(row), Some(by)) = (&row, &self.by) else { return Ok(row) };
            if by.gate.admits(self.engine, &self.snapshot, row)? {
                return Ok(Some(row.clone()));
            }
            self.passed = Some(row.clone());
        }
    }

    /// The next row that has a stored cell, or an entry in an index.
    fn next_candidate(&mut self) -> Result<Option<RowKey>> {
        if let Some(mut by) = self.by.take() {
            let found = by.next(self.engine, &self.snapshot, self.bounds());
            let is_of_table = self.by.insert(by).is_of_table();
            if !is_of_table {
                return found;
            }
        }
        if self.scan.reversed { self.next_reversed() } else { self.next_forward() }
    }

    fn next_forward(&mut self) -> Result<Option<RowKey>> {
        let mut least: Option<RowKey> = None;
        let lower = self.lower();
        for at in 0..self.lanes.len() {
            let cursor = self.open_lane(at, &lower)?;
            let mut cursor = cursor.lock();
            cursor.seek(&lower)?;
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
            let (lower, upper) = (self.lower(), self.upper());
            greatest = greatest.max(self.engine.last_row(&self.snapshot, lane.family.id, &lower, &upper)?);
        }
        let Some(row) = &greatest else { return Ok(None) };
        for lane in &mut self.lanes {
            let cursor = self.engine.row_cursor(&self.snapshot, lane.family.id, &key::row_prefix(row), 16)?;
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
        match self.lean.take() {
            Some(row) if self.by.is_some() => return self.step_found(row, emit),
            Some(row) => return self.step_lean(row, emit),
            None => {}
        }
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
            let prefix = key::row_prefix(row);
            let lane = lanes.iter().find(|lane| lane.family.id == family.id).and_then(|lane| lane.cursor.as_ref());
            Ok(match lane {
                Some(cursor) => SharedRow::new(cursor, prefix),
                None => {
                    SharedRow::new(&Arc::new(Mutex::new(engine.row_cursor(snapshot, family.id, &prefix, 16)?)), prefix)
                }
            })
        };
        let loader = &mut Loader(engine, snapshot);
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
