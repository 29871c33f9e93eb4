//! Cells that are to be written.

use std::sync::atomic::Ordering;

use crate::backend::Event;
use crate::model::{
    Cell, CellKind, FamilySchema, FileAttributes, FileChange, Origin, Qualifier, TableSchema, Tags, Timestamp, Value,
};
use crate::store::engine::Engine;

/// A cell to be written.
pub struct Planned<'a> {
    pub family: &'a FamilySchema,
    pub qualifier: Qualifier,
    pub timestamp: Timestamp,
    pub kind: CellKind,
    pub tags: Tags,
    pub value: Value,
}

impl Planned<'_> {
    /// Its value, and all else.
    pub fn without_value(mut self) -> (Value, Self) {
        (std::mem::replace(&mut self.value, Value::Bytes(Vec::new())), self)
    }
}

/// What the mutations of one row come to.
#[derive(Default)]
pub struct Plan<'a> {
    pub cells: Vec<Planned<'a>>,
    /// New cells of increments and appends.
    pub results: Vec<Cell>,
}

/// What a file has whose version's timestamp is ahead of when it was due (the clock, or the write that it is of): that
/// time, which `make` can compare.
pub fn timed(file: FileAttributes, timestamp: Timestamp, (due, now): (Timestamp, Timestamp)) -> FileAttributes {
    match file.mtime() {
        None if timestamp > due => file.with(&FileChange::of_time(Some(due.into()))),
        _ => needed(file, timestamp, now),
    }
}

/// What is stored of a file's attributes: not an mtime that the version shows by itself, which is no more than its
/// timestamp. Where that is ahead of the clock it stays: put again without it, the version would get the clock's.
pub fn needed(file: FileAttributes, timestamp: Timestamp, now: Timestamp) -> FileAttributes {
    match file.mtime() {
        Some(mtime) if timestamp <= now && mtime == timestamp.into() => file.without_mtime(),
        _ => file,
    }
}

/// What is told once the first cells with a TTL of their own have come to a family: names of its directories
/// may not be kept for good any more. Before they are written.
pub fn first_ttl(engine: &Engine, table: &TableSchema, cells: &[Planned<'_>]) -> Option<Event> {
    let is_first = |cell: &Planned<'_>| {
        cell.tags.ttl_ms.is_some() && !engine.tracks.of(cell.family.id).expiring.load(Ordering::Acquire)
    };
    cells.iter().any(is_first).then(|| Event::Table { table: table.name.clone(), origin: Origin(0) })
}
