//! Messages of the control socket: each a 4-byte little-endian length and a postcard-encoded value.
//!
//! Rows and values go in pieces, so that neither end holds more than a few messages, whatever is stored.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::backend::{
    ChangesPage, ChangesQuery, ColumnNumbers, ColumnsPage, CompactionKind, DeletedPage, DeletedQuery, Directory,
    FamilyColumns, FamilyNumbers, HistoryFrom, PurgeScope, RenameCell, Restoration, RowListing, SnapshotInfo, Status,
    VersionRun, Versions,
};
use crate::daemon::numbers::DaemonNumbers;
use crate::error::printable;
use crate::model::{
    AttributeChange, Catalogue, CatalogueChange, CellInfo, CheckEvent, ColumnKey, Condition, Get, ManyRows, Mutated,
    Piece, Qualifier, RowKey, RowMutations, Scan, SeqNo, TableName, TimeRange, Timestamp,
};
use crate::tree::names::escape::Spelling;
use crate::{Error, ErrorKind, Result};

/// Largest message, bytes. What is not sent in pieces has to fit: the catalogue, a batch of small puts, what is appended
/// to a value.
const MESSAGE_MAX: usize = 65 << 20;
/// A message is read in pieces of this size, so that a false length cannot take memory. A longer one is large.
const PIECE: usize = 1 << 20;
/// Answers of a get or a scan are sent when they have come to so many bytes.
pub const ANSWER_BYTES: usize = 256 << 10;
/// A longer value of a put follows its request in [`Part`]s of so many bytes.
pub const PART: usize = 256 << 10;

/// Bytes of a value of a put, behind the request.
#[derive(Serialize, Deserialize)]
pub struct Part(pub Vec<u8>);

/// Where a value that follows in parts belongs: number of the mutation, of its cell, length in bytes.
pub type LargeValue = (u32, u32, u64);

/// What a client asks.
#[derive(Serialize, Deserialize)]
pub enum Request {
    Hello,
    Catalogue,
    Alter(CatalogueChange),
    Get(Get),
    Scan(Scan),
    /// The large values follow as [`Part`]s, in this order.
    Mutate(RowMutations, Option<Condition>, Vec<LargeValue>),
    MutateRows(ManyRows),
    /// Of a table, see [`crate::backend::Backend::moment`].
    Moment(TableName),
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
    EraseCopied(ColumnKey, ColumnKey, Option<SeqNo>),
    Leave(Directory, Directory),
    SetAttributes(ColumnKey, CellInfo, AttributeChange),
    Sync,
    Flush(Option<TableName>),
    Purge(PurgeScope),
    Compact(TableName, Option<String>, CompactionKind),
    Status,
    TableNumbers(TableName),
    TableColumns(TableName),
    ColumnsPage(ColumnsPage),
    Changes(ChangesQuery),
    Snapshots,
    CreateSnapshot(String, Option<TableName>),
    DeleteSnapshot(String),
    Restore(Restoration),
    Numbers,
    Check,
    CountRows(Scan),
    ListDeleted(DeletedQuery),
    /// Whether the cluster of a mount answers.
    ClusterAnswers,
}

