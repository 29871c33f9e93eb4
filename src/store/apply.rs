//! Mutations of a row: the lock, the condition, the plan, the commit.

use std::sync::atomic::Ordering;

use rustc_hash::FxHashMap;

use super::engine::{Engine, family};
use super::memtable::MemCell;
use super::plan::{Planned, Planner};
use crate::backend::{Event, Versions};
use crate::index::key;
use crate::model::{
    CellInfo, CellKind, ColumnKey, Condition, Durability, Generation, Mutated, Mutation, Origin, RowMutations, SeqNo,
    StoredCell, TableSchema, Timestamp, Value, ValueHandle, check_row,
};
use crate::query::condition_holds;
use crate::visibility::{self, VisibleCell};
use crate::wal::{Appended, NewCell, Prepared, prepare};
use crate::{Error, ErrorKind, Result};

/// Columns of a batch that are told one by one.
const EVENTS: usize = 64;

/// Bytes that a cell takes beside its value in log and index, about.
const CELL: u64 = 300;

/// A cell of a batch and the row it belongs to.
pub struct RowCell<'a> {
    pub row: &'a [u8],
    pub cell: Planned<'a>,
}

impl Engine {
    /// Applies the mutations of one row atomically if the condition holds.
    pub fn mutate(&self, mutations: RowMutations, condition: Option<Condition>) -> Result<Mutated> {
        let RowMutations { table: name, row, mutations, durability, origin } = mutations;
        check_row(&row)?;
        self.log.check_poison()?;
        self.make_room(!mutations.iter().all(|mutation| matches!(mutation, Mutation::Delete(_))))?;
        let declared = self.declaring.read();
        let catalogue = self.catalogue.load();
        let table = self.table(&catalogue, &name)?;
        if !mutations.iter().all(|mutation| matches!(mutation, Mutation::Restore(_))) {
            self.writable(table)?;
        }
        let lock = self.lock_row(table, &row);
        let snapshot = self.snapshot();
        let now = self.now();
        let mut planner = Planner { engine: self, snapshot, table, row: &row, now, least: Timestamp::ZERO };
        if let Some(condition) = &condition {
            match self.holds(&planner, condition)? {
                None => return Ok(Mutated { applied: false, results: Vec::new(), written: Vec::new() }),
                Some(least) => planner.least = least,
            }
        }
        let mut plan = planner.plan(mutations)?;
        plan.results.sort_by(|a, b| (&a.family, &a.qualifier).cmp(&(&b.family, &b.qualifier)));
        let mut events = events_of(table, &row, &plan.cells, origin);
        events.extend(self.first_ttl(table, &plan.cells));
        let cells = plan.cells.into_iter().map(|cell| RowCell { row: &row, cell }).collect();
        let (seq, written) = self.commit(cells)?;
        drop((lock, declared));
        self.settle(seq, durability.unwrap_or_else(|| self.durability(table)))?;
        self.announce(&events);
        Ok(Mutated { applied: true, results: plan.results, written })
    }

