//! Room that is given back when the disk is full, so that deleting and compacting still work; and how large things are
//! on a small disk.
//!
//! Two files: `reserve` is for deletes, `reserve.last` for flushes and compactions alone, which make room in the end.

use std::path::{Path, PathBuf};

use super::StoreOptions;
use super::engine::Engine;
use crate::env::Env;
use crate::{Error, ErrorKind, Result};

/// A segment has at most this part of the disk, so that on a small one little room lets one be rewritten.
const PARTS: u64 = 64;
const MIB: u64 = 1 << 20;
/// Bytes of a page of the index.
const PAGE: u64 = 4096;

/// What is kept free of a disk, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// For tombstones.
    deletes: u64,
    /// What the index takes meanwhile.
    housekeeping: u64,
    /// Most of the live half of any segment that is worth rewriting.
    copies: u64,
    /// What full memtables take in the index.
    pub flushes: u64,
    /// With less free room only tombstones are written.
    pub least: u64,
    /// With so much free room beside the reserve anything is written again.
    pub enough: u64,
    /// After so many bytes that were written the free room is looked at.
    pub look: u64,
    /// Cells that a flush writes at once when there is little room.
    pub piece_cells: usize,
}

impl Sizes {
    /// For a disk of so many bytes; fits the options to it.
    pub fn of(options: &mut StoreOptions, disk_total: u64) -> Self {
        options.segment_bytes = options.segment_bytes.min((disk_total / PARTS).max(MIB));
        options.memtable_bytes = options.memtable_bytes.min((disk_total / 128).max(MIB / 2));
        options.compaction_cells = options.compaction_cells.min((disk_total / 25_000).max(1024) as usize);
        let deletes = (disk_total / 32).clamp(MIB, (options.segment_bytes / 2).max(MIB));
        let housekeeping = (disk_total / 10).clamp(3 * MIB, options.segment_bytes.max(3 * MIB));
        let copies = options.segment_bytes / 2;
        let log_pages = log_pages(disk_total);
        // What is in memory: one that is filled, and two that are flushed. SQLite's own log has whole pages of a piece.
        let log = 2 * u64::from(log_pages) * PAGE;
        let flushes = (3 * options.memtable_bytes + housekeeping + log).min(disk_total / 12);
        let least = (2 * flushes).min(disk_total / 8);
        // Not at once short of room again.
        let enough = (2 * least).min(disk_total / 4);
        let look = (least - flushes) / 4;
        Self { deletes, housekeeping, copies, flushes, least, enough, look, piece_cells: log_pages as usize }
    }

    fn last(&self) -> u64 {
        self.housekeeping + self.copies
    }
}

/// Pages of its own log after which SQLite moves them into the index.
pub fn log_pages(disk_total: u64) -> u32 {
    (disk_total / 100 / PAGE).clamp(64, 4000) as u32
}

/// What may use what is reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Deletes,
    Maintenance,
}

fn deletes_path(store: &Path) -> PathBuf {
    store.join("reserve")
}

fn last_path(store: &Path) -> PathBuf {
    store.join("reserve.last")
}

/// Gives back to the disk what is reserved in a store's directory; whether there was anything.
pub fn remove(env: &dyn Env, store: &Path) -> bool {
    // Order: what deletes may use first.
    env.remove(&deletes_path(store)).is_ok() || env.remove(&last_path(store)).is_ok()
}

impl Engine {
    /// Gives the next part of the reserve back to the disk; whether there was one.
    fn release_reserve(&self, by: Use) -> bool {
        let (env, store) = (&self.options.env, &self.options.path);
        let released = match by {
            Use::Deletes => env.remove(&deletes_path(store)).is_ok(),
            Use::Maintenance => remove(&**env, store),
        };
        if released {
            self.run_short();
        }
        released
    }

    /// Lets deletes have what is reserved for them.
    pub fn release_for_deletes(&self) {
        self.release_reserve(Use::Deletes);
    }

    /// Bytes that a compaction may write: what is free and the reserve, without a third that the index needs meanwhile.
    pub fn room_for_copies(&self) -> u64 {
        let (env, store) = (&self.options.env, &self.options.path);
        let free = env.disk_space(store).map_or(0, |space| space.available);
        let reserved = env.exists(&last_path(store)).unwrap_or(false);
        (free + if reserved { self.disk.sizes.last() } else { 0 }) / 3 * 2
    }

    /// Makes what is missing of the reserve and fits; lets everything be written again once there is room beside it.
    pub fn restore_reserve(&self) -> Result<()> {
        let (env, store) = (&self.options.env, &self.options.path);
        let io = |e: std::io::Error| Error::io(format!("reserve room in {}", store.display()), &e);
        let mut available = env.disk_space(store).map_err(io)?.available;
        let mut whole = true;
        // Order: what makes room in the end first.
        for (path, bytes) in
            [(last_path(store), self.disk.sizes.last()), (deletes_path(store), self.disk.sizes.deletes)]
        {
            if env.exists(&path).map_err(io)? {
                continue;
            }
            if available < bytes + bytes / 4 {
                whole = false;
                break;
            }
            let filled = env.create_new(&path).and_then(|file| file.allocate(bytes));
            if let Err(e) = filled {
                // A part of it is of no use to anyone.
                let _ = env.remove(&path);
                return Err(io(e));
            }
            available -= bytes;
        }
        self.disk.note_room(available >= self.needed_by_flushes(), whole && available >= self.disk.sizes.enough);
        Ok(())
    }

    /// As [`Engine::restore_reserve`], when the store is opened: which it is without a reserve too.
    pub fn begin_reserve(&self) {
        if let Err(e) = self.restore_reserve() {
            log::warn!("{e}; it is tried again");
        }
        self.look_at_room();
    }

    /// Deletes on a full disk: with the part of the reserve that is for that.
    pub fn delete_with_reserve<T>(&self, mut action: impl FnMut() -> Result<T>) -> Result<T> {
        match action() {
            Err(e) if e.kind == ErrorKind::NoSpace && self.release_reserve(Use::Deletes) => action(),
            other => other,
        }
    }

    /// Does what makes room in the end: with the reserve, if it does not without.
    pub fn with_reserve<T>(&self, mut action: impl FnMut() -> Result<T>) -> Result<T> {
        let mut done = action();
        let full = |done: &Result<T>| done.as_ref().is_err_and(|e| e.kind == ErrorKind::NoSpace);
        if full(&done) {
            // What SQLite keeps beside the index may be enough.
            self.index.shrink_log();
            done = action();
        }
        while full(&done) && self.release_reserve(Use::Maintenance) {
            self.index.shrink_log();
            done = action();
        }
        done
    }
}
