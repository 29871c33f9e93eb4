//! The simplest store that is right: all cells in a list, each with the number of the flush it came
//! with; reads and compactions go through the pure rules.

use std::collections::BTreeSet;

use cellfs::backend::CompactionKind;
use cellfs::model::{
    Append, Cell, CellInfo, CellKind, ColumnDelta, Condition, DeleteKind, DeleteMarker, FamilySchema, Generation, Get,
    Increment, Mutated, Mutation, PutCell, ReadSpec, Results, RowMutations, RowResult, Scan, SeqNo, StoredCell,
    TableSchema, Tags, Time, TimeRange, Timestamp, Tombstone, Value, ValueRef,
};
use cellfs::query::{RowKeyVerdict, RowQuery, RowRequest, Step, ValueLoader, condition_holds};
use cellfs::visibility::{FlushMatcher, SliceSource, Verdict, major_compaction};
use cellfs::{Error, ErrorKind, Result};

use crate::subject::Subject;

const SLOP: &str = "hbase.hregion.keyvalue.timestamp.slop.millisecs";

#[derive(Clone)]
struct Place {
    row: Vec<u8>,
    family: String,
    cell: StoredCell,
}

/// An in-memory store with one table.
pub struct Reference {
    table: TableSchema,
    now: Timestamp,
    seq: u64,
    cells: Vec<Place>,
    values: Values,
}

struct Values;

impl ValueLoader for Values {
    fn load(&mut self, cell: &StoredCell) -> Result<Vec<u8>> {
        self.load_part(cell, 0, usize::MAX)
    }

    fn load_part(&mut self, cell: &StoredCell, offset: u64, len: usize) -> Result<Vec<u8>> {
        let ValueRef::Here(bytes) = &cell.value else { unreachable!("the reference holds all values in memory") };
        Ok(bytes.iter().copied().skip(offset as usize).take(len).collect())
    }
}

impl Values {
    fn add(&mut self, bytes: Vec<u8>) -> ValueRef {
        ValueRef::Here(bytes.into())
    }
}

impl Reference {
    pub fn new(table: TableSchema) -> Self {
        Self { table, now: Timestamp(1_700_000_000_000), seq: 0, cells: Vec::new(), values: Values }
    }

    fn family(&self, name: &str) -> Result<&FamilySchema> {
        let missing = || Error::new(ErrorKind::NoSuchFamily, format!("no family {name}"));
        self.table.families.get(name).ok_or_else(missing)
    }

    fn rows(&self, families: &BTreeSet<String>) -> BTreeSet<Vec<u8>> {
        self.cells.iter().filter(|p| families.contains(&p.family)).map(|p| p.row.clone()).collect()
    }

    fn stored(&self, row: &[u8], family: &str) -> Vec<StoredCell> {
        self.cells.iter().filter(|p| p.row == row && p.family == family).map(|p| p.cell.clone()).collect()
    }

    fn run(&mut self, mut query: RowQuery, rows: Vec<Vec<u8>>) -> Result<Vec<RowResult>> {
        let mut results = Vec::new();
        for row in rows {
            match query.enter(&row) {
                RowKeyVerdict::Stop => break,
                RowKeyVerdict::Skip => continue,
                RowKeyVerdict::Read => {}
            }
            let names: Vec<String> = self.table.families.keys().cloned().collect();
            let cells: Vec<Vec<StoredCell>> = names.iter().map(|f| self.stored(&row, f)).collect();
            let mut open = |family: &FamilySchema| {
                let at = names.iter().position(|n| *n == family.name).unwrap();
                Ok(SliceSource::new(&cells[at]))
            };
            let mut whole = Results::default();
            let mut emit = |piece: &cellfs::model::Piece| {
                results.extend(whole.take(piece));
                Ok(())
            };
            let request = RowRequest { row: &row, open: &mut open, loader: &mut self.values, emit: &mut emit };
            if query.read_row(request)? == Step::Stop {
                break;
            }
        }
        Ok(results)
    }

    fn read(&mut self, row: &[u8], read: &ReadSpec) -> Result<Vec<Cell>> {
        let query = RowQuery::get(read, &self.table, self.now)?;
        let families = query.families().map(|f| f.name.clone()).collect();
        let rows = self.rows(&families).into_iter().filter(|r| r == row).collect();
        Ok(self.run(query, rows)?.into_iter().flat_map(|r| r.cells).collect())
    }

    fn column(
        &mut self,
        row: &[u8],
        family: &str,
        qualifier: &[u8],
        range: TimeRange,
        versions: u32,
    ) -> Result<Vec<Cell>> {
        let mut read = ReadSpec { time_range: range, max_versions: versions, ..ReadSpec::default() };
        read.columns.insert(family.to_owned(), Some(BTreeSet::from([qualifier.to_vec()])));
        self.read(row, &read)
    }

