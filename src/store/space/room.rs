//! A disk that is almost full: what is still written, and room that is made when somebody needs it.
//!
//! First nothing is written that only takes room; then nothing is deleted either, before what was deleted so far has
//! made room: what is in memory goes into extents, and the tables are compacted as on request.

use crate::store::engine::disk_room::Prospect;
use crate::store::options::Background;

use crate::backend::CompactionKind;
use crate::model::{FamilySchema, TableName};
use crate::segment::ExtentFacts;
use crate::store::engine::Engine;
use crate::{Error, ErrorKind, Result};

/// A delete has room looked for so often. What is held by a reader, or is just being written, is found the next time.
const DELETE_ROUNDS: u32 = 3;

impl Engine {
    /// Notes how much room there is: at the start, and after so much that was written. Before what is in memory
    /// has no room on the disk any more, less is written.
    pub fn look_at_room(&self) {
        if self.available() < self.disk.sizes.least {
            self.run_short();
        }
        let (needed, usable) = (self.needed_by_flushes(), self.usable());
        if usable < needed {
            self.release_for_deletes(needed - usable);
        }
        self.disk.set_out(self.usable() < needed);
    }

    /// Bytes that what is in memory may take on the disk, and what is written before the next look.
    pub fn needed_by_flushes(&self) -> u64 {
        let in_memory: u64 = self.tables().all().map(|table| table.bytes()).sum();
        let (sizes, most) = (&self.disk.sizes, 3 * self.options.memtable_bytes.max(1));
        let needed = u128::from(sizes.flushes) * u128::from(in_memory) / u128::from(most);
        u64::try_from(needed).unwrap_or(u64::MAX).min(sizes.flushes)
    }

    /// Free bytes of the disk for what only takes room: what everybody may use, so that it is refused where `df` says that
    /// there is no more. Very many if nobody can say.
    pub fn available(&self) -> u64 {
        self.options.env.disk_space(&self.options.path).map_or(u64::MAX, |space| space.available)
    }

    /// Free bytes for what makes room in the end: a share of this process alone among them, which gets what comes back first
    /// on a full disk.
    fn usable(&self) -> u64 {
        self.options.env.disk_space(&self.options.path).map_or(u64::MAX, |space| space.usable)
    }

    /// From now on nothing is written that only takes room.
    pub fn run_short(&self) {
        if !self.disk.begins_short() {
            return;
        }
        log::warn!("the disk under {} is full", self.options.path.display());
        // What was deleted is made room of. Once: a compaction that finds no room would begin the next one.
        self.wake(|state| state.compact = true);
    }

    /// Others may have filled the disk: what `status` and `df` say then is what a write meets.
    pub fn notice_others(&self) {
        if !self.disk.is_short() && self.available() < self.disk.sizes.least {
            self.run_short();
        }
    }

    /// Something met a full disk. Where there is room again by now, that was made meanwhile.
    pub fn note_full(&self) {
        if self.available() < self.disk.sizes.enough {
            self.run_short();
        }
    }

    /// As [`Engine::note_full`], if that is what has failed.
    pub fn note_if_full(&self, error: &Error) {
        if error.kind == ErrorKind::NoSpace {
            self.note_full();
        }
    }

    /// A flush for which there was no room, reserve and all, lets nothing more be written.
    pub fn note_flush(&self, flushed: &Result<()>) {
        if flushed.as_ref().is_err_and(|e| e.kind == ErrorKind::NoSpace) {
            self.note_full();
            self.disk.set_out(self.disk.is_short());
        }
    }

    /// Before something is written, with no lock held: waits for room that can be made on a full disk. `takes_room`:
    /// it is no delete.
    pub fn await_room(&self, takes_room: bool) {
        if self.disk.is_due() {
            self.look_at_room();
        }
        let rounds = if takes_room { 1 } else { DELETE_ROUNDS };
        for round in 0..rounds {
            let is_missing = self.disk.is_out() || takes_room && self.disk.is_short();
            if !is_missing || !self.await_round(round > 0) {
                return;
            }
        }
    }

    /// Waits until room was looked for once; false if there is no sense in it yet. `again`: at once.
    fn await_round(&self, again: bool) -> bool {
        let (round, until) = match self.disk.prospect(again) {
            Prospect::Nothing => return false,
            Prospect::Room => return true,
            Prospect::Round(round, until) => (round, until),
        };
        if self.options.background == Background::Off {
            self.make_disk_room();
            return true;
        }
        let _hurry = self.hurry.up();
        // A round that has begun since is one more than is needed.
        self.wake(|state| state.make_room = true);
        self.disk.await_round(round, until)
    }

    /// Makes room of what was deleted, what has expired and what newer versions hide.
    pub fn make_disk_room(&self) {
        let round = self.disk.begin_round();
        self.try_to_restore();
        if let Err(e) = self.clear() {
            log::warn!("make room on the disk: {e}");
        }
        self.try_to_restore();
        self.look_at_room();
        self.disk.end_round(&round);
        let (took, free) = (round.began.elapsed(), self.available());
        log::debug!("room was looked for in {took:?}: {free} bytes are free, short {}", self.disk.is_short());
    }

