//! Whose turn it is to sync for everybody: those who come meanwhile share the next sync.
//!
//! Who has the turn waits a moment for those who shared the last sync, as they are likely to come again: without that, half
//! of them would wait for each sync while the other half is served. Who is alone waits for nobody.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::env::sync::{Condvar, Instant, Mutex, MutexGuard};

/// How long others are waited for at the most.
const LONGEST: Duration = Duration::from_millis(2);

/// See the module.
#[derive(Default)]
pub(super) struct Turns {
    state: Mutex<State>,
    ended: Condvar,
    /// As many have come as are waited for.
    complete: Condvar,
    /// How many wait for a sync, or make one.
    here: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// Somebody has the turn.
    is_taken: bool,
    /// Syncs that have begun.
    begun: u64,
    /// How many have come since the last of them began.
    come: usize,
    /// How many are likely to share the next one: those of the last, and who came meanwhile.
    crowd: usize,
    /// How long the last one took.
    took: Duration,
}

/// One who waits for a sync, until it is dropped.
pub(super) struct Here<'t>(&'t Turns);

/// The turn of a thread, until it is dropped.
pub(super) struct Turn<'t> {
    turns: &'t Turns,
    began: Instant,
    /// How many share it.
    sharing: usize,
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
        let mut state = self.state.lock();
        let came_before = state.begun + 1;
        state.come += 1;
        if state.come >= state.crowd {
            self.complete.notify_one();
        }
        loop {
            if is_done() {
                // It was counted for the next one, unless that has begun.
                state.come -= usize::from(state.begun < came_before);
                return None;
            }
            if !state.is_taken {
                state.is_taken = true;
                self.gather(&mut state);
                state.begun += 1;
                let sharing = std::mem::take(&mut state.come);
                return Some(Turn { turns: self, began: Instant::now(), sharing });
            }
            self.ended.wait(&mut state);
        }
    }

    /// Waits for those who are likely to come, for half of the time of a sync at most: those who wait in vain lose no more.
    fn gather(&self, state: &mut MutexGuard<'_, State>) {
        let until = Instant::now() + (state.took / 2).min(LONGEST);
        while state.come < state.crowd && !self.complete.wait_until(state, until).timed_out() {}
    }
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        self.0.here.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.state.lock();
        (state.crowd, state.took) = (self.sharing + state.come, self.began.elapsed());
        state.is_taken = false;
        drop(state);
        self.turns.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::env::sync::{self, Limits, simulate};

    const WRITERS: u64 = 8;
    const EACH: u64 = 50;

    /// Syncs that writers need who do nothing but write and wait for theirs.
    fn syncs(seed: u64) -> u64 {
        let syncs = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&syncs);
        let all = move || {
            let state = Arc::new((Turns::default(), AtomicU64::new(0), AtomicU64::new(0)));
            let write = |_| {
                let (state, syncs) = (Arc::clone(&state), Arc::clone(&counted));
                sync::spawn("writer", move || {
                    let (turns, written, synced) = &*state;
                    for _ in 0..EACH {
                        let number = written.fetch_add(1, Ordering::SeqCst) + 1;
                        let _here = turns.come();
                        let is_done = || synced.load(Ordering::SeqCst) >= number;
                        if let Some(_turn) = turns.take(is_done) {
                            let upto = written.load(Ordering::SeqCst);
                            sync::sleep(Duration::from_millis(1));
                            syncs.fetch_add(1, Ordering::SeqCst);
                            synced.fetch_max(upto, Ordering::SeqCst);
                        }
                    }
                })
            };
            let writers: Vec<_> = (0..WRITERS).map(write).collect();
            writers.into_iter().for_each(|writer| writer.unwrap().join().unwrap());
        };
        simulate(seed, Limits { steps: 1_000_000 }, all).unwrap_or_else(|failure| panic!("{}", failure.text));
        syncs.load(Ordering::SeqCst)
    }

    #[test]
    fn those_who_come_again_share_a_sync() {
        for seed in 0..20 {
            let syncs = syncs(seed);
            // With nobody waited for, half of the writers share one: twice as many.
            assert!((EACH..EACH * 3 / 2).contains(&syncs), "seed {seed}: {syncs} syncs of {WRITERS} writers");
        }
    }
}
