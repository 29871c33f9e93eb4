//! Old entries of cells that a compaction has copied, in segments that stay: they are marked as dropped before any copy
//! may be dropped. Else a rebuild would bring them back.
//!
//! The file `moving` names such segments from before the first row of the index points to a copy until all marks are on
//! the disk: numbers u32, and a CRC-32C u32 of them; little-endian.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::check::lookup;
use super::engine::Engine;
use crate::env::Env;
use crate::index::key;
use crate::model::SegmentId;
use crate::wal::{DeadMarks, Found, Replay, ReplayEvent, append_dead, read_dead};
use crate::{Error, ErrorKind, Result};

/// Marks that are written at once.
const MARKS: usize = 1 << 16;

fn path(store: &Path) -> PathBuf {
    store.join("moving")
}

/// The segments that the file names; all of `known` if it cannot be believed.
pub fn read(env: &dyn Env, store: &Path, known: Vec<SegmentId>) -> Result<BTreeSet<SegmentId>> {
    let path = path(store);
    let bytes = match env.read_file(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(e) => return Err(Error::io(format!("read {}", path.display()), &e)),
    };
    let whole = bytes.split_last_chunk::<4>();
    let ids = whole.filter(|(ids, check)| crc32c::crc32c(ids) == u32::from_le_bytes(**check));
    Ok(match ids {
        Some((ids, _)) => ids.as_chunks::<4>().0.iter().map(|id| SegmentId(u32::from_le_bytes(*id))).collect(),
        None => known.into_iter().collect(),
    })
}

/// Segments between which cells are moved.
#[derive(Debug, Default)]
pub struct Moving {
    from: BTreeSet<SegmentId>,
    /// What is copied there may be nowhere in the index yet.
    to: BTreeSet<SegmentId>,
}

impl Moving {
    /// What an earlier process has left.
    pub fn left(from: BTreeSet<SegmentId>) -> Self {
        Self { from, to: BTreeSet::new() }
    }
}

impl Engine {
    /// Notes that cells of these segments are about to be copied. The caller holds `compacting`.
    pub fn moving_from(&self, more: &BTreeSet<SegmentId>) -> Result<()> {
        self.note_moving(|moving| moving.from.extend(more))
    }

    /// Notes that a new segment is about to be filled with copies.
    pub fn moving_to(&self, id: SegmentId) -> Result<()> {
        self.note_moving(|moving| moving.to.extend([id]))
    }

    fn note_moving(&self, change: impl FnOnce(&mut Moving)) -> Result<()> {
        let mut moving = self.moving.lock();
        let all = |moving: &Moving| moving.from.union(&moving.to).copied().collect::<Vec<_>>();
        let before = all(&moving);
        change(&mut moving);
        let after = all(&moving);
        if after == before {
            return Ok(());
        }
        let mut bytes: Vec<u8> = after.iter().flat_map(|id| id.0.to_le_bytes()).collect();
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        let path = path(&self.options.path);
        let written = self.options.env.replace_file(&path, &bytes);
        written.map_err(|e| Error::io(format!("write {}", path.display()), &e))
    }

    /// As [`Engine::end_moves`], where the index points to every copy.
    pub fn end_round(&self) -> Result<()> {
        self.moving.lock().to.clear();
        self.end_moves()
    }

    /// Marks what the index has elsewhere in segments that are still there. The caller holds `compacting`; nothing that
    /// was copied has been dropped.
    pub fn end_moves(&self) -> Result<()> {
        let mut moving = self.moving.lock();
        if moving.from.is_empty() && moving.to.is_empty() {
            return Ok(());
        }
        let all = moving.from.union(&moving.to).copied();
        let left: Vec<SegmentId> = all.filter(|id| self.log.segments().get(*id).is_some()).collect();
        if !left.is_empty() {
            // Order: rows that point to the copies outlive a power cut before the originals count as dropped.
            self.index.make_durable()?;
        }
        for id in left {
            self.mark_copied(id)?;
        }
        let path = path(&self.options.path);
        match self.options.env.remove(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io(format!("remove {}", path.display()), &e))
            }
            _ => {
                *moving = Moving::default();
                Ok(())
            }
        }
    }

    /// Marks the entries of a segment whose cells the index has elsewhere.
    fn mark_copied(&self, id: SegmentId) -> Result<()> {
        let segments = self.log.segments();
        let dead = read_dead(segments, id)?;
        if dead.all() {
            return Ok(());
        }
        let mut replay = match Replay::open(segments, id, 0) {
            // Nothing of it comes back in a rebuild either.
            Err(e) if e.kind == ErrorKind::Corrupt => return Ok(()),
            replay => replay?,
        };
        let mut copied = Vec::new();
        while let Some(event) = replay.next_event()? {
            let found = match event {
                ReplayEvent::Record { found, .. } => found,
                ReplayEvent::Damage { salvage, .. } => salvage.found,
            };
            for one in found.iter().filter(|one| !dead.contains(one.offset)) {
                if self.is_elsewhere(id, one)? {
                    copied.push(one.offset);
                }
            }
            if copied.len() >= MARKS {
                append_dead(segments, id, &copied.drain(..).collect::<DeadMarks>())?;
            }
        }
        append_dead(segments, id, &copied.into_iter().collect::<DeadMarks>())
    }

    /// Whether the index has the cell of an entry at another place. What it lacks may be its own loss.
    fn is_elsewhere(&self, id: SegmentId, one: &Found) -> Result<bool> {
        let entry = &one.entry;
        let key = key::cell_key(entry.family, &entry.row, &entry.qualifier, entry.timestamp, entry.kind, entry.seq);
        Ok(lookup(&self.index, &key)?.is_some_and(|row| row.place() != (id, one.offset)))
    }
}
