//! Cells that go past the log and memory into sorted files (HBase: bulk load).

use crate::Result;
use crate::model::{PutCell, RowKey};

/// Puts of a table that are gathered and stored together. What is not committed is lost with it.
pub trait BulkLoad: Send {
    /// Takes the puts of a row, all of them or none. What it gives back is to be written the usual way (a TTL of its own,
    /// a large value, no explicit timestamp), after a commit. An error: the row is refused.
    fn put(&mut self, row: &RowKey, cells: Vec<PutCell>) -> Result<Option<Vec<PutCell>>>;
    /// Whether it holds as much as it should.
    fn is_full(&self) -> bool;
    /// Stores what it holds, all or nothing, and holds nothing then: it is on the disk when this returns. Where the
    /// table takes no bulk load meanwhile, it is written the usual way, in parts.
    fn commit(&mut self) -> Result<()>;
}
