//! Mutations of a row: the lock, the condition, the plan, the commit.

use std::os::unix::fs::FileExt;
use std::sync::Arc;

use crate::backend::{Event, Versions};
use crate::blob::Root;
use crate::format::Codec;
use crate::model::{
    CellInfo, CellKind, ColumnKey, Condition, Durability, Mutated, Mutation, Origin, Piece, PutCell, ReadSpec,
    RowMutations, SeqNo, TableSchema, TimeRange, Timestamp, Value, ValueRef, Written, check_row, check_value_len,
};
use crate::query::condition_holds;
use crate::store::engine::values::INLINE;
use crate::store::engine::{Engine, family};
use crate::store::plan::batch::{Prepared, Ready, RowCell, Writing, without_repeats};
use crate::store::plan::planned;
use crate::store::plan::planned::Planned;
use crate::store::plan::planner::{Lazily, Planner};
use crate::store::read::lookup::root_of;
use crate::store::read::{get, lookup, point};
use crate::store::recover::rescue;
use crate::store::secondary::constraint::Judged;
use crate::store::secondary::entry::Entry;
use crate::store::secondary::{constraint, entry, unique};
use crate::store::space::{backlog, level, reserve, room};
use crate::{Error, ErrorKind, Result};

/// Bytes of a spilled value that are read at once.
const PIECE: usize = 1 << 20;
/// Columns of a batch that are told one by one.
const EVENTS: usize = 64;

/// Bytes that a cell takes beside its value in log and index, about.
const CELL: u64 = 300;

/// Applies the mutations of one row atomically if the condition holds.
pub fn mutate(engine: &Engine, mutations: RowMutations, condition: Option<Condition>) -> Result<Mutated> {
    let RowMutations { table: name, row, mut mutations, durability: asked, origin } = mutations;
    check_row(&row)?;
    engine.log.check_poison()?;
    backlog::make_room(engine, !mutations.iter().all(|mutation| matches!(mutation, Mutation::Delete(_))))?;
    write_ahead(engine, engine.table(&engine.catalogue.load(), &name)?, &mut mutations)?;
    let declared = engine.turns.as_declared();
    let catalogue = engine.catalogue.load();
    let table = engine.table(&catalogue, &name)?;
    let restores = mutations.iter().all(|mutation| matches!(mutation, Mutation::Restore(_)));
    if !restores {
        writable(table)?;
    }
    let lock = engine.row_locks.lock(table, &row);
    let now = engine.now();
    let mut planner = Planner { engine, view: Lazily::of(engine), table, row: &row, now, least: Timestamp::ZERO };
    if let Some(condition) = &condition {
        match holds(engine, &planner, condition)? {
            None => return Ok(Mutated { applied: false, results: Vec::new(), written: Vec::new() }),
            Some(least) => planner.least = least,
        }
    }
    let mut plan = planner.plan(mutations)?;
    plan.results.sort_by(|a, b| (&a.family, &a.qualifier).cmp(&(&b.family, &b.qualifier)));
    let mut events =
        if engine.subscribers.is_heard() { events_of(table, &row, &plan.cells, origin) } else { Vec::new() };
    events.extend(planned::first_ttl(engine, table, &plan.cells));
    let cells = plan.cells.into_iter().map(|cell| RowCell { table, row: &row, cell });
    let judged = if restores { Judged::Nothing } else { Judged::Puts };
    let (seq, written) = commit(&planner.view, cells, judged, Some(now))?;
    drop((lock, declared));
    settle(engine, seq, asked.unwrap_or_else(|| durability(engine, table)))?;
    engine.subscribers.announce(&events);
    Ok(Mutated { applied: true, results: plan.results, written })
}

/// Refuses a table that takes no writes.
pub fn writable(table: &TableSchema) -> Result<&TableSchema> {
    if table.read_only() {
        let text = format!("table {}: region is read only (READONLY is true); alter it to write", table.name);
        return Err(Error::new(ErrorKind::ReadOnlyTable, text));
    }
    Ok(table)
}

/// What a table asks for, or what the store was opened with.
pub fn durability(engine: &Engine, table: &TableSchema) -> Durability {
    table.durability().unwrap_or(engine.options.durability)
}

/// Waits as the durability asks.
pub fn settle(engine: &Engine, seq: SeqNo, durability: Durability) -> Result<()> {
    if durability != Durability::FsyncWal {
        return Ok(());
    }
    rescue::sync_to(engine, seq)
}

