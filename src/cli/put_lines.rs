//! `put --json STORE TABLE -`: takes back what `scan --json` and `get --json` print, a cell a line.

use std::io::BufRead;

use base64::Engine as _;
use serde::Deserialize;

use super::Answer;
use super::progress::Progress;
use crate::backend::Backend;
use crate::model::{
    DeleteKind, DeleteMarker, FileAttributes, ManyRows, Mutation, Origin, PutCell, RowMutations, TableName, Time,
    Timestamp, Tombstone, Value, check_value_len, parse_cell_ttl,
};
use crate::{Error, ErrorKind, Result};

/// Cells of a row that are written in one step at most, and bytes of their values.
const CELLS: usize = 1000;
const BYTES: usize = 8 << 20;
/// Tombstones of a row that wait for its end at most.
const WAITING: usize = 10_000;

/// A line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    row: Bytes,
    family: String,
    #[serde(default)]
    qualifier: Bytes,
    timestamp: Option<i64>,
    value: Option<Bytes>,
    /// HBase's name of a tombstone.
    #[serde(rename = "type")]
    tombstone: Option<String>,
    /// Milliseconds.
    ttl: Option<serde_json::Number>,
    /// When the version was deleted, of one that is kept as deleted.
    deleted: Option<i64>,
}

/// Text, or bytes that are none.
#[derive(Deserialize)]
#[serde(untagged)]
enum Bytes {
    Text(String),
    Encoded { base64: String },
}

impl Default for Bytes {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Bytes {
    fn decode(self) -> std::result::Result<Vec<u8>, String> {
        match self {
            Self::Text(text) => Ok(text.into_bytes()),
            Self::Encoded { base64 } => {
                base64::engine::general_purpose::STANDARD.decode(base64).map_err(|e| format!("base64: {e}"))
            }
        }
    }
}

impl Line {
    /// The row and the change that it says.
    fn mutation(self, limit: u64) -> std::result::Result<(Vec<u8>, Mutation, usize), String> {
        let (row, family, qualifier) = (self.row.decode()?, self.family, self.qualifier.decode()?);
        let time = self.timestamp.map(|at| timestamp("timestamp", at)).transpose()?.map_or(Time::AfterNewest, Time::At);
        let ended_at = self.deleted.map(|at| timestamp("deleted", at)).transpose()?;
        if ended_at.is_some() && self.timestamp.is_none() {
            return Err("a deleted version has a timestamp: give it, or leave `deleted` out".to_owned());
        }
        if let Some(name) = self.tombstone {
            if self.value.is_some() {
                return Err("a tombstone has no value".to_owned());
            }
            let kind = delete_kind(&name, family, qualifier)?;
            return Ok((row, Mutation::Delete(vec![DeleteMarker { kind, time, erases: false }]), 0));
        }
        let value = self.value.ok_or("it has neither a value nor the type of a tombstone")?.decode()?;
        check_value_len(&family, &qualifier, value.len() as u64, limit).map_err(|e| e.message)?;
        let (len, file) = (value.len(), FileAttributes::default());
        let value = Value::Bytes(value);
        let ttl = self.ttl.map(|ttl| parse_cell_ttl(&ttl.to_string())).transpose();
        let ttl_ms = ttl.map_err(|e| e.message)?;
        let put = PutCell { family, qualifier, time, value, ttl_ms, file, ended_at };
        let put = if ended_at.is_some() { Mutation::Restore(Box::new(put)) } else { Mutation::Put(vec![put]) };
        Ok((row, put, len))
    }
}

fn timestamp(name: &str, at: i64) -> std::result::Result<Timestamp, String> {
    match (0..=Timestamp::MAX.0).contains(&at) {
        true => Ok(Timestamp(at)),
        false => Err(format!("{name} {at}: 0 to {} is allowed", Timestamp::MAX)),
    }
}

fn delete_kind(name: &str, family: String, qualifier: Vec<u8>) -> std::result::Result<DeleteKind, String> {
    let all = [Tombstone::Version, Tombstone::Column, Tombstone::Family, Tombstone::FamilyVersion];
    match all.into_iter().find(|kind| kind.name() == name) {
        Some(Tombstone::Version) => Ok(DeleteKind::Version { family, qualifier }),
        Some(Tombstone::Column) => Ok(DeleteKind::Column { family, qualifier }),
        Some(Tombstone::Family) => Ok(DeleteKind::Family { family }),
        Some(Tombstone::FamilyVersion) => Ok(DeleteKind::FamilyVersion { family }),
        None => Err(format!("`{}` is no type of a tombstone", name.escape_debug())),
    }
}

/// Changes of one row that are written together.
#[derive(Default)]
struct Batch {
    row: Vec<u8>,
    mutations: Vec<Mutation>,
    /// Tombstones: they stand before what they hide in a scan, and have to come behind it, as families with
    /// NEW_VERSION_BEHAVIOR show what is put after a tombstone.
    waiting: Vec<Mutation>,
    bytes: usize,
}

impl Batch {
    /// Whether what is there is to be written before a change of so many bytes comes.
    fn is_full_for(&self, row: &[u8], bytes: usize) -> bool {
        row != self.row || self.mutations.len() >= CELLS || self.bytes + bytes > BYTES || self.waiting.len() >= WAITING
    }

