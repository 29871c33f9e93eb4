//! Increments and appends: the new cell of a column from its old one (HBase: HRegion.reckonDeltas). What is appended to a
//! large value costs what it adds. The caller holds the row's lock.

use std::sync::Arc;

use super::planned::{Plan, Planned, timed};
use super::planner::Planner;
use crate::blob::Root;
use crate::format::Codec;
use crate::model::{
    Append, Cell, CellInfo, CellKind, ColumnDelta, FamilySchema, FileChange, Increment, Qualifier, Tags, Time,
    TimeRange, Value, Written,
};
use crate::store::engine::family;
use crate::store::engine::values::no_root;
use crate::store::read::lookup;
use crate::store::read::lookup::root_of;
use crate::store::space::{level, room};
use crate::{Error, ErrorKind, Result};

/// How an Increment or Append makes its new cell.
#[derive(Clone, Copy)]
struct Change {
    time: Time,
    ttl_ms: Option<u64>,
    file: FileChange,
    /// Where the old value is looked for.
    range: TimeRange,
    returns: bool,
}

/// What is done to the old value.
enum Delta<'d> {
    Sum(i64),
    Behind(&'d [u8]),
}

/// The new cells of an Increment.
pub fn increment<'a>(planner: &Planner<'a>, increment: Increment, plan: &mut Plan<'a>) -> Result<()> {
    let Increment { columns, time, ttl_ms, file, time_range } = increment;
    let change = Change { time, ttl_ms, file, range: time_range, returns: true };
    for ColumnDelta { family, qualifier, delta } in columns {
        reckon(planner, (family, qualifier), change, &Delta::Sum(delta), plan)?;
    }
    Ok(())
}

/// The new cells of an Append.
pub fn append<'a>(planner: &Planner<'a>, append: Append, plan: &mut Plan<'a>) -> Result<()> {
    let Append { columns, time, ttl_ms, file, time_range, returns } = append;
    let change = Change { time, ttl_ms, file, range: time_range, returns };
    for ColumnDelta { family, qualifier, delta } in columns {
        reckon(planner, (family, qualifier), change, &Delta::Behind(&delta), plan)?;
    }
    Ok(())
}

fn reckon<'a>(
    planner: &Planner<'a>,
    (name, qualifier): (String, Qualifier),
    change: Change,
    delta: &Delta<'_>,
    plan: &mut Plan<'a>,
) -> Result<()> {
    let Change { time, ttl_ms, mut file, range, returns } = change;
    let family = family(planner.table, &name)?;
    let old = planner.newest(family, &qualifier, range)?;
    if old.is_some() && matches!(delta, Delta::Sum(_)) {
        file = FileChange::default();
    }
    let value = new_value(planner, (family, &qualifier), old.as_ref(), delta)?;
    let whole = match &value {
        Value::Bytes(bytes) if returns => Some(bytes.clone()),
        _ if returns => Some(old_and(planner, old.as_ref(), delta)?),
        _ => None,
    };
    let timestamp = match (&old, time) {
        (Some(old), Time::Now | Time::At(_)) => planner.now.max(old.timestamp.next()),
        _ => planner.put_time(family, &qualifier, time)?,
    };
    let old = old.map(|cell| cell.tags).unwrap_or_default();
    let file = timed(old.file.of_next_version().with(&file), timestamp, (planner.due(time), planner.now));
    let written_at = planner.written_at(time, timestamp);
    let tags = Tags { ttl_ms: ttl_ms.or(old.ttl_ms), file, written_at, ..Tags::default() };
    if let Some(value) = whole {
        let (qualifier, tags) = (qualifier.clone(), tags.clone());
        plan.results.push(Cell { family: name, qualifier, timestamp, kind: CellKind::Put, tags, value });
    }
    plan.cells.push(Planned { family, qualifier, timestamp, kind: CellKind::Put, tags, value });
    Ok(())
}

fn new_value(
    planner: &Planner<'_>,
    (family, qualifier): (&FamilySchema, &Qualifier),
    old: Option<&CellInfo>,
    delta: &Delta<'_>,
) -> Result<Value> {
    let Delta::Behind(bytes) = delta else { return Ok(Value::Bytes(old_and(planner, old, delta)?)) };
    let engine = planner.engine;
    planner.check_len(family, qualifier, old.map_or(0, CellInfo::len).saturating_add(bytes.len() as u64))?;
    let root = old.map(|cell| root_of(&planner.view, &cell.value)).transpose()?.flatten();
    let Some(root) = root else { return Ok(Value::Bytes(old_and(planner, old, delta)?)) };
    room::check_reserve(engine, bytes.len() as u64)?;
    // What it has in common with the old one is live as long as the planner's view.
    let root = Root::decode(&root).ok_or_else(no_root)?;
    let codec = Codec::of(family.rules.compression);
    let new = engine.values.blobs.append(&root, bytes, codec).inspect_err(|e| {
        if e.kind == ErrorKind::NoSpace {
            level::note_full(engine);
        }
    })?;
    engine.disk.note_written(bytes.len() as u64, 0);
    Ok(Value::Written(Written { len: new.len(), held: Arc::new(new) }))
}

/// The new value whole.
fn old_and(planner: &Planner<'_>, old: Option<&CellInfo>, delta: &Delta<'_>) -> Result<Vec<u8>> {
    let old = match old {
        Some(cell) if matches!(delta, Delta::Sum(_)) && cell.len() != 8 => return Err(no_long(cell.len())),
        Some(cell) => Some(lookup::read_reference(planner.engine, &planner.view, &cell.value, 0, cell.len() as usize)?),
        None => None,
    };
    match (delta, old) {
        (Delta::Sum(delta), None) => Ok(delta.to_be_bytes().to_vec()),
        (Delta::Sum(delta), Some(old)) => {
            let bytes: [u8; 8] = old.try_into().map_err(|old: Vec<u8>| no_long(old.len() as u64))?;
            Ok(i64::from_be_bytes(bytes).wrapping_add(*delta).to_be_bytes().to_vec())
        }
        (Delta::Behind(bytes), old) => {
            let mut value = old.unwrap_or_default();
            value.reserve_exact(bytes.len());
            value.extend_from_slice(bytes);
            Ok(value)
        }
    }
}

fn no_long(len: u64) -> Error {
    Error::new(ErrorKind::Refused, format!("Field is not a long, it's {len} bytes wide"))
}
