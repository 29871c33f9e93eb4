//! How many cells reads have looked at: a cell to which a cursor steps or jumps counts once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The looks of one cursor, added to the sum of the store when it ends: no cell costs an atomic operation.
#[derive(Default)]
pub struct Looks {
    own: u64,
    sum: Option<Arc<AtomicU64>>,
}

impl Looks {
    /// None yet.
    pub fn counted_by(sum: &Arc<AtomicU64>) -> Self {
        Self { own: 0, sum: Some(Arc::clone(sum)) }
    }

    /// One more.
    #[inline]
    pub fn add(&mut self) {
        self.add_all(1);
    }

    /// So many more.
    #[inline]
    pub fn add_all(&mut self, looks: u64) {
        self.own += looks;
    }
}

impl Drop for Looks {
    fn drop(&mut self) {
        if let Some(sum) = &self.sum {
            sum.fetch_add(self.own, Ordering::Relaxed);
        }
    }
}
