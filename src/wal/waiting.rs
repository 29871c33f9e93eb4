//! Syncs of the log that are under way, counted: who does not want to wait for one asks first.

use std::sync::atomic::{AtomicUsize, Ordering};

/// See the module.
pub(super) struct Waiting<'l>(&'l AtomicUsize);

impl<'l> Waiting<'l> {
    pub fn begin(count: &'l AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
