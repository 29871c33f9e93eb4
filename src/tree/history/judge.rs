//! Versions of exactly one time, looked up with those around them.

use super::judged::Remembered;
use crate::Result;
use crate::model::{CellInfo, ColumnKey, Timestamp};
use crate::tree::base::Tree;

/// Versions on either side of the one that was asked for.
const AROUND: usize = 1024;

impl Tree {
    /// The version of exactly this time, live or kept.
    pub fn version(&self, column: &ColumnKey, timestamp: Timestamp) -> Result<Option<CellInfo>> {
        let now = self.backend.now();
        if let Some(known) = self.judged.known(column, timestamp, now) {
            return Ok(known);
        }
        // Order: before the store is asked, so that a change meanwhile makes the answer old.
        let stamp = self.judged.stamp(column);
        let Some(run) = self.existing(self.backend.list_around(column, timestamp, AROUND))? else { return Ok(None) };
        let found = run.find(timestamp).cloned();
        if !run.cells.is_empty() {
            self.judged.remember(column, Remembered { stamp, at: now, run });
        }
        Ok(found)
    }
}