    /// Refuses a table that takes no writes.
    pub fn writable<'t>(&self, table: &'t TableSchema) -> Result<&'t TableSchema> {
        if table.read_only() {
            let text = format!("table {}: region is read only (READONLY is true); alter it to write", table.name);
            return Err(Error::new(ErrorKind::ReadOnlyTable, text));
        }
        Ok(table)
    }

    /// What a table asks for, or what the store was opened with.
    pub fn durability(&self, table: &TableSchema) -> Durability {
        table.durability().unwrap_or(self.options.durability)
    }

    /// Waits as the durability asks.
    pub fn settle(&self, seq: SeqNo, durability: Durability) -> Result<()> {
        if durability == Durability::FsyncWal { self.log.sync_to(seq) } else { Ok(()) }
    }

    /// `Some` if the condition holds: the timestamp of the cell that was checked.
    fn holds(&self, planner: &Planner<'_>, condition: &Condition) -> Result<Option<Timestamp>> {
        match condition {
            Condition::Column { family: name, qualifier, op, value, time_range } => {
                let family = family(planner.table, name)?;
                let stored = self.newest_in(&planner.snapshot, family, planner.row, qualifier, *time_range)?;
                let least = stored.as_ref().map_or(Timestamp::ZERO, |cell| cell.timestamp);
                let stored = match &stored {
                    Some(cell) => Some(self.read_value(cell, 0, cell.value.len as usize)?),
                    None => None,
                };
                Ok(condition_holds(*op, value.as_deref(), stored.as_deref()).then_some(least))
            }
            Condition::Filter { filter, time_range } => self.filter_holds(planner, filter, *time_range),
            Condition::NoneAfter { family: name, qualifier, seq } => {
                let family = family(planner.table, name)?;
                let (column, which) = ((planner.row, qualifier), Versions::LiveAndKept);
                let mut later = false;
                self.visit_versions(&planner.snapshot, family, column, which, |visible| {
                    later = visible.cell.seq > *seq;
                    !later
                })?;
                Ok((!later).then_some(Timestamp::ZERO))
            }
        }
    }

    /// Writes a batch: log, then memtable, then visible. The caller holds the locks of its rows. The infos
    /// are those of the puts, in the order given.
    pub fn commit(&self, cells: Vec<RowCell<'_>>) -> Result<(SeqNo, Vec<CellInfo>)> {
        let (cells, places) = without_repeats(cells);
        let mut batch = Vec::with_capacity(cells.len());
        let mut keys = Vec::with_capacity(cells.len());
        let mut shared = Vec::new();
        for RowCell { row, cell } in cells {
            let value = self.prepare(cell.value, &cell.kind, cell.family.rules.compression, &mut shared)?;
            let Planned { family, qualifier, timestamp, kind, tags, .. } = cell;
            keys.push(key::cell_key(family.id, row, &qualifier, timestamp, kind, SeqNo(0)));
            batch.push((NewCell { row, family: family.id, qualifier, timestamp, kind, tags, value }, &family.rules));
        }
        let (cells, rules): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        let mut handles = Vec::new();
        let mut publish = |appended: &Appended| {
            let tables = self.tables.load();
            for ((cell, mut key), (handle, offset)) in cells.iter().zip(keys.drain(..)).zip(&appended.cells) {
                key::set_seq(&mut key, cell.kind, appended.seq);
                let own = (handle.segment, handle.offset) != (appended.segment, *offset);
                let own = own.then_some((appended.segment, *offset));
                self.note_cell(cell);
                tables.active.insert(key, MemCell::new(*handle, &cell.tags, own));
                handles.push(*handle);
            }
            self.read_point.store(appended.seq.0, Ordering::Release);
        };
        // What adds no bytes of values is what makes room in the end.
        let bytes: u64 = cells.iter().map(|cell| cell.value.stored_len()).sum();
        let frees = bytes == 0;
        let appended = match frees {
            true => {
                self.check_deletes().and_then(|()| self.delete_with_reserve(|| self.log.append(&cells, &mut publish)))
            }
            false => self.check_reserve(bytes).and_then(|()| self.log.append(&cells, &mut publish)),
        };
        let seq = appended.inspect_err(|_| self.unshare(&shared))?;
        let tombstones = cells.iter().filter(|cell| !cell.kind.is_put()).count() as u64;
        self.disk.note_written(bytes + CELL * cells.len() as u64, tombstones);
        let now = self.now();
        let info = |at: usize| version_info(&cells[at], handles[at], seq, rules[at], now);
        Ok((seq, places.into_iter().filter(|&at| cells[at].kind.is_put()).map(info).collect()))
    }

    fn unshare(&self, shared: &[crate::model::SegmentId]) {
        for id in shared {
            if let Some(segment) = self.log.segments().get(*id) {
                segment.remove_shares(1);
            }
        }
    }

    fn prepare(
        &self,
        value: Value,
        kind: &CellKind,
        compression: crate::model::Compression,
        shared: &mut Vec<crate::model::SegmentId>,
    ) -> Result<Prepared> {
        if !kind.is_put() {
            return Ok(Prepared::none());
        }
        match value {
            Value::Bytes(bytes) => Ok(Prepared::bytes(bytes, compression)),
            Value::Spilled { file, len } => prepare(file, len, compression),
            Value::Shared(cell) => {
                let handle = self.current(&cell.value)?;
                if let Some(segment) = self.log.segments().get(handle.segment) {
                    // Order: counted first, so that a compaction that looks now leaves the segment alone.
                    segment.add_share();
                    if !segment.retiring() {
                        shared.push(handle.segment);
                        return Ok(Prepared::shared(handle));
                    }
                    segment.remove_shares(1);
                }
                let bytes = self.values.read(&handle, 0, handle.len as usize)?;
                Ok(Prepared::bytes(bytes, compression))
            }
        }
    }

    /// At most `len` bytes from `offset` of a version's value.
    pub fn read_value(&self, cell: &CellInfo, offset: u64, len: usize) -> Result<Vec<u8>> {
        match self.values.read(&cell.value, offset, len) {
            Err(e) if e.kind == ErrorKind::NotFound => {
                let handle = self.current(&cell.value)?;
                self.values.read(&handle, offset, len)
            }
            other => other,
        }
    }
}

