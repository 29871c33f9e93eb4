//! Room that is given back when the disk is full, so that deleting and compacting still work.

use super::engine::Engine;
use crate::{Error, ErrorKind, Result};

/// What of it tombstones and the index may take while segments are rewritten.
const HOUSEKEEPING: u64 = 3 << 20;
/// A segment has at most this part of the disk, so that on a small one little room lets one be rewritten.
const PARTS: u64 = 64;
const LEAST_SEGMENT: u64 = 1 << 20;

/// Bytes after which a segment is complete, on a disk of so many bytes.
pub fn segment_bytes(wanted: u64, disk_total: u64) -> u64 {
    wanted.min((disk_total / PARTS).max(LEAST_SEGMENT))
}

impl Engine {
    fn reserve_path(&self) -> std::path::PathBuf {
        self.options.path.join("reserve")
    }

    /// Gives the reserve back to the disk; whether there was one.
    fn release_reserve(&self) -> bool {
        let released = self.options.env.remove(&self.reserve_path()).is_ok();
        if released {
            log::warn!("the disk under {} is full: the reserve is in use", self.options.path.display());
        }
        released
    }

    /// Room for the live half of any segment that is worth rewriting, and for what is written beside it.
    fn reserve_bytes(&self) -> u64 {
        self.options.segment_bytes / 2 + HOUSEKEEPING
    }

    /// Bytes that a compaction may write: what is free and, without what the index needs meanwhile, the reserve.
    pub fn room_for_copies(&self) -> u64 {
        let free = self.options.env.disk_space(&self.options.path).map_or(0, |space| space.available);
        let reserved = self.options.env.exists(&self.reserve_path()).unwrap_or(false);
        free + if reserved { self.reserve_bytes() - HOUSEKEEPING / 3 } else { 0 }
    }

    /// Makes the reserve if it is missing and there is room.
    pub fn restore_reserve(&self) -> Result<()> {
        let (env, path) = (&self.options.env, self.reserve_path());
        let io = |e: std::io::Error| Error::io(format!("reserve room in {}", path.display()), &e);
        let enough = 3 * self.reserve_bytes();
        if env.exists(&path).map_err(io)? || env.disk_space(&self.options.path).map_err(io)?.available < enough {
            return Ok(());
        }
        let filled = env.create_new(&path).and_then(|file| file.allocate(self.reserve_bytes()));
        if filled.is_err() {
            self.release_reserve();
        }
        filled.map_err(io)
    }

    /// Does what must work on a full disk: with the reserve, if it does not without.
    pub fn with_reserve<T>(&self, mut action: impl FnMut() -> Result<T>) -> Result<T> {
        match action() {
            Err(e) if e.kind == ErrorKind::NoSpace && self.release_reserve() => action(),
            other => other,
        }
    }
}
