//! How late the cells of a column can be, known without looking for them.
//!
//! Columns share slots by hash, so that the answer may be too late, never too early.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicI64, Ordering};

use rustc_hash::FxBuildHasher;

use crate::model::{FamilyId, Timestamp};

const SLOTS: usize = 1 << 16;

/// See the module: cells that were written since the store was opened.
pub struct Recent {
    slots: Vec<AtomicI64>,
}

impl Default for Recent {
    fn default() -> Self {
        Self { slots: (0..SLOTS).map(|_| AtomicI64::new(Timestamp::ZERO.0)).collect() }
    }
}

impl Recent {
    fn slot(&self, family: FamilyId, row: &[u8], qualifier: &[u8]) -> &AtomicI64 {
        let hash = FxBuildHasher.hash_one((family.0, row, qualifier));
        &self.slots[hash as usize % SLOTS]
    }

    /// A cell of the column is about to be seen; as [`Recent::latest`], without it.
    pub fn note(&self, (family, row, qualifier): (FamilyId, &[u8], &[u8]), timestamp: Timestamp) -> Timestamp {
        Timestamp(self.slot(family, row, qualifier).fetch_max(timestamp.0, Ordering::AcqRel))
    }

    /// No cell of the column that was written since the store was opened is later.
    pub fn latest(&self, family: FamilyId, row: &[u8], qualifier: &[u8]) -> Timestamp {
        Timestamp(self.slot(family, row, qualifier).load(Ordering::Acquire))
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
            recent.note((FamilyId(1), &name, &name), Timestamp(i64::from(n)));
            recent.note((FamilyId(1), &name, &name), Timestamp(3));
        }
        for n in 0..200_000_u32 {
            let name = n.to_be_bytes();
            assert!(recent.latest(FamilyId(1), &name, &name) >= Timestamp(i64::from(n)));
        }
    }
}