/// Of cells with equal keys the last one stays; for each cell given, where it or its successor is.
fn without_repeats(cells: Vec<RowCell<'_>>) -> (Vec<RowCell<'_>>, Vec<usize>) {
    if cells.len() < 2 {
        let places = (0..cells.len()).collect();
        return (cells, places);
    }
    let mut seen: FxHashMap<Vec<u8>, usize> = FxHashMap::default();
    let mut kept: Vec<RowCell<'_>> = Vec::with_capacity(cells.len());
    let mut places = Vec::with_capacity(cells.len());
    for one in cells {
        let Planned { family, qualifier, timestamp, kind, .. } = &one.cell;
        let key = key::cell_key(family.id, one.row, qualifier, *timestamp, *kind, SeqNo(0));
        let at = *seen.entry(key).or_insert(kept.len());
        places.push(at);
        if at == kept.len() {
            kept.push(one);
        } else {
            kept[at] = one;
        }
    }
    (kept, places)
}

fn version_info(
    cell: &NewCell<'_>,
    value: ValueHandle,
    seq: SeqNo,
    rules: &crate::model::FamilyRules,
    now: Timestamp,
) -> CellInfo {
    let cell = StoredCell {
        qualifier: Vec::new(),
        timestamp: cell.timestamp,
        kind: cell.kind,
        seq,
        generation: Generation(0),
        tags: cell.tags.clone(),
        value,
        own: None,
    };
    visibility::version_info(VisibleCell::live(cell), rules, now)
}

/// What subscribers are told of a row's cells.
pub fn events_of(table: &TableSchema, row: &[u8], cells: &[Planned<'_>], origin: Origin) -> Vec<Event> {
    let whole = |family: Option<String>| Event::Row { table: table.name.clone(), row: row.to_vec(), family, origin };
    if cells.len() > EVENTS {
        return vec![whole(None)];
    }
    let mut events: Vec<Event> = Vec::with_capacity(cells.len());
    for cell in cells {
        let event = if cell.kind.is_family_tombstone() {
            whole(Some(cell.family.name.clone()))
        } else {
            let (family, qualifier) = (cell.family.name.clone(), cell.qualifier.clone());
            let column = ColumnKey { table: table.name.clone(), row: row.to_vec(), family, qualifier };
            Event::Column { column, origin }
        };
        if !events.contains(&event) {
            events.push(event);
        }
    }
    events
}
