//! What the background threads are told, and what they tell.

use crate::Error;
use crate::backend::CompactionProgress;
use crate::env::sync::{Condvar, Mutex};

/// What the background threads are told.
#[derive(Default)]
pub struct Signals {
    pub state: Mutex<SignalState>,
    pub changed: Condvar,
}

/// See [`Signals`].
#[derive(Default)]
pub struct SignalState {
    pub stop: bool,
    pub flush: bool,
    /// Families whose cells were dropped or that may need a compaction.
    pub compact: bool,
    /// Somebody waits for room on the disk.
    pub make_room: bool,
    pub flushing: bool,
    /// What the compactor does besides compacting, in words.
    pub activity: String,
    pub compaction: Option<CompactionProgress>,
    /// The secondary index that is built, and how far, in words.
    pub building: Option<String>,
    /// Secondary indexes may have to be built.
    pub index: bool,
    /// Why one could not be built. What else goes wrong meanwhile, as on a full disk, takes the place of `last_error` alone.
    pub unbuilt: Option<String>,
    pub last_error: Option<String>,
    /// Why the last flush has failed, if it has.
    pub flush_failed: Option<Error>,
    /// Segments that were deleted because all in them had expired.
    pub expired_segments: u64,
}
