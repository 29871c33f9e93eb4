//! What the master is asked.

pub(super) mod regions;
pub(super) mod snapshots;
pub(super) mod tables;
