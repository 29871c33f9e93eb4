//! What goes on behind: compaction, expiry, collection, and the threads that do it.

pub(super) mod build;
pub(super) mod collect;
pub(super) mod compact;
pub(super) mod expire;
pub(super) mod make_room;
pub(super) mod merge;
pub(super) mod prefetch;
pub(super) mod purge_deleted;
pub(super) mod worker;
