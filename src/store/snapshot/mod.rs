//! Moments of the store under a name, and tables that come back from them.

pub(super) mod bring_back;
pub(super) mod snapshots;