    fn clear(&self) -> Result<()> {
        if !self.disk.is_short() {
            return Ok(());
        }
        self.log.check_poison()?;
        let _hurry = self.hurry.up();
        let pace = &mut self.full_pace();
        // Order: first what takes no room itself, so that the rest has some.
        self.prune_past(0);
        self.collect_blobs()?;
        self.try_to_restore();
        self.freeze()?;
        let flushed = self.flush_frozen();
        if let Err(e) = &flushed
            && e.kind != ErrorKind::NoSpace
        {
            return flushed;
        }
        self.tidy(pace)?;
        let catalogue = self.catalogue.load_full();
        for table in catalogue.tables.values().filter(|table| table.compaction_enabled()) {
            let makes_room = |family: &&FamilySchema| {
                self.has_changed(family) && !self.stays_for_snapshots(&self.requested(family, CompactionKind::Major))
            };
            for family in table.stored_families().filter(makes_room) {
                self.compact_short(&table.name, family)?;
            }
        }
        self.collect_blobs()?;
        // What had no room before may have it now.
        flushed.or_else(|_| self.flush_frozen())
    }

    /// Compacts a family on a full disk: as long as its slices make room.
    fn compact_short(&self, table: &TableName, family: &FamilySchema) -> Result<()> {
        let mut before = self.usable();
        loop {
            let done = self.compact_family(table, family, CompactionKind::Major);
            self.structure.collect();
            let now = self.usable();
            if done.as_ref().err().is_none_or(|e| e.kind != ErrorKind::NoSpace) || now <= before {
                return done;
            }
            before = now;
        }
    }

    /// Whether anything has come to a family since its last major compaction, or may expire, or is kept beside VERSIONS.
    fn has_changed(&self, family: &FamilySchema) -> bool {
        let layout = self.layout();
        let Some(runs) = layout.runs(family.id) else { return false };
        let keeps_recent = family.rules.keep_versions_for_ms > 0;
        let may_go = |facts: &ExtentFacts| !facts.major || keeps_recent && facts.superseded_cells > 0;
        runs.runs.len() > 1 || runs.expiring || runs.runs.iter().any(|run| run.facts().any(may_go))
    }

    /// Refuses so many bytes of what only takes room while there is little.
    pub fn check_reserve(&self, bytes: u64) -> Result<()> {
        let sizes = &self.disk.sizes;
        if bytes >= sizes.look && self.available() < bytes.saturating_add(sizes.flushes) {
            return Err(self.full(bytes.saturating_add(sizes.flushes)));
        }
        if !self.disk.is_short() {
            return Ok(());
        }
        // If it cannot be made there is no room, which is what is told.
        self.try_to_restore();
        if self.disk.is_short() { Err(self.full(sizes.enough)) } else { Ok(()) }
    }

    /// Writes so many bytes of a value to where it stays, with no lock held; once more after room was made, if there was
    /// none.
    pub fn with_room<T>(&self, bytes: u64, mut write: impl FnMut() -> Result<T>) -> Result<T> {
        self.check_reserve(bytes)?;
        let mut written = write();
        if written.as_ref().is_err_and(|e| e.kind == ErrorKind::NoSpace) {
            self.note_full();
            self.await_room(true);
            written = self.check_reserve(bytes).and_then(|()| write());
        }
        self.disk.note_written(bytes, 0);
        written
    }

    /// Refuses even deletes while what is in memory might have no room on the disk.
    pub fn check_deletes(&self) -> Result<()> {
        if self.disk.is_out() { Err(self.full_for_deletes()) } else { Ok(()) }
    }

    /// As [`Engine::told_full`], of what takes no more room than a delete.
    pub fn told_full_for_deletes(&self, error: Error) -> Error {
        if error.kind != ErrorKind::NoSpace {
            return error;
        }
        log::warn!("{}", error.message);
        self.full_for_deletes()
    }

    fn full_for_deletes(&self) -> Error {
        let (store, needed) = (self.options.path.display(), self.needed_by_flushes().max(self.disk.sizes.look));
        let text = format!(
            "the disk under {store} is full, and has no room left even to delete: free {} MiB of it otherwise",
            needed.div_ceil(1 << 20)
        );
        Error::new(ErrorKind::NoSpace, text)
    }

    /// What failed for want of room says what a refused put says.
    pub fn told_full(&self, error: Error) -> Error {
        if error.kind != ErrorKind::NoSpace {
            return error;
        }
        log::warn!("{}", error.message);
        self.full(self.disk.sizes.enough)
    }

    fn full(&self, needed: u64) -> Error {
        let store = self.options.path.display();
        let text = format!(
            "the disk under {store} is full: {} MiB must be free before anything more is written. Remove cells, and \
             take what is kept of them with `cellfs purge`, or free room otherwise",
            needed.div_ceil(1 << 20)
        );
        Error::new(ErrorKind::NoSpace, text)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::Store;
    use crate::store::options::StoreOptions;

    /// Else a flush or a write that failed before room was made lets the next write be refused after that.
    #[test]
    fn what_met_a_full_disk_that_has_room_by_now_refuses_nothing() {
        let env = Arc::new(crate::env::SimEnv::new());
        let options = StoreOptions { env, background: Background::Off, ..StoreOptions::new("/s") };
        let store = Store::open(options).unwrap();
        store.engine.note_flush(&Err(Error::new(ErrorKind::NoSpace, "no room")));
        assert!(!store.engine.disk.is_short() && !store.engine.disk.is_out());
    }
}