/// `Some` if the condition holds: the timestamp of the cell that was checked.
fn holds(engine: &Engine, planner: &Planner<'_>, condition: &Condition) -> Result<Option<Timestamp>> {
    match condition {
        Condition::Column { family: name, qualifier, op, value, time_range } => {
            let family = family(planner.table, name)?;
            let stored = planner.newest(family, qualifier, *time_range)?;
            let least = stored.as_ref().map_or(Timestamp::ZERO, |cell| cell.timestamp);
            // What is behind so many bytes changes nothing.
            let most = value.as_ref().map_or(0, Vec::len) + 1;
            let read = |cell: &CellInfo| lookup::read_reference(engine, &planner.view, &cell.value, 0, most);
            let stored = stored.as_ref().map(read).transpose()?;
            Ok(condition_holds(*op, value.as_deref(), stored.as_deref()).then_some(least))
        }
        Condition::Filter { filter, time_range } => filter_holds(engine, planner, filter, *time_range),
        Condition::Newest { family: name, qualifier, version } => {
            let family = family(planner.table, name)?;
            let stored = planner.newest(family, qualifier, TimeRange::ALL)?;
            let is_so = stored.map(|cell| (cell.timestamp, cell.seq)) == *version;
            Ok(is_so.then_some(Timestamp::ZERO))
        }
        Condition::NoneAfter { family: name, qualifier, seq } => {
            let family = family(planner.table, name)?;
            let (column, which) = ((planner.row, qualifier), Versions::LiveAndKept);
            let mut later = false;
            point::visit_versions(engine, &planner.view, family, column, which, |visible| {
                later = visible.cell.seq > *seq;
                !later
            })?;
            Ok((!later).then_some(Timestamp::ZERO))
        }
    }
}

/// Writes a batch: log, then memtable, then visible. The caller holds the locks of its rows; values that are shared are
/// those of its view, whatever a compaction drops meanwhile. The infos are those of the puts, in the order given, at that
/// time; `None`: nobody wants them.
pub fn commit<'a>(
    view: &Lazily<'_>,
    cells: impl ExactSizeIterator<Item = RowCell<'a>>,
    judged: Judged,
    infos_at: Option<Timestamp>,
) -> Result<(SeqNo, Vec<CellInfo>)> {
    let engine = view.engine();
    if cells.len() < 2 {
        let batch = readied(view, cells)?;
        let places = 0..batch.len();
        return commit_ready(engine, (batch, places), judged, infos_at);
    }
    let (cells, places) = without_repeats(cells);
    commit_ready(engine, (readied(view, cells.into_iter())?, places.into_iter()), judged, infos_at)
}

fn readied<'a>(view: &Lazily<'_>, cells: impl ExactSizeIterator<Item = RowCell<'a>>) -> Result<Vec<Ready<'a>>> {
    let mut batch = Vec::with_capacity(cells.len());
    for RowCell { table, row, cell } in cells {
        let (value, cell) = cell.without_value();
        let value = prepare(view, value, cell.kind, Codec::of(cell.family.rules.compression))?;
        batch.push(Ready::new((table, row), cell, value));
    }
    Ok(batch)
}

