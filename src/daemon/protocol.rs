//! Messages of the control socket: each a 4-byte little-endian length and a postcard-encoded value.

use std::io::{Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::numbers::DaemonNumbers;
use crate::backend::{
    CompactionKind, Directory, FamilyColumns, FamilyNumbers, HistoryFrom, PurgeScope, RenameCell, Restoration,
    RowListing, SnapshotInfo, Status, VersionRun, Versions,
};
use crate::model::{
    Catalogue, CatalogueChange, CellInfo, CheckEvent, ColumnKey, Condition, FileTime, Get, Mutated, Qualifier, RowKey,
    RowMutations, RowResult, Scan, TableName, TimeRange, Timestamp,
};
use crate::{Error, ErrorKind, Result};

/// Largest message, bytes: a value of the greatest limit and what surrounds it.
const MESSAGE_MAX: usize = (1 << 30) + (1 << 20);
/// A message is read in pieces of this size, so that a false length cannot take memory.
const PIECE: usize = 1 << 20;

/// What a client asks.
#[derive(Serialize, Deserialize)]
pub enum Request {
    Hello,
    Catalogue,
    Alter(CatalogueChange),
    Get(Get),
    Scan(Scan),
    Mutate(RowMutations, Option<Condition>),
    Newest(ColumnKey, TimeRange),
    ReadValue(CellInfo, u64, u64),
    ListRows(RowListing),
    ListFamilies(TableName, RowKey, TimeRange, Versions),
    ListAround(ColumnKey, Timestamp, u64),
    ListHistory(TableName, RowKey, String, Option<HistoryFrom>, u64),
    ListColumns(TableName, RowKey, String, Option<Qualifier>, TimeRange, u64),
    ListVersions(ColumnKey, Versions, Option<Timestamp>, u64),
    RenameCell(RenameCell),
    RenameDirectory(Directory, Directory),
    SetAttributes(ColumnKey, CellInfo, Option<FileTime>, Option<Option<u64>>),
    Sync,
    Flush(Option<TableName>),
    Purge(PurgeScope),
    Compact(TableName, Option<String>, CompactionKind),
    Status,
    TableNumbers(TableName),
    TableColumns(TableName),
    Snapshots,
    CreateSnapshot(String, Option<TableName>),
    DeleteSnapshot(String),
    Restore(Restoration),
    Numbers,
    Check,
}

impl Request {
    /// Whether what is stored in a column may matter for the answer.
    pub fn may_concern(&self, column: &ColumnKey) -> bool {
        let in_row = |table: &TableName, row: &[u8]| *table == column.table && row == column.row;
        match self {
            Self::Hello | Self::Catalogue | Self::ReadValue(..) | Self::Status | Self::Snapshots | Self::Numbers => {
                false
            }
            Self::Get(get) => in_row(&get.table, &get.row),
            Self::Mutate(mutations, _) => in_row(&mutations.table, &mutations.row),
            Self::Newest(of, _) | Self::ListVersions(of, ..) | Self::SetAttributes(of, ..) => of == column,
            Self::ListFamilies(table, row, ..)
            | Self::ListColumns(table, row, ..)
            | Self::ListHistory(table, row, ..) => in_row(table, row),
            _ => true,
        }
    }
}

/// What a daemon says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub version: String,
    pub pid: u32,
    pub mount_point: String,
    /// Mounted with the option `ro`.
    pub read_only: bool,
    pub value_limit: u64,
    pub now: Timestamp,
    pub hash_key: [u8; 16],
}

/// What it answers. A scan is answered with `Row`s and an `End`, a check with `Checked`s.
#[derive(Serialize, Deserialize)]
pub enum Response {
    Hello(Hello),
    Done,
    Catalogue(Catalogue),
    Row(RowResult),
    End,
    Mutated(Mutated),
    Cell(Option<CellInfo>),
    Bytes(Vec<u8>),
    Keys(Vec<RowKey>),
    Names(Vec<String>),
    Columns(Vec<(Qualifier, CellInfo)>),
    Cells(Vec<CellInfo>),
    Run(VersionRun),
    Status(Box<Status>),
    TableNumbers(Vec<FamilyNumbers>),
    TableColumns(Vec<FamilyColumns>),
    Snapshots(Vec<SnapshotInfo>),
    Numbers(Box<DaemonNumbers>),
    Failed(Error),
    Checked(CheckEvent),
}

/// Writes one message.
pub fn send<T: Serialize>(stream: &mut impl Write, message: &T) -> Result<()> {
    let mut frame = vec![0; 4];
    frame = postcard::to_extend(message, frame)
        .map_err(|e| Error::new(ErrorKind::Unsupported, format!("this cannot be sent to a daemon: {e}")))?;
    let length = u32::try_from(frame.len() - 4).map_err(|_| too_long())?;
    if length as usize > MESSAGE_MAX {
        return Err(too_long());
    }
    frame[..4].copy_from_slice(&length.to_le_bytes());
    stream.write_all(&frame).map_err(|e| lost(&e))
}

/// Reads one message; `None` when the other end has closed.
pub fn receive<T: DeserializeOwned>(stream: &mut impl Read) -> Result<Option<T>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other.map_err(|e| lost(&e))?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MESSAGE_MAX {
        return Err(too_long());
    }
    let mut frame = Vec::new();
    while frame.len() < length {
        let start = frame.len();
        frame.resize(length.min(start + PIECE), 0);
        stream.read_exact(&mut frame[start..]).map_err(|e| lost(&e))?;
    }
    let text = "the other end speaks another version of the control protocol: use the same release of cellfs";
    postcard::from_bytes(&frame).map(Some).map_err(|_| Error::new(ErrorKind::Unsupported, text))
}

fn lost(source: &std::io::Error) -> Error {
    if matches!(source.kind(), std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock) {
        return Error::new(ErrorKind::TimedOut, source.to_string());
    }
    Error::new(ErrorKind::Disconnected, format!("the control socket: {source}"))
}

fn too_long() -> Error {
    Error::new(ErrorKind::ValueTooLarge, format!("a message of the control socket has at most {MESSAGE_MAX} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_round_trip_and_false_lengths_are_refused() {
        let mut wire = Vec::new();
        send(&mut wire, &Request::Flush(Some(TableName::parse("a:b").unwrap()))).unwrap();
        let back: Option<Request> = receive(&mut wire.as_slice()).unwrap();
        assert!(matches!(back, Some(Request::Flush(Some(name))) if name.to_string() == "a:b"));
        assert!(receive::<Request>(&mut &b""[..]).unwrap().is_none());
        assert!(receive::<Request>(&mut &[0xFF, 0xFF, 0xFF, 0xFF, 0][..]).is_err());
        assert!(receive::<Request>(&mut &[9, 0, 0, 0, 0][..]).is_err());
        assert!(receive::<Request>(&mut &[1, 0, 0, 0, 0xFF][..]).is_err());
    }
}
