//! A clock that only goes on.

use std::ops::Add;
use std::sync::OnceLock;
use std::time::Duration;

use super::schedule;

/// A moment: time since this process, or the schedule, began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Duration);

fn began() -> std::time::Instant {
    static BEGAN: OnceLock<std::time::Instant> = OnceLock::new();
    *BEGAN.get_or_init(std::time::Instant::now)
}

impl Instant {
    /// This moment.
    pub fn now() -> Self {
        Self(schedule::elapsed().unwrap_or_else(|| began().elapsed()))
    }

    /// Time that has gone by since.
    pub fn elapsed(self) -> Duration {
        Self::now().saturating_since(self)
    }

    /// Time from `earlier` to this; zero if it is not earlier.
    pub fn saturating_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    pub(super) fn since_start(self) -> Duration {
        self.0
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time))
    }
}
