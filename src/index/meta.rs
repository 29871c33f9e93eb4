//! Numbers that commit together with the rows they are about.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::{FamilyId, Generation, SegmentId, SeqNo};

/// How far the index covers the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Every cell up to it is in the index (or was dropped).
    pub seq: SeqNo,
    /// Replay starts here.
    pub segment: SegmentId,
    pub offset: u64,
}

/// Sums over the index rows that point into a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentStats {
    /// Rows that have their own entry or their value there.
    pub live: u64,
    /// Bytes of heads and values that rows point to.
    pub live_bytes: u64,
}

/// What is known of a family's indexed cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FamilyStats {
    pub cells: u64,
    /// No indexed cell has a greater timestamp.
    pub max_timestamp: i64,
    /// Tombstones of whole families; 0 lets a read of one column skip the search for them.
    pub family_tombstones: u64,
    /// When the last major compaction ended, ms since 1970.
    pub compacted_at: i64,
    /// Bytes that were indexed since then: what a compaction might find.
    pub changed: u64,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    pub checkpoint: Checkpoint,
    /// The last generation given.
    pub generation: Generation,
    /// Greater than every number of a segment that ever was.
    pub next_segment: u32,
    pub families: BTreeMap<FamilyId, FamilyStats>,
    pub segments: BTreeMap<SegmentId, SegmentStats>,
    pub flushes: u64,
    pub compactions: u64,
}

impl Meta {
    /// Rows of the index.
    pub fn cells(&self) -> u64 {
        self.families.values().map(|f| f.cells).sum()
    }

    /// Bytes that rows point to.
    pub fn live_bytes(&self) -> u64 {
        self.segments.values().map(|s| s.live_bytes).sum()
    }

    /// Counts a row in.
    pub fn add(&mut self, row: &super::IndexRow) {
        let bytes = entry_bytes(row);
        let segment = self.segments.entry(row.value.segment).or_default();
        segment.live += 1;
        segment.live_bytes += bytes;
        if let Some((own, _)) = row.own {
            self.segments.entry(own).or_default().live += 1;
        }
    }

    /// Counts a row out.
    pub fn remove(&mut self, row: &super::IndexRow) {
        let bytes = entry_bytes(row);
        let segment = self.segments.entry(row.value.segment).or_default();
        segment.live = segment.live.saturating_sub(1);
        segment.live_bytes = segment.live_bytes.saturating_sub(bytes);
        if let Some((own, _)) = row.own {
            let own = self.segments.entry(own).or_default();
            own.live = own.live.saturating_sub(1);
        }
    }
}

fn entry_bytes(row: &super::IndexRow) -> u64 {
    u64::from(row.value.head_len) + u64::from(row.value.stored_len)
}
