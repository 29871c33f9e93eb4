//! Locks, waits, threads and the clock that goes on, for all rooms above.
//!
//! On the real machine these are parking_lot's and the system's. In a thread of a schedule ([`simulate`]) every lock, wait and
//! start of a thread is a point at which the schedule's seed decides who goes on; one thread runs at a time there.

#[expect(clippy::disallowed_types, reason = "the one place that makes the locks")]
mod condvar;
mod instant;
#[expect(clippy::disallowed_types, reason = "the one place that makes the locks")]
mod mutex;
#[expect(clippy::disallowed_types, reason = "the one place that makes the locks")]
mod rwlock;
#[expect(clippy::disallowed_types, reason = "who decides about the others cannot use what it decides about")]
mod schedule;
mod thread;

#[cfg(test)]
mod tests;

pub use condvar::{Condvar, WaitResult};
pub use instant::Instant;
pub use mutex::{Mutex, MutexGuard};
pub use rwlock::{ReadGuard, RwLock, WriteGuard};
pub use schedule::{Failure, Limits, Report, is_scheduled, point, scheduled_ms, simulate, sleep};
pub use thread::{Handle, spawn};

/// Tells those who wait for a lock that it is free again. Order: the last field of a guard, dropped after the lock.
struct Release(usize);

impl Drop for Release {
    fn drop(&mut self) {
        schedule::released(self.0);
    }
}

/// What a schedule knows a lock by.
fn address<T: ?Sized>(of: &T) -> usize {
    std::ptr::from_ref(of).cast::<()>().addr()
}
