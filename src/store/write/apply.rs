//! Mutations of a row: the lock, the condition, the plan, the commit.

use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::backend::{Event, Versions};
use crate::blob::Root;
use crate::format::Codec;
use crate::model::{
    CellInfo, CellKind, ColumnKey, Condition, Durability, Mutated, Mutation, Origin, PutCell, RowMutations, SeqNo,
    TableSchema, TimeRange, Timestamp, Value, ValueRef, Written, check_row, check_value_len,
};
use crate::query::condition_holds;
use crate::store::engine::values::INLINE;
use crate::store::engine::{Engine, family};
use crate::store::plan::batch::{Prepared, Ready, RowCell, Writing, without_repeats};
use crate::store::plan::planned::Planned;
use crate::store::plan::planner::{Lazily, Planner};
use crate::store::secondary::constraint::Judged;
use crate::store::secondary::entry::Entry;
use crate::{Error, ErrorKind, Result};

/// Bytes of a spilled value that are read at once.
const PIECE: usize = 1 << 20;
/// Columns of a batch that are told one by one.
const EVENTS: usize = 64;

/// Bytes that a cell takes beside its value in log and index, about.
const CELL: u64 = 300;

impl Engine {
    /// Applies the mutations of one row atomically if the condition holds.
    pub fn mutate(&self, mutations: RowMutations, condition: Option<Condition>) -> Result<Mutated> {
        let RowMutations { table: name, row, mut mutations, durability, origin } = mutations;
        check_row(&row)?;
        self.log.check_poison()?;
        self.make_room(!mutations.iter().all(|mutation| matches!(mutation, Mutation::Delete(_))))?;
        self.write_ahead(self.table(&self.catalogue.load(), &name)?, &mut mutations)?;
        let declared = self.declaring.read();
        let catalogue = self.catalogue.load();
        let table = self.table(&catalogue, &name)?;
        let restores = mutations.iter().all(|mutation| matches!(mutation, Mutation::Restore(_)));
        if !restores {
            self.writable(table)?;
        }
        let lock = self.row_locks.lock(table, &row);
        let now = self.now();
        let mut planner =
            Planner { engine: self, snapshot: Lazily::of(self), table, row: &row, now, least: Timestamp::ZERO };
        if let Some(condition) = &condition {
            match self.holds(&planner, condition)? {
                None => return Ok(Mutated { applied: false, results: Vec::new(), written: Vec::new() }),
                Some(least) => planner.least = least,
            }
        }
        let mut plan = planner.plan(mutations)?;
        plan.results.sort_by(|a, b| (&a.family, &a.qualifier).cmp(&(&b.family, &b.qualifier)));
        let mut events =
            if self.subscribers.is_heard() { events_of(table, &row, &plan.cells, origin) } else { Vec::new() };
        events.extend(self.first_ttl(table, &plan.cells));
        let cells = plan.cells.into_iter().map(|cell| RowCell { table, row: &row, cell });
        let (seq, written) = self.commit(cells, if restores { Judged::Nothing } else { Judged::Puts }, Some(now))?;
        drop((lock, declared));
        self.settle(seq, durability.unwrap_or_else(|| self.durability(table)))?;
        self.subscribers.announce(&events);
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
        if durability != Durability::FsyncWal {
            return Ok(());
        }
        self.sync_to(seq)
    }

