//! What is in memory alone until it is flushed.

pub(super) mod memtable;
pub(super) mod recent;
