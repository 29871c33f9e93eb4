//! A part of a column's history.

use serde::{Deserialize, Serialize};

use crate::model::{CellInfo, Timestamp};

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
