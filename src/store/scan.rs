//! Gets and scans: which rows, in which order, and their cells with their values.

use std::collections::VecDeque;

use super::cursor::{Cursor, Snapshot};
use super::engine::{Engine, family};
use super::plan::Planner;
use super::read::SNAPSHOT_ROWS;
use crate::backend::Rows;
use crate::index::{Direction, key};
use crate::model::{
    Cell, FamilyId, FamilySchema, Get, ReadSpec, RowKey, RowResult, Scan, TableSchema, TimeRange, Timestamp, check_row,
};
use crate::visibility::{FamilyReader, ReadRules, View};
use crate::{Error, ErrorKind, Result};

/// A family that is read, and where its cursor is.
struct Lane<'s> {
    schema: FamilySchema,
    cursor: Option<Cursor<'s>>,
}

/// A scan under way.
struct Scanner<'s> {
    engine: &'s Engine,
    scan: Scan,
    lanes: Vec<Lane<'s>>,
    /// Where to go on: only rows after (before, if reversed) this one.
    passed: Option<RowKey>,
    /// Rows since the snapshot was taken.
    looked: usize,
    snapshot: Snapshot,
    rows: u64,
    /// Cells of a row that go into later results.
    rest: VecDeque<Cell>,
    row: RowKey,
    ended: bool,
}

/// The families of a read, by name.
fn families<'t>(table: &'t TableSchema, read: &ReadSpec) -> Result<Vec<&'t FamilySchema>> {
    if read.max_versions == 0 {
        return Err(Error::new(ErrorKind::IllegalArgument, "maxVersions must be positive"));
    }
    if read.raw && read.columns.values().any(|qualifiers| qualifiers.is_some()) {
        return Err(Error::new(ErrorKind::Refused, "Cannot specify any column for a raw scan"));
    }
    if read.columns.is_empty() {
        return Ok(table.families.values().collect());
    }
    read.columns.keys().map(|name| family(table, name)).collect()
}

impl Engine {
    /// One row; without cells if nothing of it is visible.
    pub fn get(&self, get: &Get) -> Result<RowResult> {
        check_row(&get.row)?;
        let catalogue = self.catalogue.load();
        let table = self.table(&catalogue, &get.table)?;
        self.get_in(&self.snapshot(), table, &get.row, &get.read)
    }

    fn get_in(&self, snapshot: &Snapshot, table: &TableSchema, row: &[u8], read: &ReadSpec) -> Result<RowResult> {
        no_filter(read)?;
        let mut cells = Vec::new();
        for schema in families(table, read)? {
            let prefix = key::row_prefix(schema.id, row);
            let mut cursor = self.row_cursor(snapshot, &prefix, 16);
            self.read_family(schema, &mut cursor, prefix, read, &mut cells)?;
        }
        Ok(RowResult { row: row.to_vec(), cells })
    }

    /// Adds the visible cells of a row and family.
    fn read_family(
        &self,
        schema: &FamilySchema,
        cursor: &mut Cursor<'_>,
        prefix: Vec<u8>,
        read: &ReadSpec,
        cells: &mut Vec<Cell>,
    ) -> Result<()> {
        let rules = ReadRules {
            time_range: read.family_time_ranges.get(&schema.name).copied().unwrap_or(read.time_range),
            max_versions: read.max_versions,
            columns: read.columns.get(&schema.name).and_then(Option::as_ref),
            view: if read.raw { View::Raw } else { View::Plain },
            ..ReadRules::plain(&schema.rules, self.now())
        };
        let mut reader = FamilyReader::new(cursor.row(prefix), rules);
        for _ in 0..read.offset_per_family {
            reader.next()?;
        }
        let most = read.max_per_family.map_or(usize::MAX, |most| most as usize);
        let start = cells.len();
        while cells.len() - start < most
            && let Some(visible) = reader.next()?
        {
            let cell = visible.cell;
            let value = match cell.kind.is_put() {
                true => self.read_handle(&cell.value)?,
                false => Vec::new(),
            };
            let (qualifier, timestamp, kind, tags) = (cell.qualifier, cell.timestamp, cell.kind, cell.tags);
            cells.push(Cell { family: schema.name.clone(), qualifier, timestamp, kind, tags, value });
        }
        Ok(())
    }

