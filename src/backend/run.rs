//! A part of a column's history, and of a table's rows.

use serde::{Deserialize, Serialize};

use crate::model::{CellInfo, RowKey, Timestamp};

/// Neighbouring rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowPiece {
    /// The first one; `None`: from the first of the table.
    pub from: Option<RowKey>,
    /// The one before which it ends; `None`: to the last of the table.
    pub before: Option<RowKey>,
}

/// Neighbouring versions of a column, live and kept, newest first, without a gap.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRun {
    pub cells: Vec<CellInfo>,
    /// There is nothing newer than the first, nothing older than the last.
    pub from_newest: bool,
    pub to_oldest: bool,
}

impl VersionRun {
    /// Whether the run tells what there is of a time.
    pub fn covers(&self, timestamp: Timestamp) -> bool {
        let reaches_up = self.from_newest || self.cells.first().is_some_and(|newest| timestamp <= newest.timestamp);
        let reaches_down = self.to_oldest || self.cells.last().is_some_and(|oldest| timestamp >= oldest.timestamp);
        reaches_up && reaches_down
    }

    /// The version of a time.
    pub fn find(&self, timestamp: Timestamp) -> Option<&CellInfo> {
        let at = self.cells.binary_search_by(|cell| timestamp.cmp(&cell.timestamp)).ok()?;
        self.cells.get(at)
    }
}
