//! What an extent says about itself: all that compaction, expiry and visibility ask without reading cells.
//!
//! It stands in the segment's trailer and in the record that makes the extent count. Pure data.

use serde::{Deserialize, Serialize};

use super::filter::FilterKind;
use super::piece::HEADER;
use crate::model::{FamilyId, SeqNo, Timestamp};

/// Most moments at which deleted cells are due to be purged.
pub const DUE_MOMENTS: usize = 16;

/// Where a part of a segment is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Offset of its header in the file.
    pub at: u64,
    /// Bytes behind the header.
    pub stored: u32,
}

impl Place {
    /// The byte behind it.
    pub(in crate::segment) fn end(self) -> u64 {
        self.at + HEADER as u64 + u64::from(self.stored)
    }

    /// The same for a place that nobody has looked at.
    pub(in crate::segment) fn checked_end(self) -> Option<u64> {
        self.at.checked_add(HEADER as u64 + u64::from(self.stored))
    }
}

/// How many tombstones of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TombstoneCounts {
    pub version: u64,
    pub family_version: u64,
    pub column: u64,
    pub family: u64,
}

impl TombstoneCounts {
    /// All of them.
    pub fn all(&self) -> u64 {
        self.version + self.column + self.of_families()
    }

    /// Those of whole families.
    pub fn of_families(&self) -> u64 {
        self.family_version + self.family
    }
}

/// See the module. Bytes are counted before compression, unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtentFacts {
    /// Its number in the file, from 0.
    pub number: u32,
    pub family: FamilyId,
    /// Whole keys.
    pub first_key: Vec<u8>,
    pub last_key: Vec<u8>,
    pub cells: u64,
    pub puts: u64,
    pub tombstones: TombstoneCounts,
    pub rows: u64,
    /// Distinct columns, those of family tombstones included.
    pub columns: u64,
    pub key_bytes: u64,
    /// Bytes of values as users see them.
    pub value_bytes: u64,
    /// Bytes of it in the file.
    pub stored_bytes: u64,
    pub least_timestamp: Timestamp,
    pub greatest_timestamp: Timestamp,
    /// The least timestamp of a put.
    pub earliest_put: Option<Timestamp>,
    pub least_seq: SeqNo,
    pub greatest_seq: SeqNo,
    /// Whether cells with a TTL of their own occur.
    pub has_ttl: bool,
    /// Whether restored puts occur (`Tags::ended_at`).
    pub has_ended: bool,
    /// Whether erasing puts or tombstones occur.
    pub has_erases: bool,
    /// Tombstones of whole families.
    pub family_tombstones: u64,
    /// The last moment at which a cell is alive by cell TTLs; none while there is one without, a tombstone or an
    /// erasing put.
    pub alive_until: Option<Timestamp>,
    /// Puts beyond `max_versions` of their column within the extent; puts of one timestamp count as one version.
    pub superseded_cells: u64,
    pub superseded_bytes: u64,
    /// What its compaction had to keep of what was superseded.
    pub kept_cells: u64,
    pub kept_bytes: u64,
    /// The greatest timestamp of a version that took the place of one that was dropped.
    pub lacks_before: Option<Timestamp>,
    /// When deleted cells are due to be purged, ascending, and how many; a moment stands for those shortly before, too.
    pub due_purges: Vec<(Timestamp, u64)>,
    /// The first and the last flush that it has cells of.
    pub layers: (u32, u32),
    pub made_at: Timestamp,
    /// Whether a major compaction made it.
    pub major: bool,
    pub max_versions: u32,
    pub filter: FilterKind,
    /// Number of the codec, see [`crate::format::Codec`].
    pub codec: u8,
    pub block_bytes: u32,
    pub blocks: u64,
    /// Bytes of the value area, with headers.
    pub area_bytes: u64,
    /// Its first byte in the file, and the byte behind it.
    pub start: u64,
    pub end: u64,
    /// Where its list of groups, its qualifiers, its chunks and its sketch are.
    pub groups_at: Place,
    pub columns_at: Place,
    pub chunks_at: Place,
    pub sketch_at: Place,
}

impl ExtentFacts {
    /// Whether all of its cells are puts that neither have a TTL of their own, nor were restored, nor erase.
    pub fn has_plain_puts(&self) -> bool {
        self.tombstones.all() == 0 && !self.has_ttl && !self.has_ended && !self.has_erases
    }

    /// Whether its places lie within it, and it within a file of so many bytes.
    pub(in crate::segment) fn fits(&self, file_len: u64) -> bool {
        let parts = [self.groups_at, self.columns_at, self.chunks_at, self.sketch_at];
        let mut from = self.start;
        let in_order = parts.iter().all(|part| {
            let fits = part.at >= from && part.checked_end().is_some_and(|end| end <= self.end);
            from = part.checked_end().unwrap_or(u64::MAX);
            fits
        });
        in_order && self.start < self.groups_at.at && self.end <= file_len && self.first_key <= self.last_key
    }
}
