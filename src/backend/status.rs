//! What a store is and does now, in numbers, and the compactions that it can be asked for.

use serde::{Deserialize, Serialize};

use crate::model::TableName;

/// Numbers about a store for `status`, `stats` and `df`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Cells in the index and the memtable, tombstones included.
    pub cells: u64,
    pub segments: u64,
    /// Bytes of all segment files.
    pub segment_bytes: u64,
    /// Bytes of entries that the index or the memtable points to; a value that several cells share counts once.
    /// The rest of the segments is entries that nothing points to, and the heads of records.
    pub live_bytes: u64,
    pub index_bytes: u64,
    pub memtable_cells: u64,
    pub memtable_bytes: u64,
    /// Last sequence number given, last one in the index, last one known to be on the disk.
    pub last_seq: u64,
    pub checkpoint_seq: u64,
    pub synced_seq: u64,
    pub flushes: u64,
    pub compactions: u64,
    /// What is done in the background now, in words; empty when idle.
    pub activity: String,
    /// Why the store is read as it is and takes no changes where it is; `None`: it takes them.
    pub reads_alone: Option<String>,
    /// The compaction that is under way.
    pub compaction: Option<CompactionProgress>,
    /// Why nothing is acknowledged any more.
    pub poisoned: Option<String>,
    pub last_error: Option<String>,
    /// Cells that reads have looked at since the store was opened, hidden ones and tombstones among them.
    pub cells_read: u64,
    /// Reads that met damage since the store was opened.
    pub damaged_reads: u64,
    /// Segments that were deleted since the store was opened because all in them had expired.
    pub expired_segments: u64,
    /// Bytes of the filesystem under the store: all, free, free for us.
    pub disk_total: u64,
    pub disk_free: u64,
    pub disk_available: u64,
    /// Bytes that may be written before what only takes room is refused.
    pub disk_writable: u64,
}

/// A compaction under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactionProgress {
    pub table: TableName,
    pub family: String,
    pub kind: CompactionKind,
    /// How much of the family it has looked at.
    pub percent: u8,
}

/// Compaction on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompactionKind {
    Minor,
    Major,
}
