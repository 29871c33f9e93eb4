//! Which moment a program sees: scan paths, times, snapshots.

pub(super) mod copied;
pub(super) mod dated;
pub(super) mod lack;
pub(super) mod moments;
pub(super) mod snapshots;
pub(super) mod walks;