    fn check(&mut self, row: &[u8], condition: &Condition) -> Result<Option<Timestamp>> {
        match condition {
            Condition::Column { family, qualifier, op, value, time_range } => {
                let found = self.column(row, family, qualifier, *time_range, 1)?;
                let stored = found.first().map(|c| c.value.as_slice());
                let holds = condition_holds(*op, value.as_deref(), stored);
                Ok(holds.then(|| found.first().map_or(Timestamp::ZERO, |c| c.timestamp)))
            }
            Condition::Filter { filter, time_range } => {
                let read = ReadSpec { filter: Some(filter.clone()), time_range: *time_range, ..ReadSpec::default() };
                Ok((!self.read(row, &read)?.is_empty()).then_some(Timestamp::ZERO))
            }
            // HBase has no such conditions: the histories do not ask them.
            Condition::NoneAfter { .. } | Condition::Newest { .. } => {
                Err(Error::new(ErrorKind::Unsupported, "a condition of ours"))
            }
        }
    }

    fn check_time(&self, time: Time) -> Result<()> {
        let slop: Option<i64> = self.table.configuration.get(SLOP).and_then(|s| s.parse().ok());
        match (time, slop) {
            (Time::At(t), Some(slop)) if t.0 > self.now.0 + slop => {
                Err(Error::new(ErrorKind::FailedSanityCheck, format!("timestamp {t} is too far in the future")))
            }
            _ => Ok(()),
        }
    }

    fn time(&self, time: Time, at_least: Timestamp) -> Timestamp {
        match time {
            Time::At(t) => t,
            _ => self.now.max(at_least),
        }
    }

