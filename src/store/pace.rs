//! How fast the background works: it rests between pieces of its work, unless somebody waits for it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::engine::Engine;
use crate::env::sync::Instant;

/// Work between two rests.
const STRETCH: Duration = Duration::from_millis(20);

/// Those who wait for the background to be done with what it does.
#[derive(Default)]
pub struct Hurry(AtomicU32);

impl Hurry {
    /// While the guard lives nobody rests.
    pub fn up(&self) -> HurryGuard<'_> {
        self.0.fetch_add(1, Ordering::AcqRel);
        HurryGuard(self)
    }

    fn needed(&self) -> bool {
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

/// The pace of one piece of work.
pub struct Pace<'e> {
    engine: &'e Engine,
    /// Percent of the time in which it may work.
    share: u32,
    since: Instant,
    stopped: bool,
}

impl<'e> Pace<'e> {
    /// Somebody waits for it.
    pub fn full(engine: &'e Engine) -> Self {
        Self { engine, share: 100, since: Instant::now(), stopped: false }
    }

    /// In the background, as the store's options say.
    pub fn background(engine: &'e Engine) -> Self {
        Self { share: engine.options.background_share.clamp(1, 100), ..Self::full(engine) }
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
        let mut state = self.engine.signals.state.lock();
        loop {
            if state.stop || self.engine.hurry.needed() || Instant::now() >= until {
                return !state.stop;
            }
            self.engine.signals.changed.wait_until(&mut state, until);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::env::SimEnv;
    use crate::store::{Background, Store, StoreOptions};

    /// Else a compaction that is due would be begun and given up again and again, and the store never closed.
    #[test]
    fn who_was_stopped_does_not_go_on() {
        let options =
            StoreOptions { env: Arc::new(SimEnv::new()), background: Background::Off, ..StoreOptions::new("/s") };
        let store = Store::open(options).unwrap();
        let mut pace = Pace::background(&store.engine);
        assert!(pace.go_on());
        store.engine.wake(|state| state.stop = true);
        while pace.go_on() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!((0..10).all(|_| !pace.go_on()));
    }
}
