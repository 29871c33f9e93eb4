//! The right edge of a value's tree: references are put behind all others, and lists are written when they are complete.

use std::sync::Arc;

use super::lists;
use super::read::Take;
use super::root::{ROOT_MAX, Reference, Root};
use crate::Result;
use crate::blob::blobs::Blobs;
use crate::blob::disk::chunk::{Chunk, Packed};
use crate::blob::disk::header::Kind;
use crate::blob::shares::Hold;
use crate::format::Codec;

/// The references of one height that are in no list yet.
#[derive(Clone, Default)]
struct Level {
    refs: Vec<Reference>,
    /// The list that they were read from, if they are still what it says.
    stored: Option<Reference>,
}

/// See the module.
#[derive(Clone)]
pub(in crate::blob) struct Spine {
    pub blobs: Blobs,
    pub hold: Arc<Hold>,
    levels: Vec<Level>,
}

impl Blobs {
    /// Writes a chunk, or shares one with the same bytes.
    pub(in crate::blob) fn store(&self, hold: &Hold, raw: &[u8], codec: Codec, kind: Kind) -> Result<Reference> {
        // What is shared may be what never got to the disk.
        self.0.files.refuse_poisoned()?;
        let hash = xxhash_rust::xxh3::xxh3_64(raw);
        let len = raw.len() as u64;
        if let Some((blob, chunk)) = hold.find(hash)
            // What cannot be read is not shared, and is told to whom it belongs when that is read.
            && let Ok(found) = self.chunk(blob, chunk)
            && is_same(&found, raw, kind)
        {
            return Ok(Reference { blob, chunk, len, check: found.check });
        }
        let (blob, chunk, check) = self.0.files.write_chunk(Packed::new(raw, codec, kind))?;
        self.0.files.shares.hint(hash, (blob, chunk));
        Ok(Reference { blob, chunk, len, check })
    }

    /// Writes a list, or shares one.
    pub(in crate::blob) fn store_list(&self, hold: &Hold, refs: &[Reference]) -> Result<Reference> {
        let stored = self.store(hold, &lists::encode(refs), Codec::None, Kind::List)?;
        Ok(Reference { len: refs.iter().map(|one| one.len).sum(), ..stored })
    }
}

fn is_same(found: &Chunk, raw: &[u8], kind: Kind) -> bool {
    found.kind == kind && found.bytes() == raw
}

impl Spine {
    /// Of an empty value.
    pub(in crate::blob) fn new(blobs: Blobs, hold: Arc<Hold>) -> Self {
        Self { blobs, hold, levels: vec![Level::default()] }
    }

    /// The part of a value's chunks before `to`, which must not be behind its references; also the chunk that has bytes
    /// on both sides, and how many of them are before.
    pub(in crate::blob) fn open(
        blobs: Blobs,
        hold: Arc<Hold>,
        root: &Root,
        to: u64,
    ) -> Result<(Self, Option<(Reference, u64)>)> {
        let mut levels: Vec<Level> = (0..=root.height).map(|_| Level::default()).collect();
        let (mut refs, mut stored, mut left, mut height) = (root.refs.clone(), None, to, root.height as usize);
        let split = loop {
            let (count, before) = count_before(&refs, left);
            left -= before;
            let is_whole = count == refs.len();
            let cut = refs.get(count).copied().filter(|_| left > 0);
            refs.truncate(count);
            if height == 0 {
                levels[0] = Level { refs, stored: stored.filter(|_| is_whole) };
                break cut.map(|cut| (cut, left));
            }
            // The edge goes on below the reference that has bytes on both sides, else below the last one.
            let below = cut.or_else(|| refs.pop().inspect(|last| left = last.len));
            levels[height].refs = refs;
            match below {
                None => break None,
                Some(hole) if hole.is_hole() => {
                    levels[0].refs.push(Reference::hole(left));
                    break None;
                }
                Some(list) => (refs, stored) = (blobs.list(&list)?, Some(list)),
            }
            height -= 1;
        };
        Ok((Self { blobs, hold, levels }, split))
    }

    /// The last chunk, if one is at hand.
    pub(in crate::blob) fn last(&self) -> Option<Reference> {
        self.levels[0].refs.last().copied()
    }

    /// Takes the last chunk away.
    pub(in crate::blob) fn pop(&mut self) {
        self.levels[0].stored = None;
        self.levels[0].refs.pop();
    }

    /// Bytes that its chunks cover.
    pub(super) fn len(&self) -> u64 {
        self.levels.iter().flat_map(|level| &level.refs).map(|one| one.len).sum()
    }

    /// Bytes `from..to` of them: the higher a level, the further in front is what lies below it.
    pub(super) fn read(&self, from: u64, to: u64, put: Take<'_>) -> Result<()> {
        let mut start = 0;
        for (height, level) in self.levels.iter().enumerate().rev() {
            let end = start + level.refs.iter().map(|one| one.len).sum::<u64>();
            let (first, last) = (from.max(start), to.min(end));
            if first < last {
                self.blobs.read_below(&level.refs, height as u8, first - start, last - start, put)?;
            }
            start = end;
        }
        Ok(())
    }

    /// Bytes of it without holes, about.
    pub(in crate::blob) fn filled(&self) -> Result<u64> {
        let levels = self.levels.iter().zip(0u8..);
        levels.map(|(level, height)| self.blobs.filled_below(&level.refs, height)).sum()
    }

    /// Puts a chunk behind all others.
    pub(in crate::blob) fn push(&mut self, one: Reference) -> Result<()> {
        self.push_at(0, one)
    }

    fn push_at(&mut self, height: usize, one: Reference) -> Result<()> {
        if height == self.levels.len() {
            self.levels.push(Level::default());
        }
        if lists::is_complete(&self.levels[height].refs) {
            let level = std::mem::take(&mut self.levels[height]);
            let list = self.close(level)?;
            self.push_at(height + 1, list)?;
        }
        let level = &mut self.levels[height];
        level.stored = None;
        level.refs.push(one);
        Ok(())
    }

    fn close(&self, level: Level) -> Result<Reference> {
        match level.stored {
            Some(stored) => Ok(stored),
            None => self.blobs.store_list(&self.hold, &level.refs),
        }
    }

    /// The value's root, with its last bytes.
    pub(in crate::blob) fn finish(mut self, tail: Vec<u8>) -> Result<Root> {
        let mut height = 0;
        loop {
            let is_top = self.levels[height + 1..].iter().all(|level| level.refs.is_empty());
            if is_top && self.levels[height].refs.len() <= ROOT_MAX {
                break;
            }
            let level = std::mem::take(&mut self.levels[height]);
            if !level.refs.is_empty() {
                let list = self.close(level)?;
                self.push_at(height + 1, list)?;
            }
            height += 1;
        }
        let refs = std::mem::take(&mut self.levels[height].refs);
        Root::of(height as u8, refs, tail, self.hold)
    }
}

/// How many references end before or at `to`, and what they cover.
fn count_before(refs: &[Reference], to: u64) -> (usize, u64) {
    let (mut count, mut before) = (0, 0u64);
    while let Some(one) = refs.get(count).filter(|one| one.len <= to - before) {
        before += one.len;
        count += 1;
    }
    (count, before)
}
