//! What the kernel may keep, and who tells it what has changed.

pub(super) mod absent;
pub(super) mod announce;
pub(super) mod changes;
pub(super) mod expiry;
pub(super) mod invalidations;
