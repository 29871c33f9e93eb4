//! Room for merges. What they read gives its room back, but for what snapshots show.

use std::sync::Arc;

use crate::store::engine::Engine;
use crate::store::layout::runs::{Run, RunExtent};
use crate::store::space::{level, reserve};
use crate::{Error, ErrorKind, Result};

/// Whether most of what a merge of `runs` reads stays for snapshots: it takes room, and makes none.
pub fn stays_for_snapshots(engine: &Engine, runs: &[Arc<Run>]) -> bool {
    let layout = engine.layout();
    let extents = || runs.iter().flat_map(|run| &run.extents);
    let bytes = |extent: &RunExtent| extent.facts().map_or(0, |facts| facts.stored_bytes);
    let all: u64 = extents().map(bytes).sum();
    let stays: u64 = extents().filter(|extent| layout.state.is_in_snapshot(&extent.reference)).map(bytes).sum();
    stays > 0 && stays >= all - stays
}

/// Whether there is no room for what a merge of `runs` takes and does not bring back.
pub fn lacks_room_beside_snapshots(engine: &Engine, runs: &[Arc<Run>]) -> bool {
    level::available(engine) < engine.disk.sizes.least && stays_for_snapshots(engine, runs)
}

/// Merges `runs`: with the reserve, if it does not go without and makes room in the end.
pub fn with_room_to_merge<T>(engine: &Engine, runs: &[Arc<Run>], mut merge: impl FnMut() -> Result<T>) -> Result<T> {
    let merged = match stays_for_snapshots(engine, runs) {
        false => reserve::merge_with_reserve(engine, merge),
        true if lacks_room_beside_snapshots(engine, runs) => return Err(full_beside_snapshots(engine)),
        true => merge(),
    };
    merged.map_err(|e| told_full(engine, e))
}

/// What failed for want of room says what a compaction needs.
pub fn told_full(engine: &Engine, error: Error) -> Error {
    if error.kind != ErrorKind::NoSpace {
        return error;
    }
    engine.said.warn(&error.message);
    let (store, needed) = (engine.options.path.display(), engine.disk.sizes.least);
    let text = format!(
        "the disk under {store} is full, and a compaction gives back room only after it has taken some: free {} MiB of it \
         otherwise",
        needed.div_ceil(1 << 20)
    );
    Error::new(ErrorKind::NoSpace, text)
}

fn full_beside_snapshots(engine: &Engine) -> Error {
    let store = engine.options.path.display();
    let text = format!(
        "the disk under {store} is full, and a compaction gives back nothing that a snapshot shows. Delete snapshots, \
         or free room otherwise"
    );
    Error::new(ErrorKind::NoSpace, text)
}
