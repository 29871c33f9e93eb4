//! Cells that are to be written.

use crate::model::{Cell, CellKind, FamilySchema, FileAttributes, FileChange, Qualifier, Tags, Timestamp, Value};

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

/// What a file whose version's timestamp is ahead of the clock has: the clock's time, which `make` can compare.
pub fn timed(file: FileAttributes, timestamp: Timestamp, now: Timestamp) -> FileAttributes {
    match file.mtime() {
        None if timestamp > now => file.with(&FileChange::of_time(Some(now.into()))),
        _ => file,
    }
}
