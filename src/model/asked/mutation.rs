//! Mutations of a row, as HBase has them, and what a mount needs beyond.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::{
    Cell, CellInfo, FileAttributes, FileChange, Qualifier, RowKey, SeqNo, TableName, TimeRange, Timestamp,
};
use crate::{Error, ErrorKind, Result};

/// When a write counts as done (HBase: Durability), weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Durability {
    /// Memory only until the next flush.
    SkipWal,
    /// In the log's buffer; written by the next sync.
    AsyncWal,
    /// Written to the file (survives the process), on the disk within the sync interval.
    SyncWal,
    /// On the disk before the acknowledgement.
    FsyncWal,
}

impl Durability {
    /// From HBase's name of it.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "SKIP_WAL" => Self::SkipWal,
            "ASYNC_WAL" => Self::AsyncWal,
            "SYNC_WAL" => Self::SyncWal,
            "FSYNC_WAL" => Self::FsyncWal,
            _ => return None,
        })
    }
}

/// How a mutation without an explicit time gets its timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Time {
    /// The clock, as HBase's servers do.
    Now,
    /// The clock, but later than the newest version and the newest tombstone that covers the column.
    AfterNewest,
    /// As [`Time::AfterNewest`], of a change that was made at this time rather than now.
    AfterNewestSince(Timestamp),
    /// As [`Time::AfterNewest`], unless this version is still the newest: then its own timestamp again, so
    /// that several commits of one open file end as one version.
    Replacing { timestamp: Timestamp, seq: SeqNo },
    /// As [`Time::AfterNewest`], if this is still the newest version that reads see (`None`: they see none); else
    /// the put is refused ([`ErrorKind::Overtaken`]).
    AfterShown(Option<(Timestamp, SeqNo)>),
    /// Exactly this one.
    At(Timestamp),
}

/// Bytes of a value to write.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Value {
    Bytes(Vec<u8>),
    /// `len` bytes from the start of an unlinked file: large values are not held in memory.
    #[serde(skip)]
    Spilled {
        file: Arc<std::fs::File>,
        len: u64,
    },
    /// The bytes of a stored version, shared and not rewritten.
    #[serde(skip)]
    Shared(CellInfo),
    /// Bytes that the store has already, for this cell.
    #[serde(skip)]
    Written(Written),
}

/// A value of so many bytes that a store was given before the cell that is to have it.
#[derive(Clone)]
pub struct Written {
    pub len: u64,
    /// What the store that has the bytes knows them by.
    pub held: Arc<dyn std::any::Any + Send + Sync>,
}

impl std::fmt::Debug for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes that the store has", self.len)
    }
}

impl Value {
    /// Length in bytes.
    pub fn len(&self) -> u64 {
        match self {
            Value::Bytes(bytes) => bytes.len() as u64,
            Value::Spilled { len, .. } => *len,
            Value::Shared(cell) => cell.len(),
            Value::Written(written) => written.len,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One cell of a Put.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PutCell {
    pub family: String,
    pub qualifier: Qualifier,
    pub time: Time,
    pub value: Value,
    pub ttl_ms: Option<u64>,
    /// What was set on the file, ours.
    pub file: FileAttributes,
    /// Restores a deleted version: see [`crate::model::Tags::ended_at`].
    pub ended_at: Option<Timestamp>,
}

impl PutCell {
    /// A value and nothing besides.
    pub fn new(
        family: impl Into<String>,
        qualifier: impl Into<Qualifier>,
        time: Time,
        value: impl Into<Vec<u8>>,
    ) -> Self {
        let (family, qualifier, value) = (family.into(), qualifier.into(), Value::Bytes(value.into()));
        Self { family, qualifier, time, value, ttl_ms: None, file: FileAttributes::default(), ended_at: None }
    }

    /// Whether it says nothing of whose the file is and of who may what with it.
    pub fn sets_nothing(&self) -> bool {
        self.ended_at.is_none() && self.file.without_mtime().record().is_none()
    }

    /// Gives the file what the next version keeps of the newest one, and the mtime of its own.
    pub fn keep(&mut self, kept: &FileAttributes) {
        self.file = kept.with(&FileChange::of_time(self.file.mtime()));
    }
}

/// What a delete marker addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeleteKind {
    /// One version of a column; without a time the newest (the n-th such marker of one Delete: the n-th newest).
    Version { family: String, qualifier: Qualifier },
    /// All versions of a column up to the time.
    Column { family: String, qualifier: Qualifier },
    /// All columns of a family up to the time.
    Family { family: String },
    /// All columns of a family at exactly the time.
    FamilyVersion { family: String },
    /// Every family of the table, as [`DeleteKind::Family`].
    Row,
}

/// One marker of a Delete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteMarker {
    pub kind: DeleteKind,
    pub time: Time,
    /// What it covers is not kept, whatever KEEP_DELETED_CELLS says.
    pub erases: bool,
}

/// A column and the amount (8-byte counter) or the bytes to add to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnDelta<T> {
    pub family: String,
    pub qualifier: Qualifier,
    pub delta: T,
}

