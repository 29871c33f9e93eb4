//! How fast the background works: it rests between pieces of its work, unless somebody waits for it.

use std::time::Duration;

use super::hurry::Hurry;
use super::signals::Signals;
use crate::env::sync::Instant;

/// Work between two rests.
const STRETCH: Duration = Duration::from_millis(20);

/// The pace of one piece of work.
pub struct Pace<'e> {
    signals: &'e Signals,
    hurry: &'e Hurry,
    /// Percent of the time in which it may work.
    share: u32,
    since: Instant,
    stopped: bool,
}

impl<'e> Pace<'e> {
    /// Work that may go on in so much percent of the time, if nobody is in a hurry.
    pub fn new(signals: &'e Signals, hurry: &'e Hurry, share: u32) -> Self {
        Self { signals, hurry, share: share.clamp(1, 100), since: Instant::now(), stopped: false }
    }

    /// Called between pieces, with no lock held: rests as long as it must. False, and from then on: the store is being
    /// closed.
    pub fn go_on(&mut self) -> bool {
        if self.stopped {
            return false;
        }
        let worked = self.since.elapsed();
        if worked < STRETCH && self.share < 100 {
            return true;
        }
        self.stopped = !self.rest(worked * (100 - self.share) / self.share);
        self.since = Instant::now();
        !self.stopped
    }

    fn rest(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut state = self.signals.state.lock();
        loop {
            if state.stop || self.hurry.is_needed() || Instant::now() >= until {
                return !state.stop;
            }
            self.signals.changed.wait_until(&mut state, until);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::env::SimEnv;
    use crate::store::Store;
    use crate::store::options::{Background, StoreOptions};

    /// Else a compaction that is due would be begun and given up again and again, and the store never closed.
    #[test]
    fn who_was_stopped_does_not_go_on() {
        let options =
            StoreOptions { env: Arc::new(SimEnv::new()), background: Background::Off, ..StoreOptions::new("/s") };
        let store = Store::open(options).unwrap();
        let mut pace = store.engine.background_pace();
        assert!(pace.go_on());
        store.engine.wake(|state| state.stop = true);
        while pace.go_on() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!((0..10).all(|_| !pace.go_on()));
    }
}
