//! Cells, their kinds and what rides along with them.
//!
//! Order of cells (HBase: CellComparatorImpl): row, family, qualifier ascending as bytes; timestamp
//! descending; kind code descending; sequence number descending.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::model::{FamilyId, FileAttributes, FileTime, Qualifier, RowKey, Shared, Timestamp};

/// Order of writes in a store. All cells of one atomic batch share one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SeqNo(pub u64);

/// Which flush (HBase: which HFile) a cell came with; 0 = not flushed yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Generation(pub u32);

/// What a tombstone hides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Tombstone {
    /// One version of a column (HBase type Delete).
    Version,
    /// One timestamp in every column of a family (DeleteFamilyVersion).
    FamilyVersion,
    /// A column up to a timestamp (DeleteColumn).
    Column,
    /// A family up to a timestamp (DeleteFamily).
    Family,
}

impl Tombstone {
    /// HBase's name of the type (KeyValue.Type).
    pub fn name(self) -> &'static str {
        match self {
            Tombstone::Version => "Delete",
            Tombstone::FamilyVersion => "DeleteFamilyVersion",
            Tombstone::Column => "DeleteColumn",
            Tombstone::Family => "DeleteFamily",
        }
    }
}

/// A put or a tombstone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CellKind {
    Put,
    Tombstone(Tombstone),
}

impl CellKind {
    /// HBase's type code (KeyValue.Type); greater codes sort first at one timestamp.
    pub fn code(self) -> u8 {
        match self {
            CellKind::Put => 4,
            CellKind::Tombstone(Tombstone::Version) => 8,
            CellKind::Tombstone(Tombstone::FamilyVersion) => 10,
            CellKind::Tombstone(Tombstone::Column) => 12,
            CellKind::Tombstone(Tombstone::Family) => 14,
        }
    }

    /// The kind of a type code, `None` for a code that is not stored.
    pub fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            4 => CellKind::Put,
            8 => CellKind::Tombstone(Tombstone::Version),
            10 => CellKind::Tombstone(Tombstone::FamilyVersion),
            12 => CellKind::Tombstone(Tombstone::Column),
            14 => CellKind::Tombstone(Tombstone::Family),
            _ => return None,
        })
    }

    pub fn is_put(self) -> bool {
        self == CellKind::Put
    }

    /// Whether it is a tombstone of a whole family; those have an empty qualifier.
    pub fn is_family_tombstone(self) -> bool {
        matches!(self, CellKind::Tombstone(Tombstone::Family | Tombstone::FamilyVersion))
    }
}

/// What rides along with a cell besides its value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tags {
    /// Cell TTL in milliseconds (HBase: TTL tag).
    pub ttl_ms: Option<u64>,
    /// What programs have set on the file.
    pub file: FileAttributes,
    /// Restored deleted version: the time of the tombstone that ended it. Such a put is never live.
    pub ended_at: Option<Timestamp>,
    /// When a tombstone was written, a deletion restored, or a version whose timestamp ran ahead: by the clock.
    pub written_at: Option<Timestamp>,
    /// Tombstone: what it covers is not kept, whatever KEEP_DELETED_CELLS says. Put: a change of attributes,
    /// which takes the place of older puts of its timestamp for good, also when its TTL has passed.
    pub erases: bool,
    /// The value is lost: the log was damaged where it stood. Its bytes are no answer.
    pub is_damaged: bool,
}

impl Tags {
    /// Last millisecond at which a cell of this timestamp is alive by its own TTL; `None` if it has none.
    pub fn alive_until(&self, timestamp: Timestamp) -> Option<i64> {
        self.ttl_ms.map(|ttl| timestamp.0.saturating_add(i64::try_from(ttl).unwrap_or(i64::MAX)))
    }
}

/// A value as a cell carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueBytes<'a> {
    /// All of it.
    Bytes(&'a [u8]),
    /// The root of a large one of so many bytes.
    Root { len: u64, bytes: &'a [u8] },
}

impl<'b> ValueBytes<'b> {
    /// What the cell itself has.
    pub fn bytes(&self) -> &'b [u8] {
        match self {
            Self::Bytes(bytes) | Self::Root { bytes, .. } => bytes,
        }
    }

    /// Length of the value as the user sees it.
    pub fn value_len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Root { len, .. } => *len,
        }
    }
}

/// The value of a stored cell: how long it is, and what only the store that gave it reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ValueRef {
    /// The bytes themselves: it is short.
    Here(Shared),
    /// That of the cell of this family with this key.
    Of { len: u64, family: FamilyId, key: Arc<[u8]> },
}

impl Default for ValueRef {
    fn default() -> Self {
        Self::Here(Shared::default())
    }
}

impl ValueRef {
    /// Length in bytes, as the user sees it.
    pub fn len(&self) -> u64 {
        match self {
            Self::Here(bytes) => bytes.len() as u64,
            Self::Of { len, .. } => *len,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A stored cell without its value, as the rules of visibility see it. Its row and family are the
/// reader's context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCell {
    /// Empty for family tombstones.
    pub qualifier: Qualifier,
    pub timestamp: Timestamp,
    pub kind: CellKind,
    pub seq: SeqNo,
    pub generation: Generation,
    pub tags: Tags,
    pub value: ValueRef,
    /// Which cell of a walk it is, for who gave it to the rules and gets it back.
    pub ordinal: usize,
}

/// One version of a column as `stat` and listings need it, without its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellInfo {
    pub timestamp: Timestamp,
    pub seq: SeqNo,
    pub tags: Tags,
    pub value: ValueRef,
    /// `Some(T)` for a deleted version that is kept: T is the time of the tombstone that ended it.
    pub deleted_at: Option<Timestamp>,
    /// Of such a version: reads of a past that ends later do not see it.
    pub hidden_from: Option<Timestamp>,
    /// When the version expires by its cell's or its family's TTL, ms since 1970.
    pub expires_at: Option<Timestamp>,
}

impl CellInfo {
    /// Length of the value in bytes.
    pub fn len(&self) -> u64 {
        self.value.len()
    }

    pub fn is_empty(&self) -> bool {
        self.value.is_empty()
    }

    /// Bytes that it takes, about.
    pub fn held(&self) -> usize {
        let value = match &self.value {
            ValueRef::Here(bytes) => bytes.len(),
            ValueRef::Of { key, .. } => key.len(),
        };
        size_of_val(self) + value + self.tags.file.held()
    }

    /// The mtime that `stat` shows: the one that was set, else the version's timestamp.
    pub fn mtime(&self) -> FileTime {
        self.tags.file.mtime().unwrap_or_else(|| self.timestamp.into())
    }

    /// The ctime that `stat` shows: when the version was written, or what was set on it later.
    pub fn ctime(&self) -> FileTime {
        self.tags.file.changed().map_or(self.timestamp, |changed| changed.max(self.timestamp)).into()
    }
}

/// A cell of a result, with its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cell {
    pub family: String,
    pub qualifier: Qualifier,
    pub timestamp: Timestamp,
    pub kind: CellKind,
    pub tags: Tags,
    pub value: Vec<u8>,
}

/// The cells of one row (or, with a batch limit, of a part of it) in HBase order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowResult {
    pub row: RowKey,
    pub cells: Vec<Cell>,
}