    fn put(&mut self, row: &[u8], put: PutCell, at_least: Timestamp, batch: &mut Vec<Place>) -> Result<()> {
        self.family(&put.family)?;
        self.check_time(put.time)?;
        let Value::Bytes(bytes) = put.value else { panic!("only plain bytes") };
        let timestamp = self.time(put.time, at_least);
        let written_at = put.ended_at.map(|_| self.now);
        let tags =
            Tags { ttl_ms: put.ttl_ms, file: put.file.clone(), ended_at: put.ended_at, written_at, ..Tags::default() };
        self.add(batch, row, &put.family, put.qualifier, timestamp, CellKind::Put, tags, bytes);
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    fn add(
        &mut self,
        batch: &mut Vec<Place>,
        row: &[u8],
        family: &str,
        qualifier: Vec<u8>,
        timestamp: Timestamp,
        kind: CellKind,
        tags: Tags,
        value: Vec<u8>,
    ) {
        let value = self.values.add(value);
        let seq = SeqNo(self.seq);
        let cell = StoredCell { qualifier, timestamp, kind, seq, generation: Generation(0), tags, value, ordinal: 0 };
        let same = |p: &Place| {
            p.family == family
                && p.cell.qualifier == cell.qualifier
                && p.cell.timestamp == timestamp
                && p.cell.kind == kind
        };
        batch.retain(|p| !same(p));
        batch.push(Place { row: row.to_vec(), family: family.to_owned(), cell });
    }

    fn delete(&mut self, row: &[u8], markers: Vec<DeleteMarker>, batch: &mut Vec<Place>) -> Result<()> {
        let mut versions_asked: Vec<(String, Vec<u8>)> = Vec::new();
        for marker in markers {
            let mut timestamp = self.time(marker.time, Timestamp::ZERO);
            let (families, qualifier, kind) = match marker.kind {
                DeleteKind::Version { family, qualifier } => {
                    if marker.time == Time::Now {
                        versions_asked.push((family.clone(), qualifier.clone()));
                        let n = versions_asked.iter().filter(|a| a.0 == family && a.1 == qualifier).count();
                        let found = self.column(row, &family, &qualifier, TimeRange::ALL, n as u32)?;
                        timestamp = found.get(n - 1).map_or(timestamp, |c| c.timestamp);
                    }
                    (vec![family], qualifier, Tombstone::Version)
                }
                DeleteKind::Column { family, qualifier } => (vec![family], qualifier, Tombstone::Column),
                DeleteKind::Family { family } => (vec![family], Vec::new(), Tombstone::Family),
                DeleteKind::FamilyVersion { family } => (vec![family], Vec::new(), Tombstone::FamilyVersion),
                DeleteKind::Row => (self.table.families.keys().cloned().collect(), Vec::new(), Tombstone::Family),
            };
            for family in families {
                self.family(&family)?;
                let tags = Tags { written_at: Some(self.now), erases: marker.erases, ..Tags::default() };
                self.add(
                    batch,
                    row,
                    &family,
                    qualifier.clone(),
                    timestamp,
                    CellKind::Tombstone(kind),
                    tags,
                    Vec::new(),
                );
            }
        }
        Ok(())
    }

    /// Reads the old cell of a column and writes the new one.
    fn change<T: Clone>(
        &mut self,
        row: &[u8],
        columns: &[ColumnDelta<T>],
        (time, ttl_ms, range): (Time, Option<u64>, TimeRange),
        new_value: impl Fn(Option<&[u8]>, &T) -> Result<Vec<u8>>,
        batch: &mut Vec<Place>,
    ) -> Result<Vec<Cell>> {
        let mut results: Vec<Cell> = Vec::new();
        for column in columns {
            self.family(&column.family)?;
            let old = self.column(row, &column.family, &column.qualifier, range, 1)?.into_iter().next();
            let value = new_value(old.as_ref().map(|c| c.value.as_slice()), &column.delta)?;
            let timestamp = match &old {
                Some(old) => self.now.max(old.timestamp.next()),
                None => self.time(time, Timestamp::ZERO),
            };
            let mut tags = old.map(|c| c.tags).unwrap_or_default();
            tags.ttl_ms = ttl_ms.or(tags.ttl_ms);
            let (family, qualifier) = (column.family.clone(), column.qualifier.clone());
            self.add(batch, row, &family, qualifier.clone(), timestamp, CellKind::Put, tags.clone(), value.clone());
            results.retain(|c| (&c.family, &c.qualifier) != (&family, &qualifier));
            results.push(Cell { family, qualifier, timestamp, kind: CellKind::Put, tags, value });
        }
        results.sort_by(|a, b| (&a.family, &a.qualifier).cmp(&(&b.family, &b.qualifier)));
        Ok(results)
    }

    fn apply(&mut self, mutations: RowMutations, at_least: Timestamp) -> Result<Mutated> {
        self.seq += 1;
        let mut batch = Vec::new();
        let mut results = Vec::new();
        let row = mutations.row;
        for mutation in mutations.mutations {
            match mutation {
                Mutation::Put(cells) => {
                    for cell in cells {
                        self.put(&row, cell, at_least, &mut batch)?;
                    }
                }
                Mutation::Restore(cell) => self.put(&row, *cell, at_least, &mut batch)?,
                Mutation::Delete(markers) => self.delete(&row, markers, &mut batch)?,
                Mutation::Increment(Increment { columns, time, ttl_ms, time_range, .. }) => {
                    results.extend(self.change(&row, &columns, (time, ttl_ms, time_range), incremented, &mut batch)?);
                }
                Mutation::Append(Append { columns, time, ttl_ms, time_range, .. }) => {
                    let appended = |old: Option<&[u8]>, more: &Vec<u8>| Ok([old.unwrap_or_default(), more].concat());
                    results.extend(self.change(&row, &columns, (time, ttl_ms, time_range), appended, &mut batch)?);
                }
            }
        }
        let written = batch.iter().filter(|p| p.cell.kind.is_put()).map(|p| written(&p.cell)).collect();
        self.cells.extend(batch);
        self.sort();
        Ok(Mutated { applied: true, results, written })
    }

    fn sort(&mut self) {
        self.cells.sort_by(|a, b| {
            let by_key = (&a.row, &a.family, &a.cell.qualifier).cmp(&(&b.row, &b.family, &b.cell.qualifier));
            let newest_first = |c: &StoredCell| std::cmp::Reverse((c.timestamp, c.kind.code(), c.seq));
            by_key.then_with(|| newest_first(&a.cell).cmp(&newest_first(&b.cell)))
        });
    }

    fn generations(&self, family: &str) -> Vec<Generation> {
        let all: BTreeSet<Generation> =
            self.cells.iter().filter(|p| p.family == family).map(|p| p.cell.generation).collect();
        all.into_iter().filter(|g| g.0 > 0).collect()
    }

    /// Runs a flush or minor compaction over some generations of a family; survivors get the number `into`.
    fn rewrite(&mut self, family: &FamilySchema, from: &[Generation], into: Generation) {
        let now = self.now;
        let mut last_row: Option<Vec<u8>> = None;
        let mut matcher = FlushMatcher::new(&family.rules, now);
        self.cells.retain_mut(|place| {
            if place.family != family.name || !from.contains(&place.cell.generation) {
                return true;
            }
            if last_row.as_ref() != Some(&place.row) {
                matcher = FlushMatcher::new(&family.rules, now);
                last_row = Some(place.row.clone());
            }
            let keeps = matcher.judge(&place.cell) == Verdict::Keep;
            place.cell.generation = into;
            keeps
        });
    }

    fn major(&mut self, family: &FamilySchema) -> Result<()> {
        let flushed = |p: &&Place| p.family == family.name && p.cell.generation.0 > 0;
        let puts = self.cells.iter().filter(flushed).filter(|p| p.cell.kind.is_put());
        let earliest_put = puts.map(|p| p.cell.timestamp).min().unwrap_or(Timestamp(i64::MAX));
        let newest = self.generations(&family.name).last().copied().unwrap_or_default();
        for row in self.rows(&BTreeSet::from([family.name.clone()])) {
            let cells = self.stored(&row, &family.name);
            let mut dropped = Vec::new();
            major_compaction(&family.rules, self.now, earliest_put, cells.into_iter().map(Ok), |cell| {
                dropped.push(cell);
                Ok(())
            })?;
            self.cells.retain(|p| p.family != family.name || p.row != row || !dropped.contains(&p.cell));
        }
        for place in &mut self.cells {
            if place.family == family.name && place.cell.generation.0 > 0 {
                place.cell.generation = newest;
            }
        }
        Ok(())
    }

    fn merge(&mut self, family: &FamilySchema, files: Option<usize>) -> Result<()> {
        let generations = self.generations(&family.name);
        let count = files.unwrap_or(generations.len().saturating_sub(1).min(3)).min(generations.len());
        if count < 2 {
            return Ok(());
        }
        if count == generations.len() {
            return self.major(family);
        }
        let chosen = generations[generations.len() - count..].to_vec();
        self.rewrite(family, &chosen, chosen[count - 1]);
        Ok(())
    }
}

impl Subject for Reference {
    fn set_now(&mut self, now: Timestamp) {
        self.now = now;
    }