/// HBase's Increment: wrapping addition on 8-byte big-endian counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Increment {
    pub columns: Vec<ColumnDelta<i64>>,
    pub time: Time,
    pub ttl_ms: Option<u64>,
    /// What a counter has that was not there before, ours: of the mount alone, no other process is told of it.
    #[serde(skip)]
    pub file: FileChange,
    /// Which old cell is seen.
    pub time_range: TimeRange,
}

/// HBase's Append: old value followed by the given bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Append {
    pub columns: Vec<ColumnDelta<Vec<u8>>>,
    pub time: Time,
    pub ttl_ms: Option<u64>,
    /// What changes on the file, ours; the rest stays as the old version had it.
    pub file: FileChange,
    pub time_range: TimeRange,
    /// Whether the new values are answered (HBase: setReturnResults).
    pub returns: bool,
}

impl Append {
    /// To the newest versions, with no more than that: nothing is answered.
    pub fn to_newest(columns: Vec<ColumnDelta<Vec<u8>>>) -> Self {
        let (file, time_range) = (FileChange::default(), TimeRange::ALL);
        Self { columns, time: Time::AfterNewest, ttl_ms: None, file, time_range, returns: false }
    }
}

/// One of HBase's four mutations, or a restore.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Mutation {
    Put(Vec<PutCell>),
    /// A version from a backup: as Put, also into a READONLY table, whose attribute may come back before its cells.
    Restore(Box<PutCell>),
    /// Markers of one Delete object.
    Delete(Vec<DeleteMarker>),
    Increment(Increment),
    Append(Append),
}

/// Who asked for a change; its own request already tells the kernel. 0 = nobody in particular.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin(pub u64);

impl Mutation {
    /// Cells that it says something of.
    pub fn cells(&self) -> usize {
        match self {
            Self::Put(cells) => cells.len(),
            Self::Restore(_) => 1,
            Self::Delete(markers) => markers.len(),
            Self::Increment(increment) => increment.columns.len(),
            Self::Append(append) => append.columns.len(),
        }
    }
}

/// Mutations of one row, applied all or nothing (HBase: RowMutations).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RowMutations {
    pub table: TableName,
    pub row: RowKey,
    pub mutations: Vec<Mutation>,
    /// `None`: the table's, else SYNC_WAL.
    pub durability: Option<Durability>,
    pub origin: Origin,
}

impl RowMutations {
    /// Refuses values of puts that are longer than a store takes ([`ErrorKind::ValueTooLarge`]).
    pub fn check_values(&self, limit: u64) -> Result<()> {
        for mutation in &self.mutations {
            let cells = match mutation {
                Mutation::Put(cells) => cells.as_slice(),
                Mutation::Restore(cell) => std::slice::from_ref(&**cell),
                Mutation::Delete(_) | Mutation::Increment(_) | Mutation::Append(_) => &[],
            };
            for cell in cells {
                check_value_len(&cell.family, &cell.qualifier, cell.value.len(), limit)?;
            }
        }
        Ok(())
    }
}

