//! How large things are on a small disk, and what is kept free of it.

use crate::store::options::StoreOptions;

const MIB: u64 = 1 << 20;

/// The least that is reserved for flushes and compactions, and for deletes, and its part of what is stored.
const LAST: (u64, u64) = (384 << 10, 16);
const DELETES: (u64, u64) = (64 << 10, 64);
/// A disk that others cannot fill faster than the reserve grows, bytes: on smaller ones it is whole from the start.
const LARGE: u64 = 4 << 30;
/// A compaction's slice on a full disk, at least; what ends it may have as much again, and three quarters of [`LAST`] hold it.
pub const LEAST_SLICE: u64 = MIB / 8;

/// What is kept free of a disk, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// For tombstones, at most.
    deletes: u64,
    /// For flushes and compactions, at most.
    pub last: u64,
    /// Whether that is reserved by and by.
    grows: bool,
    /// What full memtables take on the disk.
    pub flushes: u64,
    /// With less free room only tombstones are written.
    pub least: u64,
    /// With so much free room beside the reserve anything is written again.
    pub enough: u64,
    /// After so many bytes that were written the free room is looked at.
    pub look: u64,
}

impl Sizes {
    /// For a disk of so many bytes; fits the options to it.
    pub fn of(options: &mut StoreOptions, disk_total: u64) -> Self {
        options.memtable_bytes = options.memtable_bytes.min((disk_total / 128).max(MIB / 2));
        // A slice of a compaction fits into the reserve, and so does what its inputs have in common with it.
        options.segment_bytes = options.segment_bytes.min((disk_total / 256).max(LEAST_SLICE));
        let deletes = (disk_total / 128).clamp(MIB / 4, 2 * options.memtable_bytes.max(MIB));
        let last = (disk_total / 32).clamp(MIB / 2, 4 * options.memtable_bytes.max(MIB));
        // What is in memory: one that is filled, and two that are flushed.
        let flushes = (3 * options.memtable_bytes + MIB).min(disk_total / 12);
        let least = (2 * flushes).min(disk_total / 8);
        // Not at once short of room again.
        let enough = (2 * least).min(disk_total / 4);
        let look = (least - flushes) / 4;
        Self { deletes, last, grows: disk_total >= LARGE, flushes, least, enough, look }
    }

    /// What is reserved where so many bytes are stored: for flushes and compactions, and for deletes.
    pub fn reserved(&self, stored: u64) -> (u64, u64) {
        let part =
            |most: u64, (least, of): (u64, u64)| if self.grows { most.min(least.max(stored / of)) } else { most };
        (part(self.last, LAST), part(self.deletes, DELETES))
    }
}
