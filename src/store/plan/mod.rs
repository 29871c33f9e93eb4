//! From mutations to the cells of a batch.

pub(super) mod batch;
pub(super) mod mutations;
pub(super) mod planned;
pub(super) mod planner;
pub(super) mod reckon;
