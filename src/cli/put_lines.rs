//! `put --json STORE TABLE -`: takes back what `scan --json` and `get --json` print, a cell a line.

use std::io::BufRead;

use base64::Engine as _;
use serde::Deserialize;

use super::Answer;
use super::progress::Progress;
use crate::backend::Backend;
use crate::model::{
    DeleteKind, DeleteMarker, FileAttributes, Mutation, Origin, PutCell, RowMutations, TableName, Time, Timestamp,
    Tombstone, Value, check_value_len, parse_cell_ttl,
};
use crate::{Error, ErrorKind, Result};

/// Cells of a row that are written in one step at most, and bytes of their values.
const CELLS: usize = 1000;
const BYTES: usize = 8 << 20;

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
        let time = match self.timestamp {
            None => Time::AfterNewest,
            Some(at) if (0..=Timestamp::MAX.0).contains(&at) => Time::At(Timestamp(at)),
            Some(at) => return Err(format!("timestamp {at}: 0 to {} is allowed", Timestamp::MAX)),
        };
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
        let put = PutCell { family, qualifier, time, value, ttl_ms, file, ended_at: None };
        Ok((row, Mutation::Put(vec![put]), len))
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
    bytes: usize,
}

impl Batch {
    fn write(&mut self, backend: &dyn Backend, table: &TableName) -> Result<()> {
        let mutations = std::mem::take(&mut self.mutations);
        self.bytes = 0;
        if mutations.is_empty() {
            return Ok(());
        }
        let (table, row, origin) = (table.clone(), self.row.clone(), Origin::default());
        backend.mutate(RowMutations { table, row, mutations, durability: None, origin }, None).map(|_| ())
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
        if row != batch.row || batch.mutations.len() >= CELLS || batch.bytes + bytes > BYTES {
            batch.write(backend, table).map_err(|e| e.context(format!("before line {number}")))?;
            batch.row = row;
        }
        batch.mutations.push(mutation);
        batch.bytes += bytes;
        progress.add(1);
    }
    batch.write(backend, table)?;
    wrong.map_or(Ok(Answer::Yes), Err)
}