    fn add(&mut self, mutation: Mutation, bytes: usize) {
        let is_timed = |marker: &DeleteMarker| matches!(marker.time, Time::At(_));
        match mutation {
            Mutation::Delete(markers) if markers.iter().all(is_timed) => self.waiting.push(Mutation::Delete(markers)),
            other => self.mutations.push(other),
        }
        self.bytes += bytes;
    }

    /// Writes what is there before the next change, which is of a row.
    fn make_room(&mut self, next: &[u8], backend: &dyn Backend, table: &TableName) -> Result<()> {
        if next != self.row || self.waiting.len() >= WAITING {
            self.end_row();
        }
        self.write(backend, table)?;
        next.clone_into(&mut self.row);
        Ok(())
    }

    /// No more is said of the row: its tombstones follow.
    fn end_row(&mut self) {
        self.mutations.append(&mut self.waiting);
    }

    fn write(&mut self, backend: &dyn Backend, table: &TableName) -> Result<()> {
        let mutations = std::mem::take(&mut self.mutations);
        self.bytes = 0;
        if mutations.is_empty() {
            return Ok(());
        }
        let (table, row, origin) = (table.clone(), self.row.clone(), Origin::default());
        backend.mutate_rows(ManyRows::of_files(RowMutations { table, row, mutations, durability: None, origin }))
    }
}

/// Reads lines to their end; one that is wrong ends it, and is named. What came before is written then.
pub fn put(backend: &dyn Backend, table: &TableName, input: impl BufRead) -> Result<Answer> {
    let (mut batch, mut wrong, limit) = (Batch::default(), None, backend.value_limit());
    let progress = Progress::counting("cells");
    for (number, line) in (1u64..).zip(input.lines()) {
        let line = line.map_err(|e| Error::io(format!("line {number}"), &e))?;
        if line.trim().is_empty() {
            continue;
        }
        let parsed = serde_json::from_str::<Line>(&line).map_err(|e| e.to_string());
        let (row, mutation, bytes) = match parsed.and_then(|line| line.mutation(limit)) {
            Ok(found) => found,
            Err(text) => {
                let text = format!("line {number}: {text}; the lines before it are written");
                wrong = Some(Error::new(ErrorKind::IllegalArgument, text));
                break;
            }
        };
        if batch.is_full_for(&row, bytes) {
            batch.make_room(&row, backend, table).map_err(|e| e.context(format!("before line {number}")))?;
        }
        batch.add(mutation, bytes);
        progress.add(1);
    }
    batch.end_row();
    batch.write(backend, table)?;
    wrong.map_or(Ok(Answer::Yes), Err)
}
