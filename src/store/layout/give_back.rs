//! Room of extents that count from some key on: what they have before it goes back to the disk.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::runs::{Layout, Run, RunExtent};
use super::structure::Structure;
use crate::Result;

impl Structure {
    /// Gives back to the disk what extents of `runs` have before the key from which on they count, if nobody else reads
    /// their files, and no snapshot shows it. Order: the edit by which it does not count is on the disk twice.
    pub fn give_back(&self, runs: &[Arc<Run>]) -> Result<()> {
        let layout = self.layout();
        runs.iter().flat_map(|run| &run.extents).try_for_each(|extent| self.give_back_of(&layout, extent, runs))
    }

    /// As [`Structure::give_back`], of all that counts.
    pub fn give_back_all(&self) -> Result<()> {
        let layout = self.layout();
        layout.extents().try_for_each(|extent| self.give_back_of(&layout, extent, &[]))
    }

    /// Whether the room of what a merge of `runs` reads comes back while it goes on, as far as is known: nobody else reads
    /// their files, no snapshot shows them, and the filesystem can.
    pub fn comes_back(&self, runs: &[Arc<Run>]) -> bool {
        if self.cannot_punch.load(Ordering::Relaxed) {
            return false;
        }
        let layout = self.layout();
        let mut extents = runs.iter().flat_map(|run| &run.extents);
        extents.all(|extent| !layout.state.is_in_snapshot(&extent.reference) && !is_read(&layout, extent, runs))
    }

    fn give_back_of(&self, layout: &Layout, extent: &RunExtent, runs: &[Arc<Run>]) -> Result<()> {
        if extent.is_trimmed()
            && let Some(from) = layout.state.needed_from(extent.reference.file, extent.reference.extent)
            && !from.is_empty()
            && !is_read(layout, extent, runs)
            && let Ok(readable) = extent.readable()
            && !readable.give_back(&from)?
        {
            self.cannot_punch.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// Whether anybody has the file of an extent but the layout and who has `runs`.
fn is_read(layout: &Layout, extent: &RunExtent, runs: &[Arc<Run>]) -> bool {
    let of_it = |other: &&RunExtent| other.reference.file == extent.reference.file;
    let is_in_layout = |run: &Arc<Run>| layout.families().any(|(_, of)| of.runs.iter().any(|it| Arc::ptr_eq(it, run)));
    let held = runs.iter().filter(|run| !is_in_layout(run)).flat_map(|run| &run.extents).filter(of_it).count();
    // The map of open files has it too.
    Arc::strong_count(&extent.file) != 1 + layout.extents().filter(of_it).count() + held
}
