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
}

impl<'e> Pace<'e> {
    /// Somebody waits for it.
    pub fn full(engine: &'e Engine) -> Self {
        Self { engine, share: 100, since: Instant::now() }
    }

    /// In the background, as the store's options say.
    pub fn background(engine: &'e Engine) -> Self {
        Self { share: engine.options.background_share.clamp(1, 100), ..Self::full(engine) }
    }

    /// Called between pieces, with no lock held: rests as long as it must. False: the store is being closed.
    pub fn go_on(&mut self) -> bool {
        let worked = self.since.elapsed();
        if worked < STRETCH && self.share < 100 {
            return true;
        }
        let going = self.rest(worked * (100 - self.share) / self.share);
        self.since = Instant::now();
        going
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