/// Mutations of many rows of a table, applied in one step, all or nothing (HBase: mutateRows).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ManyRows {
    pub table: TableName,
    /// In order; where mutations read, they see all rows as they were before.
    pub rows: Vec<(RowKey, Vec<Mutation>)>,
    /// `None`: the table's, else SYNC_WAL.
    pub durability: Option<Durability>,
    pub origin: Origin,
    /// What is set on a file stays where a put that sets nothing of it is its next version, ours.
    pub keeps_files: bool,
}

impl ManyRows {
    /// One row, whose files keep what is set on them.
    pub fn of_files(row: RowMutations) -> Self {
        let RowMutations { table, row, mutations, durability, origin } = row;
        Self { table, rows: vec![(row, mutations)], durability, origin, keeps_files: true }
    }

    /// The rows, each by itself.
    pub fn each(self) -> impl Iterator<Item = RowMutations> {
        let Self { table, rows, durability, origin, .. } = self;
        rows.into_iter().map(move |(row, mutations)| RowMutations {
            table: table.clone(),
            row,
            mutations,
            durability,
            origin,
        })
    }
}

/// Refuses a value of `len` bytes where `limit` is the most ([`ErrorKind::ValueTooLarge`]).
pub fn check_value_len(family: &str, qualifier: &[u8], len: u64, limit: u64) -> Result<()> {
    if len <= limit {
        return Ok(());
    }
    let (family, qualifier) = (family.escape_debug(), qualifier.escape_ascii());
    let text = format!("The value of {family}:{qualifier} is {len} bytes; this store takes {limit} at most");
    Err(Error::new(ErrorKind::ValueTooLarge, text))
}

/// Why a put is refused where a tombstone has the last time that there is ([`ErrorKind::IllegalArgument`]).
pub fn hidden_for_good(family: &str, qualifier: &[u8]) -> Error {
    let (family, qualifier) = (family.escape_debug(), qualifier.escape_ascii());
    let text = format!(
        "{family}:{qualifier} has a tombstone of the last time that there is, {}, which hides whatever is put; a major \
         compaction takes it away, unless the family keeps what was deleted",
        Timestamp::MAX
    );
    Error::new(ErrorKind::IllegalArgument, text)
}

/// Why a put is refused that was for what reads saw before ([`Time::AfterShown`]).
pub fn overtaken() -> Error {
    Error::new(ErrorKind::Overtaken, "something else was written there meanwhile, which stays")
}

/// Comparison operators (HBase: CompareOperator). A condition reads `given OP stored`, a filter `stored OP given`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompareOp {
    Less,
    LessOrEqual,
    Equal,
    NotEqual,
    GreaterOrEqual,
    Greater,
}

/// Condition of a check-and-mutate, judged under the row's lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Condition {
    /// `value OP newest cell of the column`; `None` = the column must not exist (or must, with NotEqual).
    Column { family: String, qualifier: Qualifier, op: CompareOp, value: Option<Vec<u8>>, time_range: TimeRange },
    /// The row, read through a filter of HBase's filter language, is not empty.
    Filter { filter: Vec<u8>, time_range: TimeRange },
    /// This is the newest version that reads see of the column; `None`: they see none.
    Newest { family: String, qualifier: Qualifier, version: Option<(Timestamp, SeqNo)> },
    /// No version of the column, live or kept, was put after `seq`.
    NoneAfter { family: String, qualifier: Qualifier, seq: SeqNo },
}

/// What a mutation did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mutated {
    /// False when the condition did not hold; then nothing was written.
    pub applied: bool,
    /// The new cells of increments and appends, in HBase order.
    pub results: Vec<Cell>,
    /// The version that each put cell became, in the order given (cells of all Puts, Increments, Appends).
    pub written: Vec<CellInfo>,
}
