//! What is stored, in numbers: of a family, of its qualifiers.

use serde::{Deserialize, Serialize};

use crate::model::{Qualifier, TableName, Timestamp};

/// What is stored of a family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FamilyNumbers {
    pub name: String,
    /// Stored cells: tombstones, and versions that no compaction has dropped yet, among them.
    pub cells: u64,
    /// Those of them that are in memory.
    pub unflushed: u64,
    /// Bytes that these take in the log: keys and values as they are stored.
    pub bytes: u64,
    /// Rows with such a cell, at least and at most.
    pub least_rows: u64,
    pub most_rows: u64,
    /// Flushes that no compaction has merged yet (HBase: files).
    pub layers: u64,
}

/// What is stored under each qualifier of a family.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FamilyColumns {
    pub family: String,
    /// Ascending; `None`: there are, or were, too many to count each.
    pub columns: Option<Vec<ColumnNumbers>>,
}

/// Qualifiers of a family behind one of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnsPage {
    pub table: TableName,
    pub family: String,
    /// `None`: from the first one on.
    pub after: Option<Qualifier>,
    /// Most of them.
    pub limit: usize,
}

/// Most qualifiers of a page: what is held of them.
pub const COLUMNS_PAGE: usize = 10_000;

/// The stored puts of one qualifier, over all rows; versions that no compaction has dropped yet among them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnNumbers {
    pub qualifier: Qualifier,
    pub cells: u64,
    /// Bytes of their values as users see them.
    pub bytes: u64,
    /// No timestamp is smaller, none is greater; exact until a version is dropped.
    pub oldest: Timestamp,
    pub newest: Timestamp,
}
