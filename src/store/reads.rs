//! Who reads now. What a compaction drops because of a newer cell may be all that a read of before sees: it is dropped
//! once such reads have ended.
//!
//! Reads count themselves in one of two turns. Who waits begins the other one, so that he waits for those of before
//! alone, and nobody waits for him.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use crate::env::sync::{self, Instant, Mutex};

/// A reader that takes its answer no faster than this is not waited for.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(1);

/// See the module.
#[derive(Default)]
pub struct Reads {
    turn: AtomicUsize,
    counts: [AtomicU64; 2],
    waiting: Mutex<()>,
}

/// Reads until it is dropped.
pub struct Reading {
    reads: Arc<Reads>,
    turn: usize,
}

impl Reads {
    /// A read begins.
    pub fn begin(self: &Arc<Self>) -> Reading {
        loop {
            let turn = self.turn.load(Ordering::SeqCst) % 2;
            self.counts[turn].fetch_add(1, Ordering::SeqCst);
            let reading = Reading { reads: Arc::clone(self), turn };
            // Order: counted before it is looked at again; else somebody may not wait for it who has to.
            if self.turn.load(Ordering::SeqCst) % 2 == turn {
                return reading;
            }
        }
    }

    /// Returns when all reads that had begun before have ended.
    pub fn await_those_of_before(&self) {
        let _one = self.waiting.lock();
        let until = Instant::now() + PATIENCE;
        // Both turns: in the other one may still be who was not waited for the last time.
        for _ in 0..2 {
            let turn = self.turn.fetch_add(1, Ordering::SeqCst) % 2;
            while self.counts[turn].load(Ordering::SeqCst) > 0 && Instant::now() < until {
                sync::sleep(PAUSE);
            }
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let before = self.reads.counts[self.turn].fetch_sub(1, Ordering::SeqCst);
        debug_assert!(before > 0, "a read ended that had not begun");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::sync::{Limits, simulate, spawn};

    #[test]
    fn those_of_before_are_waited_for_and_those_of_later_are_not() {
        for seed in 0..50 {
            let result = simulate(seed, Limits { steps: 100_000 }, || {
                let reads = Arc::new(Reads::default());
                let ended = Arc::new(AtomicU64::new(0));
                let before = reads.begin();
                let (theirs, counted) = (Arc::clone(&reads), Arc::clone(&ended));
                let waits = spawn("waits", move || {
                    theirs.await_those_of_before();
                    assert_eq!(counted.load(Ordering::SeqCst), 1);
                });
                let later = (0..3).map(|_| {
                    let reads = Arc::clone(&reads);
                    spawn("later", move || {
                        let _reading = reads.begin();
                        sync::sleep(Duration::from_millis(5));
                    })
                });
                let later: Vec<_> = later.collect();
                sync::sleep(Duration::from_millis(20));
                ended.fetch_add(1, Ordering::SeqCst);
                drop(before);
                waits.unwrap().join().unwrap();
                later.into_iter().for_each(|one| one.unwrap().join().unwrap());
            });
            assert!(result.is_ok(), "{result:?}");
        }
    }
}
