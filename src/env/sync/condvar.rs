//! Waiting, with a lock given up meanwhile, until somebody says that something has changed.

use std::time::Duration;

use super::{Instant, MutexGuard, address, schedule};

/// See the module.
#[derive(Default)]
pub struct Condvar {
    inner: parking_lot::Condvar,
}

/// How a wait with a limit has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitResult(bool);

impl WaitResult {
    /// The time was up.
    pub fn timed_out(self) -> bool {
        self.0
    }
}

impl Condvar {
    /// Nobody waits.
    pub const fn new() -> Self {
        Self { inner: parking_lot::Condvar::new() }
    }

    /// Waits until it is woken; may also wake by itself.
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        if schedule::is_scheduled() {
            self.wait_scheduled(guard, None);
        } else {
            self.inner.wait(&mut guard.inner);
        }
    }

    /// As [`Condvar::wait`], at most so long.
    pub fn wait_for<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, time: Duration) -> WaitResult {
        if schedule::is_scheduled() {
            return self.wait_scheduled(guard, Some(Instant::now() + time));
        }
        WaitResult(self.inner.wait_for(&mut guard.inner, time).timed_out())
    }

    /// As [`Condvar::wait`], at most until then.
    pub fn wait_until<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, until: Instant) -> WaitResult {
        if schedule::is_scheduled() {
            return self.wait_scheduled(guard, Some(until));
        }
        self.wait_for(guard, until.saturating_since(Instant::now()))
    }

    /// Wakes one who waits.
    pub fn notify_one(&self) {
        schedule::notify(address(self), schedule::Whom::One);
        self.inner.notify_one();
    }

    /// Wakes all who wait.
    pub fn notify_all(&self) {
        schedule::notify(address(self), schedule::Whom::All);
        self.inner.notify_all();
    }

    fn wait_scheduled<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, until: Option<Instant>) -> WaitResult {
        let lock = guard.address();
        let mutex = parking_lot::MutexGuard::mutex(&guard.inner);
        let timed_out = parking_lot::MutexGuard::unlocked(&mut guard.inner, || {
            schedule::released(lock);
            let timed_out = schedule::await_notice(address(self), until);
            // The lock is taken again behind this; nobody else runs in between.
            schedule::await_lock_again(lock, || !mutex.is_locked());
            timed_out
        });
        WaitResult(timed_out)
    }
}
