//! Versions of exactly one time, looked up with those around them.

use super::judged::Remembered;
use crate::Result;
use crate::model::{CellInfo, ColumnKey, Timestamp};
use crate::tree::base::Tree;
use crate::tree::stored;

/// The version of exactly this time, live or kept.
pub fn version(tree: &Tree, column: &ColumnKey, timestamp: Timestamp) -> Result<Option<CellInfo>> {
    let now = tree.backend.now();
    if let Some(known) = tree.judged.known(column, timestamp, now) {
        return Ok(known);
    }
    // Order: before the store is asked, so that a change meanwhile makes the answer old.
    let stamp = tree.judged.stamp(column);
    let around = tree.judged.around(column);
    let Some(run) = stored::existing(tree.backend.list_around(column, timestamp, around))? else { return Ok(None) };
    let found = run.find(timestamp).cloned();
    if !run.cells.is_empty() {
        tree.judged.remember(column, Remembered { stamp, at: now, run });
    }
    Ok(found)
}
