//! Whose turn it is to sync for everybody: those who come meanwhile share the next sync.
//!
//! Who has the turn waits a moment for those who shared the last sync, as they are likely to come again: without that, half
//! of them would wait for each sync while the other half is served. Who is alone waits for nobody.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::env::sync::{Condvar, Instant, Mutex, MutexGuard};

/// How long others are waited for at the most.
const LONGEST: Duration = Duration::from_millis(2);

/// See the module.
#[derive(Default)]
pub(super) struct Turns {
    taken: Mutex<bool>,
    ended: Condvar,
    /// As many have come as are waited for.
    complete: Condvar,
    /// How many wait for a sync, or make one.
    here: AtomicUsize,
    /// How many these were when the last one ended, and how long it took.
    crowd: AtomicUsize,
    took_ns: AtomicU64,
}

/// One who waits for a sync, until it is dropped.
pub(super) struct Here<'t>(&'t Turns);

/// The turn of a thread, until it is dropped.
pub(super) struct Turn<'t> {
    turns: &'t Turns,
    began: Instant,
}

impl Turns {
    /// Counts one who waits for a sync.
    pub(super) fn come(&self) -> Here<'_> {
        self.here.fetch_add(1, Ordering::AcqRel);
        Here(self)
    }

    /// Whether nobody waits for a sync.
    pub(super) fn is_idle(&self) -> bool {
        self.here.load(Ordering::Acquire) == 0
    }

    /// Waits until somebody else's sync has done what `is_done` asks for (`None`), or until it is this thread's turn.
    pub(super) fn take(&self, is_done: impl Fn() -> bool) -> Option<Turn<'_>> {
        let mut taken = self.taken.lock();
        if self.has_all() {
            self.complete.notify_one();
        }
        loop {
            if is_done() {
                return None;
            }
            if !*taken {
                *taken = true;
                self.gather(&mut taken);
                return Some(Turn { turns: self, began: Instant::now() });
            }
            self.ended.wait(&mut taken);
        }
    }

    fn has_all(&self) -> bool {
        self.here.load(Ordering::Acquire) >= self.crowd.load(Ordering::Acquire)
    }

    /// Waits for those who were there last, for half of the time of a sync at most: those who wait in vain lose no more.
    fn gather(&self, taken: &mut MutexGuard<'_, bool>) {
        let half = Duration::from_nanos(self.took_ns.load(Ordering::Acquire) / 2);
        let until = Instant::now() + half.min(LONGEST);
        while !self.has_all() && !self.complete.wait_until(taken, until).timed_out() {}
    }
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        self.0.here.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let Turns { taken, ended, here, crowd, took_ns, .. } = self.turns;
        crowd.store(here.load(Ordering::Acquire), Ordering::Release);
        took_ns.store(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX), Ordering::Release);
        *taken.lock() = false;
        ended.notify_all();
    }
}
