//! Cells of a cluster: gets, scans, listings, mutations.

pub(super) mod ahead;
pub(super) mod filters;
pub(super) mod hidden;
pub(super) mod kept;
pub(super) mod listing;
pub(super) mod reading;
pub(super) mod renaming;
pub(super) mod shown;
pub(super) mod times;
pub(super) mod values;
pub(super) mod writing;
