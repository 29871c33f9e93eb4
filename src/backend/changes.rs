//! Following changes: what was committed, in the order of its numbers.

use serde::{Deserialize, Serialize};

use crate::model::{CellKind, Qualifier, RowKey, SeqNo, TableName, Timestamp};

/// Which changes, and from where on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangesQuery {
    /// Only those with greater numbers.
    pub after: SeqNo,
    /// Of this table alone.
    pub table: Option<TableName>,
    /// Of this row alone.
    pub row: Option<RowKey>,
    /// Of rows that begin so.
    pub row_prefix: RowKey,
    /// Of these families or columns; empty: of all.
    pub columns: Vec<(String, Option<Qualifier>)>,
}

/// A cell that was written: a version that came, or a tombstone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Its table and family by their names of now.
    pub table: TableName,
    pub row: RowKey,
    pub family: String,
    pub qualifier: Qualifier,
    pub timestamp: Timestamp,
    pub kind: CellKind,
    pub ttl_ms: Option<u64>,
    /// A deleted version that is kept, when it was: it came so, in a directory that was moved or from a history.
    pub deleted_at: Option<Timestamp>,
    /// `None`: it is large, and is read by its timestamp.
    pub value: Option<Vec<u8>>,
    /// Bytes of the value.
    pub len: u64,
}

/// What was committed as a whole under one number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Committed {
    pub seq: SeqNo,
    pub changes: Vec<Change>,
}

/// Some of the changes that were asked for, oldest first. Bounded: what follows is asked for after `upto`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangesPage {
    pub committed: Vec<Committed>,
    /// All changes up to this number were looked at.
    pub upto: SeqNo,
    /// Whether that is all there is on the disk by now.
    pub is_last: bool,
    /// Changes up to this number are not in the log any more; zero: all since the store was made are.
    pub gone: SeqNo,
}