    fn read_handle(&self, handle: &crate::model::ValueHandle) -> Result<Vec<u8>> {
        let len = handle.len as usize;
        match self.values.read(handle, 0, len) {
            Err(e) if e.kind == ErrorKind::NotFound => self.values.read(&self.current(handle)?, 0, len),
            other => other,
        }
    }

    /// Rows of a range, in order, with bounded memory.
    pub fn scan(&self, scan: &Scan) -> Result<Rows<'_>> {
        no_filter(&scan.read)?;
        let catalogue = self.catalogue.load();
        let table = self.table(&catalogue, &scan.table)?;
        let lanes = families(table, &scan.read)?;
        let lanes = lanes.into_iter().map(|schema| Lane { schema: schema.clone(), cursor: None }).collect();
        Ok(Box::new(Scanner {
            engine: self,
            scan: scan.clone(),
            lanes,
            passed: None,
            looked: SNAPSHOT_ROWS,
            snapshot: self.snapshot(),
            rows: 0,
            rest: VecDeque::new(),
            row: RowKey::new(),
            ended: false,
        }))
    }

    /// `Some` if the row, read through the filter, is not empty: the least timestamp of later puts.
    pub fn filter_holds(&self, planner: &Planner<'_>, filter: &str, range: TimeRange) -> Result<Option<Timestamp>> {
        let read = ReadSpec { filter: Some(filter.to_owned()), time_range: range, ..ReadSpec::default() };
        let result = self.get_in(&planner.snapshot, planner.table, planner.row, &read)?;
        Ok((!result.cells.is_empty()).then_some(Timestamp::ZERO))
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

fn no_filter(read: &ReadSpec) -> Result<()> {
    match &read.filter {
        Some(_) => Err(Error::new(ErrorKind::Unsupported, "filters are not served by this store")),
        None => Ok(()),
    }
}

impl<'s> Scanner<'s> {
    /// Keys of a family before which nothing is wanted.
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

    /// Keys of a family from which on nothing is wanted.
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
            let id = self.lanes[at].schema.id;
            let (lower, upper) = (self.lower(id), self.upper(id));
            let lane = &mut self.lanes[at];
            let engine = self.engine;
            let snapshot = &self.snapshot;
            let cursor = lane.cursor.get_or_insert_with(|| Cursor::new(&engine.index, snapshot, &lower, upper, 64));
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
            let (lower, upper) = (self.lower(lane.schema.id), self.upper(lane.schema.id));
            greatest = greatest.max(self.engine.last_row(&self.snapshot, &lower, &upper)?);
        }
        let Some(row) = &greatest else { return Ok(None) };
        for lane in &mut self.lanes {
            let prefix = key::row_prefix(lane.schema.id, row);
            lane.cursor = Some(self.engine.row_cursor(&self.snapshot, &prefix, 16));
        }
        Ok(greatest)
    }

    /// The cells of the next row that has any; `None` at the end.
    fn advance(&mut self) -> Result<bool> {
        loop {
            if self.scan.limit.is_some_and(|limit| self.rows >= limit) {
                return Ok(false);
            }
            let Some(row) = self.next_row()? else { return Ok(false) };
            let mut cells = Vec::new();
            for lane in &mut self.lanes {
                if let Some(cursor) = &mut lane.cursor {
                    let prefix = key::row_prefix(lane.schema.id, &row);
                    self.engine.read_family(&lane.schema, cursor, prefix, &self.scan.read, &mut cells)?;
                }
            }
            self.passed = Some(row.clone());
            if !cells.is_empty() {
                self.rows += 1;
                self.row = row;
                self.rest = cells.into();
                return Ok(true);
            }
        }
    }
}

impl Iterator for Scanner<'_> {
    type Item = Result<RowResult>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        if self.rest.is_empty() {
            match self.advance() {
                Ok(true) => {}
                Ok(false) => {
                    self.ended = true;
                    return None;
                }
                Err(e) => {
                    self.ended = true;
                    return Some(Err(e));
                }
            }
        }
        let size = self.scan.batch.map_or(usize::MAX, |batch| batch.max(1) as usize).min(self.rest.len());
        let cells = self.rest.drain(..size).collect();
        Some(Ok(RowResult { row: self.row.clone(), cells }))
    }
}
