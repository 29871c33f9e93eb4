//! What the kernel may keep, and what it is to be told.

pub(super) mod absent;
pub(super) mod changes;
pub(super) mod invalidations;
