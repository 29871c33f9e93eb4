//! What can be asked of a table (HBase: Get, Scan).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Qualifier, RowKey, TableName, TimeRange};

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
    pub read: ReadSpec,
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
            read: ReadSpec::default(),
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
