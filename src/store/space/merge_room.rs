//! Room for merges. What they read gives its room back, but for what snapshots show.

use std::sync::Arc;

use crate::store::engine::Engine;
use crate::store::layout::runs::{Run, RunExtent};
use crate::{Error, ErrorKind, Result};

impl Engine {
    /// Whether most of what a merge of `runs` reads stays for snapshots: it takes room, and makes none.
    pub fn stays_for_snapshots(&self, runs: &[Arc<Run>]) -> bool {
        let layout = self.layout();
        let extents = || runs.iter().flat_map(|run| &run.extents);
        let bytes = |extent: &RunExtent| extent.facts().map_or(0, |facts| facts.stored_bytes);
        let all: u64 = extents().map(bytes).sum();
        let stays: u64 = extents().filter(|extent| layout.state.is_in_snapshot(&extent.reference)).map(bytes).sum();
        stays > 0 && stays >= all - stays
    }

    /// Whether there is no room for what a merge of `runs` takes and does not bring back.
    pub fn lacks_room_beside_snapshots(&self, runs: &[Arc<Run>]) -> bool {
        self.available() < self.disk.sizes.least && self.stays_for_snapshots(runs)
    }

    /// Merges `runs`: with the reserve, if it does not go without and makes room in the end.
    pub fn with_room_to_merge<T>(&self, runs: &[Arc<Run>], mut merge: impl FnMut() -> Result<T>) -> Result<T> {
        let merged = match self.stays_for_snapshots(runs) {
            false => self.merge_with_reserve(merge),
            true if self.lacks_room_beside_snapshots(runs) => return Err(self.full_beside_snapshots()),
            true => merge(),
        };
        merged.map_err(|e| self.told_full(e))
    }

    fn full_beside_snapshots(&self) -> Error {
        let store = self.options.path.display();
        let text = format!(
            "the disk under {store} is full, and a compaction gives back nothing that a snapshot shows. Delete snapshots, \
             or free room otherwise"
        );
        Error::new(ErrorKind::NoSpace, text)
    }
}
