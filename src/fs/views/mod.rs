//! Which moment a program sees: scan paths, times, copies.

pub(super) mod copied;
pub(super) mod dated;
pub(super) mod lack;
pub(super) mod moments;
pub(super) mod walks;