    /// `Some` if the condition holds: the timestamp of the cell that was checked.
    fn holds(&self, planner: &Planner<'_>, condition: &Condition) -> Result<Option<Timestamp>> {
        match condition {
            Condition::Column { family: name, qualifier, op, value, time_range } => {
                let family = family(planner.table, name)?;
                let stored = self.newest_in(&planner.snapshot, family, planner.row, qualifier, *time_range)?;
                let least = stored.as_ref().map_or(Timestamp::ZERO, |cell| cell.timestamp);
                // What is behind so many bytes changes nothing.
                let most = value.as_ref().map_or(0, Vec::len) + 1;
                let stored = stored.as_ref().map(|cell| self.read_value(cell, 0, most)).transpose()?;
                Ok(condition_holds(*op, value.as_deref(), stored.as_deref()).then_some(least))
            }
            Condition::Filter { filter, time_range } => self.filter_holds(planner, filter, *time_range),
            Condition::Newest { family: name, qualifier, version } => {
                let family = family(planner.table, name)?;
                let stored = self.newest_in(&planner.snapshot, family, planner.row, qualifier, TimeRange::ALL)?;
                let is_so = stored.map(|cell| (cell.timestamp, cell.seq)) == *version;
                Ok(is_so.then_some(Timestamp::ZERO))
            }
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

    /// Writes a batch: log, then memtable, then visible. The caller holds the locks of its rows. The infos are those of
    /// the puts, in the order given, at that time; `None`: nobody wants them.
    pub fn commit<'a>(
        &self,
        cells: impl ExactSizeIterator<Item = RowCell<'a>>,
        judged: Judged,
        infos_at: Option<Timestamp>,
    ) -> Result<(SeqNo, Vec<CellInfo>)> {
        if cells.len() < 2 {
            let batch = self.readied(cells)?;
            let places = 0..batch.len();
            return self.commit_ready((batch, places), judged, infos_at);
        }
        let (cells, places) = without_repeats(cells);
        self.commit_ready((self.readied(cells.into_iter())?, places.into_iter()), judged, infos_at)
    }

    fn readied<'a>(&self, cells: impl ExactSizeIterator<Item = RowCell<'a>>) -> Result<Vec<Ready<'a>>> {
        let mut batch = Vec::with_capacity(cells.len());
        for RowCell { table, row, cell } in cells {
            let (value, cell) = cell.without_value();
            let value = self.prepare(value, cell.kind, Codec::of(cell.family.rules.compression))?;
            batch.push(Ready::new((table, row), cell, value));
        }
        Ok(batch)
    }

    /// As [`Engine::commit`], of cells of which no two have one key; infos are made of those at the places given.
    fn commit_ready(
        &self,
        (batch, places): (Vec<Ready<'_>>, impl Iterator<Item = usize>),
        judged: Judged,
        infos_at: Option<Timestamp>,
    ) -> Result<(SeqNo, Vec<CellInfo>)> {
        self.check_constraints(&batch, judged)?;
        let _unique = if judged == Judged::Nothing { Vec::new() } else { self.hold_unique(&batch)? };
        let entries = self.entries_of(&batch)?;
        // Order: dropped before what it borrows.
        let mut batch = batch;
        batch.extend(entries.iter().map(Entry::ready));
        // What adds no bytes of values is what makes room in the end.
        let bytes = batch.iter().map(Ready::bytes).chain(entries.iter().map(Entry::bytes)).sum::<u64>();
        let tombstones = batch.iter().filter(|cell| !cell.kind.is_put()).count() as u64;
        let mut writing = Writing { engine: self, cells: batch };
        let seq = match bytes {
            0 => {
                self.check_deletes()?;
                let written = self.delete_with_reserve(|| self.log.append(&mut writing));
                written.map_err(|e| self.told_full_for_deletes(e))?
            }
            _ => {
                self.check_reserve(bytes)?;
                let written = self.log.append(&mut writing).inspect_err(|e| self.note_if_full(e));
                written.map_err(|e| self.told_full(e))?
            }
        };
        let batch = writing.cells;
        self.disk.note_written(bytes + CELL * batch.len() as u64, tombstones);
        let Some(now) = infos_at else { return Ok((seq, Vec::new())) };
        let info = |at: usize| batch[at].info(seq, now);
        Ok((seq, places.filter(|&at| batch[at].kind.is_put()).map(info).collect()))
    }

    /// The bytes of a value where the cell can have them.
    fn prepare(&self, value: Value, kind: CellKind, codec: Codec) -> Result<Prepared> {
        if !kind.is_put() {
            return Ok(Prepared::Bytes(Vec::new()));
        }
        let large = match value {
            Value::Bytes(bytes) if bytes.len() as u64 <= INLINE => return Ok(Prepared::Bytes(bytes)),
            Value::Shared(cell) => return self.share(&cell, codec),
            Value::Written(written) => match written.held.downcast::<Root>() {
                Ok(root) => return Ok(Prepared::of(root)),
                Err(_) => return Err(Error::new(ErrorKind::IllegalArgument, "the value is that of another store")),
            },
            large => large,
        };
        self.write_large(&large, codec)
    }

    /// Writes a value that does not stand among the keys.
    fn write_large(&self, value: &Value, codec: Codec) -> Result<Prepared> {
        let mut writer = self.values.blobs.new_value(codec);
        match value {
            Value::Spilled { file, len } => {
                let mut buffer = vec![0; PIECE.min(*len as usize)];
                let mut at = 0;
                while at < *len {
                    let part = buffer.len().min((*len - at) as usize);
                    file.read_exact_at(&mut buffer[..part], at)
                        .map_err(|e| Error::io("read the spilled bytes of a large value", &e))?;
                    if *len <= INLINE {
                        buffer.truncate(part);
                        return Ok(Prepared::Bytes(buffer));
                    }
                    writer.write(&buffer[..part])?;
                    at += part as u64;
                }
            }
            Value::Bytes(bytes) => writer.write(bytes)?,
            Value::Shared(_) | Value::Written(_) => {}
        }
        Ok(Prepared::of(Arc::new(writer.finish()?)))
    }

    /// The value of a stored version for another cell: large ones are not copied.
    fn share(&self, cell: &CellInfo, codec: Codec) -> Result<Prepared> {
        if let ValueRef::Here(bytes) = &cell.value {
            return Ok(Prepared::Shared(bytes.clone()));
        }
        let snapshot = self.snapshot();
        if let Some(root) = self.root_of(&snapshot, &cell.value)? {
            return Ok(Prepared::Root { len: cell.len(), bytes: root, held: None });
        }
        let bytes = self.read_value(cell, 0, usize::try_from(cell.len()).unwrap_or(usize::MAX))?;
        self.prepare(Value::Bytes(bytes), CellKind::Put, codec)
    }

    /// Large values of mutations go to where they stay, before any lock is taken.
    pub fn write_ahead(&self, table: &TableSchema, mutations: &mut [Mutation]) -> Result<()> {
        for mutation in mutations {
            let cells: &mut [PutCell] = match mutation {
                Mutation::Put(cells) => cells,
                Mutation::Restore(cell) => std::slice::from_mut(cell),
                Mutation::Delete(_) | Mutation::Increment(_) | Mutation::Append(_) => continue,
            };
            for cell in cells {
                let is_large =
                    matches!(cell.value, Value::Bytes(_) | Value::Spilled { .. }) && cell.value.len() > INLINE;
                let Some(family) = table.families.get(&cell.family).filter(|_| is_large) else { continue };
                check_value_len(&family.name, &cell.qualifier, cell.value.len(), self.value_limit())?;
                let value = std::mem::replace(&mut cell.value, Value::Bytes(Vec::new()));
                let (len, codec) = (value.len(), Codec::of(family.rules.compression));
                if let Prepared::Root { held: Some(root), .. } =
                    self.with_room(len, || self.write_large(&value, codec))?
                {
                    cell.value = Value::Written(Written { len, held: root });
                } else {
                    cell.value = value;
                }
            }
        }
        Ok(())
    }

    /// At most `len` bytes from `offset` of a version's value. `NotFound`: the version is gone.
    pub fn read_value(&self, cell: &CellInfo, offset: u64, len: usize) -> Result<Vec<u8>> {
        self.read_reference(&self.snapshot(), &cell.value, offset, len)
    }
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
