//! A limit on the time of all that a thread asks for within one piece of work, whatever it consists of.

use std::cell::Cell;
use std::time::{Duration, Instant};

thread_local! {
    static UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Takes the limit back that held before.
struct Before(Option<Instant>);

impl Drop for Before {
    fn drop(&mut self) {
        UNTIL.set(self.0);
    }
}

/// Does a piece of work whose calls all end within `limit`, or earlier where it is part of another such piece.
pub fn within<T>(limit: Duration, work: impl FnOnce() -> T) -> T {
    let _before = Before(UNTIL.get());
    UNTIL.set(Some(bounded(Instant::now() + limit)));
    work()
}

/// The earlier of a time and the limit of this thread.
pub(super) fn bounded(until: Instant) -> Instant {
    UNTIL.get().map_or(until, |limit| limit.min(until))
}

/// What is left of the time of one thing of many parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left(Instant);

impl Left {
    pub fn new(allowed: Duration) -> Self {
        Self(bounded(Instant::now() + allowed))
    }

    /// At least a millisecond: sockets take no limit of nothing.
    pub fn time(self) -> Duration {
        self.0.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_limit_holds_and_ends_with_its_work() {
        let far = Instant::now() + Duration::from_secs(3600);
        assert_eq!(bounded(far), far);
        within(Duration::from_secs(5), || {
            assert!(bounded(far) < far - Duration::from_secs(3000));
            let outer = bounded(far);
            within(Duration::from_secs(50), || assert_eq!(bounded(far), outer));
            within(Duration::from_secs(1), || {
                assert!(Left::new(Duration::from_secs(9)).time() <= Duration::from_secs(1))
            });
            assert_eq!(bounded(far), outer);
        });
        assert_eq!(bounded(far), far);
    }
}
