//! The clock, and how far writes are ahead of it.

use std::sync::atomic::{AtomicI64, Ordering};

use crate::env::Env;
use crate::model::{AHEAD_MS, Timestamp};

/// See the module.
#[derive(Default)]
pub struct Clock {
    /// What it shows; `None`: it goes on.
    stopped_at: Option<Timestamp>,
    /// The latest timestamp that was given because something stored was not before it, ms since 1970.
    ahead: AtomicI64,
}

impl Clock {
    /// One that shows this time, if it is given, for ever.
    pub fn stopped(at: Option<Timestamp>) -> Self {
        Self { stopped_at: at, ..Self::default() }
    }

    pub fn stopped_at(&self) -> Option<Timestamp> {
        self.stopped_at
    }

    pub fn now(&self, env: &dyn Env) -> Timestamp {
        self.stopped_at.unwrap_or_else(|| env.now())
    }

    /// The clock for writes that take its time as it is: never before what was written in haste, which such a write
    /// would otherwise not replace.
    pub fn of_writes(&self, now: Timestamp) -> Timestamp {
        let ahead = self.ahead.load(Ordering::Acquire);
        if ahead.saturating_sub(now.0) <= AHEAD_MS { now.max(Timestamp(ahead)) } else { now }
    }

    /// Notes a timestamp that was given because something stored was not before `now`.
    pub fn note_ahead(&self, given: Timestamp, now: Timestamp) {
        // One in the future was given on purpose, and says nothing of when others were written.
        if given > now && given.0.saturating_sub(now.0) <= AHEAD_MS {
            self.ahead.fetch_max(given.0, Ordering::AcqRel);
        }
    }
}
