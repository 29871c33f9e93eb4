//! Who waits for the background.

use std::sync::atomic::{AtomicU32, Ordering};

/// Those who wait for the background to be done with what it does.
#[derive(Default)]
pub struct Hurry(AtomicU32);

impl Hurry {
    /// While the guard lives nobody rests.
    pub fn up(&self) -> HurryGuard<'_> {
        self.0.fetch_add(1, Ordering::AcqRel);
        HurryGuard(self)
    }

    pub fn is_needed(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }
}

/// See [`Hurry::up`].
pub struct HurryGuard<'h>(&'h Hurry);

impl Drop for HurryGuard<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::AcqRel);
    }
}
