//! Where values have been copied to: `.moved` files beside the places of segments that are gone.
//!
//! Readers hold handles of values without a lock; these lead them to the copies. They live as long as the process,
//! the newest of them up to a number of bytes: who has an older handle looks its cell up again.

use std::collections::BTreeMap;

use super::engine::Engine;
use crate::model::{SegmentId, ValueHandle};
use crate::{Error, ErrorKind, Result};

/// Bytes of a line of a `.moved` file: old offset u64, then segment u32, offset u64, head length, stored
/// length, length, check u32 each; little-endian.
pub const MOVED: usize = 36;
/// Bytes of them at most, and the part of the disk that they may have.
const MOST: u64 = 16 << 20;
const PART: u64 = 64;
/// They may always have so many bytes, more than the copies of a few segments of a small disk.
const LEAST: u64 = 1 << 20;

/// Old and new place of a value.
pub type Move = (ValueHandle, ValueHandle);

impl Engine {
    /// Where a value is now that may have been moved.
    pub fn current(&self, handle: &ValueHandle) -> Result<ValueHandle> {
        let mut handle = *handle;
        while self.log.segments().get(handle.segment).is_none() {
            handle = self.moved(&handle)?.ok_or_else(|| self.log.segments().absent(handle.segment))?;
        }
        Ok(handle)
    }

    fn moved_path(&self, id: SegmentId) -> std::path::PathBuf {
        self.log.segments().path(id).with_extension("moved")
    }

    fn moved(&self, old: &ValueHandle) -> Result<Option<ValueHandle>> {
        let path = self.moved_path(old.segment);
        let mut bytes = match self.options.env.read_file(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(e) => return Err(Error::io(format!("read {}", path.display()), &e)),
        };
        bytes.extend_from_slice(self.moves.lock().get(&old.segment).map_or(&[], Vec::as_slice));
        let lines = bytes.chunks_exact(MOVED).filter(|line| line[..8] == old.offset.to_le_bytes());
        let places = lines.map(|line| {
            let number = |at: usize| line[at..at + 4].iter().rev().fold(0u32, |n, &b| n << 8 | u32::from(b));
            let offset = u64::from(number(12)) | u64::from(number(16)) << 32;
            ValueHandle {
                segment: SegmentId(number(8)),
                offset,
                head_len: number(20),
                stored_len: number(24),
                len: number(28),
                check: number(32),
            }
        });
        // A copy that was given up is gone, and nothing leads on from it.
        let leads_on = |place: &ValueHandle| {
            self.log.segments().get(place.segment).is_some()
                || self.options.env.exists(&self.moved_path(place.segment)).unwrap_or(true)
                || self.moves.lock().contains_key(&place.segment)
        };
        Ok(places.into_iter().rev().find(leads_on))
    }

    /// Notes where values are copied to.
    pub fn note_moves(&self, moves: &[Move]) -> Result<()> {
        let mut lines: BTreeMap<SegmentId, Vec<u8>> = BTreeMap::new();
        for (old, new) in moves {
            let line = lines.entry(old.segment).or_default();
            line.extend_from_slice(&old.offset.to_le_bytes());
            line.extend_from_slice(&new.segment.0.to_le_bytes());
            line.extend_from_slice(&new.offset.to_le_bytes());
            for number in [new.head_len, new.stored_len, new.len, new.check] {
                line.extend_from_slice(&number.to_le_bytes());
            }
        }
        for (id, lines) in lines {
            let path = self.moved_path(id);
            let env = &self.options.env;
            let write = || {
                let file = if env.exists(&path)? { env.open(&path)? } else { env.create_new(&path)? };
                let end = file.len()?;
                file.write_at(&lines, end).or_else(|e| file.set_len(end).and(Err(e)))
            };
            match write().map_err(|e| Error::io(format!("write {}", path.display()), &e)) {
                // A full disk has better uses of its reserve; a round is not too much for the memory.
                Err(e) if e.kind == ErrorKind::NoSpace => self.moves.lock().entry(id).or_default().extend(lines),
                written => written?,
            }
        }
        Ok(())
    }

    /// Forgets moves, those of the segments with the lowest numbers first: they were made first.
    pub fn forget_old_moves(&self) -> Result<()> {
        let (env, dir) = (&self.options.env, self.log.segments().dir());
        let io = |e: std::io::Error| Error::io(format!("look at {}", dir.display()), &e);
        let total = env.disk_space(&self.options.path).map_or(u64::MAX, |space| space.total);
        let mut room = (total / PART).clamp(LEAST, MOST);
        let mut names = env.list(dir).map_err(io)?;
        names.retain(|name| name.ends_with(".moved"));
        names.sort_unstable_by(|a, b| b.cmp(a));
        for path in names.into_iter().map(|name| dir.join(name)) {
            let bytes = env.open(&path).and_then(|file| file.len()).map_err(io)?;
            if bytes > room {
                env.remove(&path).map_err(io)?;
            }
            room = room.saturating_sub(bytes);
        }
        let mut moves = self.moves.lock();
        while moves.values().map(|lines| lines.len() as u64).sum::<u64>() > LEAST {
            moves.pop_first();
        }
        Ok(())
    }
}
