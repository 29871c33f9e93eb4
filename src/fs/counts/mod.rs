//! What is counted and remembered of requests.

pub(super) mod accesses;
pub(super) mod counters;
pub(super) mod lines;
pub(super) mod refusals;
pub(super) mod subject;