    fn mutate(&mut self, mutations: RowMutations, condition: Option<Condition>) -> Result<Mutated> {
        let matched = match &condition {
            Some(condition) => self.check(&mutations.row, condition)?,
            None => Some(Timestamp::ZERO),
        };
        match matched {
            Some(matched) => self.apply(mutations, matched),
            None => Ok(Mutated { applied: false, results: Vec::new(), written: Vec::new() }),
        }
    }

    fn get(&mut self, get: &Get) -> Result<RowResult> {
        Ok(RowResult { row: get.row.clone(), cells: self.read(&get.row, &get.read)? })
    }

    fn scan(&mut self, scan: &Scan) -> Result<Vec<RowResult>> {
        let query = RowQuery::scan(scan, &self.table, self.now)?;
        let families = query.families().map(|f| f.name.clone()).collect();
        let mut rows: Vec<Vec<u8>> = self.rows(&families).into_iter().filter(|r| in_range(scan, r)).collect();
        if scan.reversed {
            rows.reverse();
        }
        self.run(query, rows)
    }

    fn flush(&mut self) -> Result<()> {
        let next = Generation(self.cells.iter().map(|p| p.cell.generation.0).max().unwrap_or(0) + 1);
        for family in self.table.families.clone().values() {
            self.rewrite(family, &[Generation(0)], next);
        }
        Ok(())
    }

    fn compact(&mut self, family: Option<&str>, kind: CompactionKind) -> Result<()> {
        for schema in self.table.families.clone().values().filter(|f| family.is_none_or(|name| name == f.name)) {
            match kind {
                CompactionKind::Minor => self.merge(schema, None)?,
                CompactionKind::Major => self.major(schema)?,
            }
        }
        Ok(())
    }

    fn compact_files(&mut self, files: Option<usize>) -> Result<()> {
        self.table.families.clone().values().try_for_each(|family| self.merge(family, files))
    }
}

fn incremented(old: Option<&[u8]>, amount: &i64) -> Result<Vec<u8>> {
    let old = match old {
        None => 0,
        Some(bytes) => i64::from_be_bytes(bytes.try_into().map_err(|_| {
            Error::new(ErrorKind::Refused, format!("Field is not a long, it's {} bytes wide", bytes.len()))
        })?),
    };
    Ok(old.wrapping_add(*amount).to_be_bytes().to_vec())
}

fn written(cell: &StoredCell) -> CellInfo {
    CellInfo {
        timestamp: cell.timestamp,
        seq: cell.seq,
        tags: cell.tags.clone(),
        value: cell.value.clone(),
        deleted_at: None,
        hidden_from: None,
        expires_at: None,
    }
}

fn in_range(scan: &Scan, row: &[u8]) -> bool {
    let (low, low_in, high, high_in) = if scan.reversed {
        (&scan.stop, scan.stop_inclusive, &scan.start, scan.start_inclusive)
    } else {
        (&scan.start, scan.start_inclusive, &scan.stop, scan.stop_inclusive)
    };
    let above = low.is_empty() || row > low.as_slice() || low_in && row == low.as_slice();
    let below = high.is_empty() || row < high.as_slice() || high_in && row == high.as_slice();
    above && below
}
