//! What can be asked of a table (HBase: Get, Scan).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::model::{By, Qualifier, RowKey, TableName, TimeRange};

/// Which columns: families, each with all (`None`) or some qualifiers. Empty = all families.
pub type Columns = BTreeMap<String, Option<BTreeSet<Qualifier>>>;

/// What of a row is wanted; shared by gets and scans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadSpec {
    pub columns: Columns,
    pub time_range: TimeRange,
    /// Replaces `time_range` for single families.
    pub family_time_ranges: BTreeMap<String, TimeRange>,
    /// Versions a column; HBase's default is 1.
    pub max_versions: u32,
    /// Text in HBase's filter language, whose literals may hold any bytes.
    pub filter: Option<Vec<u8>>,
    /// Cells a row and family (maxResultsPerColumnFamily).
    pub max_per_family: Option<u32>,
    /// Cells to skip a row and family.
    pub offset_per_family: u32,
    /// Tombstones shown, nothing masked.
    pub raw: bool,
    /// Of each family.
    pub slice: ColumnSlice,
    /// Filters that seek pass by no tombstone of a family. Else, in families with classic deletes, they do as HBase's: they
    /// may show what such a tombstone hides, if it lies behind a cell of the empty qualifier. A cluster does as it does.
    pub heeds_tombstones: bool,
}

/// Columns of a family from one on and before another: what lies outside is not read, nor shown to the filter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ColumnSlice {
    pub from: Qualifier,
    /// Empty = to the end.
    pub before: Qualifier,
}

impl ColumnSlice {
    /// One column.
    pub fn of(qualifier: &[u8]) -> Self {
        Self { from: qualifier.to_vec(), before: [qualifier, &[0]].concat() }
    }

    /// Whether a column is in it.
    pub fn contains(&self, qualifier: &[u8]) -> bool {
        qualifier >= self.from.as_slice() && !self.ends_before(qualifier)
    }

    /// Whether a column and all behind it lie beyond.
    pub fn ends_before(&self, qualifier: &[u8]) -> bool {
        !self.before.is_empty() && qualifier >= self.before.as_slice()
    }

    /// What is in both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let from = self.from.clone().max(other.from.clone());
        let before = match (self.before.is_empty(), other.before.is_empty()) {
            (true, _) => other.before.clone(),
            (false, true) => self.before.clone(),
            (false, false) => self.before.clone().min(other.before.clone()),
        };
        Self { from, before }
    }
}

impl Default for ReadSpec {
    fn default() -> Self {
        Self {
            columns: Columns::new(),
            time_range: TimeRange::ALL,
            family_time_ranges: BTreeMap::new(),
            max_versions: 1,
            filter: None,
            max_per_family: None,
            offset_per_family: 0,
            raw: false,
            slice: ColumnSlice::default(),
            heeds_tombstones: false,
        }
    }
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Get {
    pub table: TableName,
    pub row: RowKey,
    pub read: ReadSpec,
}

/// A range of rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scan {
    pub table: TableName,
    /// Empty = from the first row (from the last one when reversed).
    pub start: Vec<u8>,
    pub start_inclusive: bool,
    /// Empty = to the end.
    pub stop: Vec<u8>,
    pub stop_inclusive: bool,
    pub reversed: bool,
    /// Rows; `None` = all.
    pub limit: Option<u64>,
    /// Cells a result at most; a row then continues in the next result.
    pub batch: Option<u32>,
    pub tells: Tells,
    pub read: ReadSpec,
    /// `Some`: only rows that an index of the table has.
    pub by: Option<By>,
}

/// What a scan tells of each cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tells {
    /// It and its value.
    #[default]
    Values,
    /// What `stat` and listings need ([`crate::model::Piece::Found`]): no value is read but by the filter.
    Infos,
}

impl Scan {
    /// The whole table, newest versions.
    pub fn all(table: TableName) -> Self {
        Self {
            table,
            start: Vec::new(),
            start_inclusive: true,
            stop: Vec::new(),
            stop_inclusive: false,
            reversed: false,
            limit: None,
            batch: None,
            tells: Tells::Values,
            read: ReadSpec::default(),
            by: None,
        }
    }

    /// Rows that start with `prefix` (HBase: setStartStopRowForPrefixScan).
    #[must_use]
    pub fn with_prefix(mut self, prefix: &[u8]) -> Self {
        self.start = prefix.to_vec();
        self.stop = after_prefix(prefix);
        self
    }

    /// As [`Scan::with_prefix`], from the last of these rows to the first, which HBase's scan of a prefix cannot.
    #[must_use]
    pub fn with_prefix_reversed(mut self, prefix: &[u8]) -> Self {
        self.start = after_prefix(prefix);
        self.start_inclusive = false;
        self.stop = prefix.to_vec();
        self.stop_inclusive = true;
        self.reversed = true;
        self
    }
}

/// First key after all keys that start with `prefix`; empty if there is none.
pub fn after_prefix(prefix: &[u8]) -> Vec<u8> {
    let mut stop = prefix.to_vec();
    while stop.last() == Some(&0xFF) {
        stop.pop();
    }
    if let Some(last) = stop.last_mut() {
        *last += 1;
    }
    stop
}