impl Request {
    /// What its kind is counted as.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Hello => "connect",
            Self::Catalogue => "catalogue",
            Self::Alter(_) => "alter",
            Self::Get(_) => "get",
            Self::Scan(_) => "scan",
            Self::Mutate(..) | Self::MutateRows(_) => "mutate",
            Self::Moment(_) => "moment",
            Self::Newest(..) => "newest",
            Self::ReadValue(..) => "read_value",
            Self::ListRows(_) => "list_rows",
            Self::CountRows(_) => "count_rows",
            Self::ListFamilies(..) => "list_families",
            Self::ListAround(..) | Self::ListVersions(..) => "list_versions",
            Self::ListHistory(..) => "list_history",
            Self::ListDeleted(_) => "list_deleted",
            Self::ListColumns(..) => "list_columns",
            Self::RenameCell(_) | Self::RenameDirectory(..) | Self::EraseCopied(..) | Self::Leave(..) => "rename",
            Self::SetAttributes(..) => "set_attributes",
            Self::Sync => "sync",
            Self::Flush(_) => "flush",
            Self::Purge(_) => "purge",
            Self::Compact(..) => "compact",
            Self::Status | Self::ClusterAnswers => "status",
            Self::Check => "check",
            Self::Numbers => "stats",
            Self::Changes(_) => "changes",
            Self::TableNumbers(_) | Self::TableColumns(_) | Self::ColumnsPage(_) => "describe",
            Self::Snapshots | Self::CreateSnapshot(..) | Self::DeleteSnapshot(_) | Self::Restore(_) => "snapshot",
        }
    }

    /// Whether what is stored in a column may matter for the answer.
    pub fn may_concern(&self, column: &ColumnKey) -> bool {
        let in_row = |table: &TableName, row: &[u8]| *table == column.table && row == column.row;
        match self {
            Self::Hello | Self::Catalogue | Self::ReadValue(..) | Self::Snapshots => false,
            Self::Status | Self::Numbers | Self::ClusterAnswers => false,
            Self::Get(get) => in_row(&get.table, &get.row),
            Self::Mutate(mutations, ..) => in_row(&mutations.table, &mutations.row),
            Self::MutateRows(many) => many.table == column.table && many.rows.iter().any(|(row, _)| *row == column.row),
            Self::Moment(table) => *table == column.table,
            Self::Newest(of, _) | Self::ListVersions(of, ..) | Self::SetAttributes(of, ..) => of == column,
            Self::ListFamilies(table, row, ..)
            | Self::ListColumns(table, row, ..)
            | Self::ListHistory(table, row, ..) => in_row(table, row),
            _ => true,
        }
    }
}

/// What a daemon, or a command that has opened the store, says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub version: String,
    pub pid: u32,
    /// The path's bytes, which need not be UTF-8; `None`: it is a command that has opened the store.
    pub mount_point: Option<Vec<u8>>,
    /// Mounted with the option `ro`.
    pub read_only: bool,
    /// Mounted with the option `noxattr`.
    pub no_xattr: bool,
    pub value_limit: u64,
    pub now: Timestamp,
    pub hash_key: [u8; 16],
    /// How names are spelt in the mount.
    pub spelling: Spelling,
}

impl Hello {
    /// Where the daemon serves the store.
    pub fn mount_point(&self) -> Option<&Path> {
        self.mount_point.as_deref().map(|path| Path::new(OsStr::from_bytes(path)))
    }

    /// Whether it is the daemon of a mount.
    pub fn is_mount(&self) -> bool {
        self.mount_point.is_some()
    }

    /// The same for people, without control characters; empty where it is a command.
    pub fn shown_mount_point(&self) -> String {
        self.mount_point().map(|path| printable(&path.display().to_string())).unwrap_or_default()
    }
}

/// What it answers. A get and a scan are answered with `Pieces` and an `End`, a check with `Checked`s.
#[derive(Serialize, Deserialize)]
pub enum Response {
    Hello(Hello),
    Done,
    Whether(bool),
    Catalogue(Catalogue),
    Pieces(Vec<Piece>),
    End,
    Mutated(Mutated),
    Moment(Timestamp),
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
    ColumnsPage(Vec<ColumnNumbers>),
    Changes(ChangesPage),
    Snapshots(Vec<SnapshotInfo>),
    Numbers(Box<DaemonNumbers>),
    Failed(Error),
    Checked(CheckEvent),
    Count(Option<u64>),
    Deleted(DeletedPage),
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
    receive_large(stream, &mut || {})
}

/// As [`receive`]; `large` is called before more than a piece of a message is read.
pub fn receive_large<T: DeserializeOwned>(stream: &mut impl Read, large: &mut dyn FnMut()) -> Result<Option<T>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other.map_err(|e| lost(&e))?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MESSAGE_MAX {
        return Err(too_long());
    }
    if length > PIECE {
        large();
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
    let text = format!(
        "this is more than the {MESSAGE_MAX} bytes that go over the control socket at once: do it in smaller steps, or \
         write the file in the mount"
    );
    Error::new(ErrorKind::ValueTooLarge, text)
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
