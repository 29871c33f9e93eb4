//! The ways in: from mutations to cells in the log and the memtable, large values, and loads past both.

pub(super) mod apply;
pub(super) mod bulk_load;
pub(super) mod draft;
pub(super) mod many;
pub(super) mod relocate;
pub(super) mod rename;
