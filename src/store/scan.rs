//! Scans: which rows, in which order. What of a row is in the answer is `query`'s.

mod lean_steps;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::Result;
use crate::backend::Rows;
use crate::env::sync::Mutex;
use crate::format::key;
use crate::model::{FamilySchema, Results, RowKey, RowResult, Scan, TakePiece};
use crate::query::{RowKeyVerdict, RowQuery, RowRequest, Step};
use crate::store::cursor::row_cells::{SharedCursor, SharedRow};
use crate::store::cursor::view::ReadView;
use crate::store::cursor::walk::{Cursor, End};
use crate::store::engine::Engine;
use crate::store::layout::far::FAR;
use crate::store::read::get::{Loader, last_row};
use crate::store::read::lean::LeanRow;
use crate::store::read::point::VIEW_ROWS;
use crate::store::secondary::lookup::{Bound, Bounds, LookUp};

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
    /// Rows since the view was taken.
    looked: usize,
    view: ReadView,
    ready: VecDeque<RowResult>,
    ended: bool,
}

/// Rows of a range, in order; holds one of them at a time.
pub fn scan<'e>(engine: &'e Engine, scan: &Scan) -> Result<Rows<'e>> {
    Ok(Box::new(scanner(engine, scan)?))
}

/// Rows of a range, in order, piece by piece: neither a wide row nor a long value is held.
pub fn scan_pieces(engine: &Engine, scan: &Scan, take: TakePiece<'_>) -> Result<()> {
    let mut scanner = scanner(engine, scan)?;
    while !scanner.ended {
        scanner.step(take)?;
    }
    Ok(())
}

fn scanner<'e>(engine: &'e Engine, scan: &Scan) -> Result<Scanner<'e>> {
    let catalogue = engine.catalogue.load();
    let table = engine.table(&catalogue, &scan.table)?;
    let query = RowQuery::scan(scan, table, engine.now())?;
    let by = LookUp::new(table, scan)?;
    let mut scan = scan.clone();
    if let Some(hint) = query.start_hint() {
        skip_to(&mut scan, hint);
    }
    let lanes = query.families().map(|schema| Lane { family: schema.clone(), cursor: None }).collect();
    let view = engine.view();
    view.check_doubt()?;
    Ok(Scanner {
        engine,
        scan,
        lean: LeanRow::of(&query),
        by,
        query,
        lanes,
        passed: None,
        looked: VIEW_ROWS,
        view,
        ready: VecDeque::new(),
        ended: false,
    })
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
        if self.looked >= VIEW_ROWS {
            self.looked = 0;
            self.view = self.engine.view();
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
        let cursor = Cursor::new(&self.view, self.lanes[at].family.id, lower, self.upper(), first)?;
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
            if by.gate.admits(self.engine, &self.view, row)? {
                return Ok(Some(row.clone()));
            }
            self.passed = Some(row.clone());
        }
    }

    /// The next row that has a stored cell, or an entry in an index.
    fn next_candidate(&mut self) -> Result<Option<RowKey>> {
        if let Some(mut by) = self.by.take() {
            let found = by.next(&self.view, self.bounds());
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
            greatest = greatest.max(last_row(&self.view, lane.family.id, &lower, &upper)?);
        }
        let Some(row) = &greatest else { return Ok(None) };
        for lane in &mut self.lanes {
            let cursor = self.engine.row_cursor(&self.view, lane.family.id, &key::row_prefix(row), 16)?;
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
        let (engine, view) = (self.engine, &self.view);
        let mut open = |family: &FamilySchema| {
            let prefix = key::row_prefix(row);
            let lane = lanes.iter().find(|lane| lane.family.id == family.id).and_then(|lane| lane.cursor.as_ref());
            Ok(match lane {
                Some(cursor) => SharedRow::new(cursor, prefix),
                None => SharedRow::new(&Arc::new(Mutex::new(engine.row_cursor(view, family.id, &prefix, 16)?)), prefix),
            })
        };
        let loader = &mut Loader(engine, view);
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