/// As [`commit`], of cells of which no two have one key; infos are made of those at the places given.
fn commit_ready(
    engine: &Engine,
    (batch, places): (Vec<Ready<'_>>, impl Iterator<Item = usize>),
    judged: Judged,
    infos_at: Option<Timestamp>,
) -> Result<(SeqNo, Vec<CellInfo>)> {
    constraint::check_constraints(engine, &batch, judged)?;
    let _unique = if judged == Judged::Nothing { Vec::new() } else { unique::hold_unique(engine, &batch)? };
    let entries = entry::entries_of(engine, &batch)?;
    // Order: dropped before what it borrows.
    let mut batch = batch;
    batch.extend(entries.iter().map(Entry::ready));
    // What adds no bytes of values is what makes room in the end.
    let bytes = batch.iter().map(Ready::bytes).chain(entries.iter().map(Entry::bytes)).sum::<u64>();
    let tombstones = batch.iter().filter(|cell| !cell.kind.is_put()).count() as u64;
    let mut writing = Writing { engine, cells: batch };
    let seq = match bytes {
        0 => {
            room::check_deletes(engine)?;
            let written = reserve::delete_with_reserve(engine, || engine.log.append(&mut writing));
            written.map_err(|e| room::told_full_for_deletes(engine, e))?
        }
        _ => {
            room::check_reserve(engine, bytes)?;
            let written = engine.log.append(&mut writing).inspect_err(|e| level::note_if_full(engine, e));
            written.map_err(|e| room::told_full(engine, e))?
        }
    };
    let batch = writing.cells;
    engine.disk.note_written(bytes + CELL * batch.len() as u64, tombstones);
    let Some(now) = infos_at else { return Ok((seq, Vec::new())) };
    let info = |at: usize| batch[at].info(seq, now);
    Ok((seq, places.filter(|&at| batch[at].kind.is_put()).map(info).collect()))
}

/// The bytes of a value where the cell can have them.
fn prepare(view: &Lazily<'_>, value: Value, kind: CellKind, codec: Codec) -> Result<Prepared> {
    if !kind.is_put() {
        return Ok(Prepared::Bytes(Vec::new()));
    }
    let large = match value {
        Value::Bytes(bytes) if bytes.len() as u64 <= INLINE => return Ok(Prepared::Bytes(bytes)),
        Value::Shared(cell) => return share(view, &cell, codec),
        Value::Written(written) => match written.held.downcast::<Root>() {
            Ok(root) => return Ok(Prepared::of(root)),
            Err(_) => return Err(Error::new(ErrorKind::IllegalArgument, "the value is that of another store")),
        },
        large => large,
    };
    write_large(view.engine(), &large, codec)
}

/// Writes a value that does not stand among the keys.
fn write_large(engine: &Engine, value: &Value, codec: Codec) -> Result<Prepared> {
    let mut writer = engine.values.blobs.new_value(codec);
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
fn share(view: &Lazily<'_>, cell: &CellInfo, codec: Codec) -> Result<Prepared> {
    if let ValueRef::Here(bytes) = &cell.value {
        return Ok(Prepared::Shared(bytes.clone()));
    }
    // What it leads to is live as long as the view.
    if let Some(root) = root_of(view, &cell.value)? {
        return Ok(Prepared::Root { len: cell.len(), bytes: root, held: None });
    }
    let most = usize::try_from(cell.len()).unwrap_or(usize::MAX);
    let bytes = lookup::read_reference(view.engine(), view, &cell.value, 0, most)?;
    prepare(view, Value::Bytes(bytes), CellKind::Put, codec)
}

/// Large values of mutations go to where they stay, before any lock is taken.
pub fn write_ahead(engine: &Engine, table: &TableSchema, mutations: &mut [Mutation]) -> Result<()> {
    for mutation in mutations {
        let cells: &mut [PutCell] = match mutation {
            Mutation::Put(cells) => cells,
            Mutation::Restore(cell) => std::slice::from_mut(cell),
            Mutation::Delete(_) | Mutation::Increment(_) | Mutation::Append(_) => continue,
        };
        for cell in cells {
            let is_large = matches!(cell.value, Value::Bytes(_) | Value::Spilled { .. }) && cell.value.len() > INLINE;
            let Some(family) = table.families.get(&cell.family).filter(|_| is_large) else { continue };
            check_value_len(&family.name, &cell.qualifier, cell.value.len(), engine.value_limit())?;
            let value = std::mem::replace(&mut cell.value, Value::Bytes(Vec::new()));
            let (len, codec) = (value.len(), Codec::of(family.rules.compression));
            if let Prepared::Root { held: Some(root), .. } =
                room::with_room(engine, len, || write_large(engine, &value, codec))?
            {
                cell.value = Value::Written(Written { len, held: root });
            } else {
                cell.value = value;
            }
        }
    }
    Ok(())
}

/// `Some` if the row, read through the filter, is not empty: the least timestamp of later puts.
fn filter_holds(engine: &Engine, planner: &Planner<'_>, filter: &[u8], range: TimeRange) -> Result<Option<Timestamp>> {
    let read = ReadSpec { filter: Some(filter.to_owned()), time_range: range, ..ReadSpec::default() };
    let mut newest = None;
    get::get_in(engine, &planner.view, planner.table, (planner.row, &read), &mut |piece| {
        if let Piece::Cell(cell) | Piece::Head(cell, _) = piece {
            newest = newest.max(Some(cell.timestamp));
        }
        Ok(())
    })?;
    Ok(newest)
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
            Event::Column { column: column.into(), origin }
        };
        if !events.contains(&event) {
            events.push(event);
        }
    }
    events
}
