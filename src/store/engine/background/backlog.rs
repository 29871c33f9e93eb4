//! Writers that wait while too much of what they wrote is not flushed.

use std::time::Duration;

use crate::env::sync::{Condvar, Mutex, MutexGuard};

/// A writer looks again by itself after so long: the flush may have failed.
const LOOK: Duration = Duration::from_millis(100);

/// See the module.
#[derive(Default)]
pub struct Backlog {
    one: Mutex<()>,
    less: Condvar,
}

impl Backlog {
    /// Held by the writer that looks for room.
    pub fn lock(&self) -> MutexGuard<'_, ()> {
        self.one.lock()
    }

    /// Lets others look until a memtable was flushed, or for a moment.
    pub fn await_less(&self, held: &mut MutexGuard<'_, ()>) {
        self.less.wait_for(held, LOOK);
    }

    /// A memtable was flushed.
    pub fn note_less(&self) {
        let _one = self.one.lock();
        self.less.notify_all();
    }
}
