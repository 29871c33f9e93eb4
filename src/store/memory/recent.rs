//! How late the cells of a column can be, and when it was written to last, known without looking for them.
//!
//! Columns share slots by hash, so that the answer may be too late, never too early.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use rustc_hash::FxBuildHasher;

use crate::model::{FamilyId, SeqNo, Timestamp};

const SLOTS: usize = 1 << 16;

/// See the module: cells that were written since the store was opened.
pub struct Recent {
    slots: Vec<Slot>,
}

/// The latest timestamp and the greatest number of cells.
struct Slot {
    latest: AtomicI64,
    written_upto: AtomicU64,
}

impl Default for Slot {
    fn default() -> Self {
        Self { latest: AtomicI64::new(Timestamp::ZERO.0), written_upto: AtomicU64::new(0) }
    }
}

impl Default for Recent {
    fn default() -> Self {
        Self { slots: (0..SLOTS).map(|_| Slot::default()).collect() }
    }
}

impl Recent {
    fn slot(&self, family: FamilyId, row: &[u8], qualifier: &[u8]) -> &Slot {
        let hash = FxBuildHasher.hash_one((family.0, row, qualifier));
        &self.slots[hash as usize % SLOTS]
    }

    /// A cell of the column is about to be seen; as [`Recent::latest`], without it.
    pub fn note(
        &self,
        (family, row, qualifier): (FamilyId, &[u8], &[u8]),
        timestamp: Timestamp,
        seq: SeqNo,
    ) -> Timestamp {
        let slot = self.slot(family, row, qualifier);
        slot.written_upto.fetch_max(seq.0, Ordering::AcqRel);
        Timestamp(slot.latest.fetch_max(timestamp.0, Ordering::AcqRel))
    }

    /// No cell of the column that was written since the store was opened is later.
    pub fn latest(&self, family: FamilyId, row: &[u8], qualifier: &[u8]) -> Timestamp {
        Timestamp(self.slot(family, row, qualifier).latest.load(Ordering::Acquire))
    }

    /// No cell of the column that was written since the store was opened has a greater number.
    pub fn written_upto(&self, family: FamilyId, row: &[u8], qualifier: &[u8]) -> SeqNo {
        SeqNo(self.slot(family, row, qualifier).written_upto.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_later_than_what_is_told() {
        let recent = Recent::default();
        for n in 0..200_000_u32 {
            let name = n.to_be_bytes();
            recent.note((FamilyId(1), &name, &name), Timestamp(i64::from(n)), SeqNo(u64::from(n)));
            recent.note((FamilyId(1), &name, &name), Timestamp(3), SeqNo(3));
        }
        for n in 0..200_000_u32 {
            let name = n.to_be_bytes();
            assert!(recent.latest(FamilyId(1), &name, &name) >= Timestamp(i64::from(n)));
            assert!(recent.written_upto(FamilyId(1), &name, &name) >= SeqNo(u64::from(n)));
        }
    }
}
