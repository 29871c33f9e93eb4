//! What is being written and is not stored yet.

use std::sync::atomic::{AtomicU64, Ordering};

/// See the module.
#[derive(Default)]
pub struct Uploads {
    drafted: AtomicU64,
    loads: AtomicU64,
}

impl Uploads {
    /// A draft holds so many bytes that are in no chunk yet, instead of those `before`.
    pub fn note_drafted(&self, before: u64, held: u64) {
        self.drafted.fetch_add(held, Ordering::Relaxed);
        self.drafted.fetch_sub(before, Ordering::Relaxed);
    }

    /// Bytes that drafts hold which are in no chunk yet.
    pub fn drafted(&self) -> u64 {
        self.drafted.load(Ordering::Relaxed)
    }

    /// One more bulk load is open; false if there are as many as may be.
    pub fn begin_load(&self, most: u64) -> bool {
        let take = |open: u64| (open < most).then_some(open + 1);
        self.loads.try_update(Ordering::AcqRel, Ordering::Acquire, take).is_ok()
    }

    /// One is no longer open.
    pub fn end_load(&self) {
        let before = self.loads.fetch_sub(1, Ordering::AcqRel);
        debug_assert!(before > 0, "no bulk load was open");
    }
}
