//! Bytes that something has put into a segment, or taken out of it: where its records are, and where they belong.
//!
//! The check of a record's header covers the offset at which it was written and is linear in it, so it says which
//! offset that was. A record that verifies as a whole is put back there, and nowhere else: handles, marks of dropped
//! cells and values that are shared fit again.

use std::sync::Arc;

use super::record::{RECORD_HEADER, RecordHeader, SEGMENT_HEADER, SegmentOrigin, segment_header};
use super::replay::Replay;
use super::segments::Segments;
use crate::model::{SegmentId, SeqNo};
use crate::{Error, ErrorKind, Result};

/// Bytes that come or go at one place, at most.
const SHIFT_MAX: u64 = 1 << 20;
const BUFFER: usize = 1 << 20;

/// Bytes at `from` that belong at `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    from: u64,
    to: u64,
    len: u64,
}

/// How a segment is put in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mending {
    pieces: Vec<Piece>,
    /// The segment's own header is made anew.
    origin: Option<SegmentOrigin>,
    /// Whole records that are moved.
    pub records: u64,
    /// Where something first came or went; 0: only the segment's header is damaged.
    pub at: u64,
}

/// Tells from the check of a header at which offset it was written.
struct Origins {
    /// For the highest bit of a difference of checks: such a difference, and that of the offsets that makes it.
    basis: [(u32, u32); 32],
}

impl Origins {
    fn new() -> Self {
        let (store, header) = ([0; 16], RecordHeader::default());
        let check = |offset: u64| {
            let bytes = header.encode(&store, SegmentId(0), offset);
            super::record::u32_at(&bytes, RECORD_HEADER - 4)
        };
        let mut basis = [(0, 0); 32];
        for bit in 0..32u32 {
            let (mut sum, mut offset) = (check(1 << bit) ^ check(0), 1 << bit);
            while sum != 0 {
                let (known, by) = &mut basis[31 - sum.leading_zeros() as usize];
                if *known == 0 {
                    (*known, *by) = (sum, offset);
                    break;
                }
                (sum, offset) = (sum ^ *known, offset ^ *by);
            }
        }
        Self { basis }
    }

    /// The offset whose check is another one by `sum` than that of `offset`.
    fn solve(&self, offset: u64, mut sum: u32) -> u64 {
        let mut difference = 0;
        while sum != 0 {
            let (known, by) = self.basis[31 - sum.leading_zeros() as usize];
            if known == 0 {
                return u64::MAX;
            }
            (sum, difference) = (sum ^ known, difference ^ by);
        }
        offset ^ u64::from(difference)
    }
}

/// A record at `now` that was written at `then`.
#[derive(Clone, Copy, Debug)]
struct Moved {
    now: u64,
    then: u64,
    header: RecordHeader,
}

impl Moved {
    fn shift(&self) -> i64 {
        self.now.cast_signed() - self.then.cast_signed()
    }

    fn end(&self) -> u64 {
        self.now + RECORD_HEADER as u64 + u64::from(self.header.length)
    }
}

struct Surveyor {
    replay: Replay,
    origins: Origins,
}

impl Surveyor {
    /// The header of a record that was moved by `shift`.
    fn at(&mut self, now: u64, shift: i64) -> Result<Option<Moved>> {
        let Some(then) = now.checked_add_signed(-shift) else { return Ok(None) };
        Ok(self.replay.header_of(now, then)?.map(|header| Moved { now, then, header }))
    }

    /// The next whole record from `from` on that was written at `least` or later.
    fn find(&mut self, from: u64, least: u64) -> Result<Option<Moved>> {
        let mut at = from;
        while let Some(now) = self.replay.find_magic(at)? {
            if let Some(found) = self.whole(now, least)? {
                return Ok(Some(found));
            }
            at = now + 1;
        }
        Ok(None)
    }

    /// Where entries of the last record are that do not end where its header says, but with the file.
    fn behind(&mut self, last: Moved, len: u64) -> Result<Option<u64>> {
        if last.end() == len || last.end().abs_diff(len) > SHIFT_MAX {
            return Ok(None);
        }
        self.replay.goes_on(last.now, last.header, len)
    }

    fn whole(&mut self, now: u64, least: u64) -> Result<Option<Moved>> {
        let Some(sum) = self.replay.check_difference(now)? else { return Ok(None) };
        let then = self.origins.solve(now, sum);
        if then < least || then.abs_diff(now) > SHIFT_MAX {
            return Ok(None);
        }
        let Some(header) = self.replay.header_of(now, then)? else { return Ok(None) };
        let found = Moved { now, then, header };
        let verifies =
            found.end() <= self.replay.len() && self.replay.entries(now, found.end(), header.count)?.is_some();
        Ok(verifies.then_some(found))
    }
}

/// How a segment is put in order; `None`: nothing in it was moved.
pub fn survey(segments: &Arc<Segments>, id: SegmentId) -> Result<Option<Mending>> {
    let (origin, broken) = match segments.check_header(id) {
        Ok(origin) => (origin, false),
        // Where entries need not have their record's number.
        Err(e) if e.kind == ErrorKind::Corrupt => (SegmentOrigin::Compaction, true),
        Err(e) => return Err(e),
    };
    let replay = Replay::unchecked(segments, id, origin)?;
    let len = replay.len();
    let mut surveyor = Surveyor { replay, origins: Origins::new() };
    let mut mending = Mending::default();
    let (mut now, mut shift, mut begun) = (SEGMENT_HEADER, 0, SEGMENT_HEADER);
    let (mut last, mut first): (Option<Moved>, Option<SeqNo>) = (None, None);
    while now < len {
        if let Some(found) = surveyor.at(now, shift)? {
            first.get_or_insert(found.header.seq);
            mending.records += u64::from(shift != 0);
            (last, now) = (Some(found), found.end());
            continue;
        }
        // Order: what is missing in a record brings the next one nearer than its length says.
        let suspect = last.map_or(if broken { 0 } else { now }, |last| last.now);
        let least = last.map_or(SEGMENT_HEADER, |last| last.end().saturating_add_signed(-shift));
        let after = suspect + if last.is_some() { RECORD_HEADER as u64 } else { 0 };
        let Some(found) = surveyor.find(after, least)? else { break };
        if found.shift() != shift {
            if mending.at == 0 {
                mending.at = suspect.max(SEGMENT_HEADER);
            }
            let suspect = suspect.max(begun);
            let reach = surveyor.replay.reach(suspect, last.is_some(), found.now)?;
            mending.join((begun, shift), (suspect, reach), found);
            (shift, begun) = (found.shift(), found.now);
        }
        now = found.now;
    }
    let behind = last.map(|last| surveyor.behind(last, len)).transpose()?.flatten();
    mending.end((begun, shift), last.filter(|_| behind.is_some()), behind.unwrap_or(len), len);
    let compaction = first.or(last.map(|last| last.header.seq)) == Some(SeqNo(0));
    mending.origin = broken.then_some(if compaction { SegmentOrigin::Compaction } else { SegmentOrigin::Log });
    let useful = mending.pieces.len() > 1 || broken && last.is_some();
    Ok(useful.then_some(mending))
}

impl Mending {
    /// Ends the piece that began at `begun`: what is whole of the record at `suspect` (up to `reach`) stays where it
    /// is, the rest ends where the next record begins.
    fn join(&mut self, (begun, shift): (u64, i64), (suspect, reach): (u64, u64), next: Moved) {
        let then = |now: u64| now.saturating_add_signed(-shift);
        let room = next.then.saturating_sub(then(suspect));
        let there = next.now.saturating_sub(suspect);
        let front = (reach - suspect).min(room).min(there);
        let back = (room - front).min(there - front);
        self.pieces.push(Piece { from: begun, to: then(begun), len: suspect + front - begun });
        self.pieces.push(Piece { from: next.now - back, to: next.then - back, len: back });
    }

    /// Ends the last piece. Of `last`, if it is given, what is from `rest` on belongs at its end.
    fn end(&mut self, (begun, shift): (u64, i64), last: Option<Moved>, rest: u64, len: u64) {
        let then = |now: u64| now.saturating_add_signed(-shift);
        let Some(last) = last else {
            self.pieces.push(Piece { from: begun, to: then(begun), len: len.saturating_sub(begun) });
            return;
        };
        let to = then(last.end()) - (len - rest);
        // What is in between is of no use, and must not reach over it.
        let front = rest.min(begun + to.saturating_sub(then(begun)));
        self.pieces.push(Piece { from: begun, to: then(begun), len: front - begun });
        self.pieces.push(Piece { from: rest, to, len: len - rest });
        self.at = if self.at == 0 { last.now } else { self.at };
        self.records += 1;
    }
}

/// Puts a segment in order. The file as it was is kept beside it, and stays in snapshots.
pub fn mend(segments: &Arc<Segments>, id: SegmentId, mending: &Mending) -> Result<()> {
    let (env, path) = (segments.env(), segments.path(id));
    let io = |e: std::io::Error| Error::io(format!("put {} in order", path.display()), &e);
    let (new, kept) = (path.with_extension("mending"), path.with_extension("moved.cut"));
    for leftover in [&new, &kept] {
        if env.exists(leftover).map_err(io)? {
            env.remove(leftover).map_err(io)?;
        }
    }
    let (from, to) = (segments.file(id)?, env.create_new(&new).map_err(io)?);
    let mut header = [0; SEGMENT_HEADER as usize];
    match mending.origin {
        Some(origin) => header = segment_header(id, segments.store_id(), origin),
        None => from.read_at(&mut header, 0).map_err(io)?,
    }
    let copy = || {
        to.write_at(&header, 0)?;
        let mut buffer = vec![0; BUFFER];
        let mut end = SEGMENT_HEADER;
        for piece in &mending.pieces {
            let mut done = 0;
            while done < piece.len {
                let part = BUFFER.min((piece.len - done) as usize);
                from.read_at(&mut buffer[..part], piece.from + done)?;
                to.write_at(&buffer[..part], piece.to + done)?;
                done += part as u64;
            }
            end = end.max(piece.to + piece.len);
        }
        // Order: the contents before the name.
        to.sync()?;
        env.link(&path, &kept)?;
        env.rename(&new, &path)?;
        env.sync_dir(segments.dir())?;
        Ok(end)
    };
    let copied: std::io::Result<u64> = copy();
    if copied.is_err() {
        // A leftover takes room, no more.
        let _ = env.remove(&new);
    }
    segments.replaced(id, copied.map_err(io)?);
    log::warn!("{} was put in order; as it was it is kept as {}", path.display(), kept.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_tells_where_a_header_was_written() {
        let (origins, store) = (Origins::new(), [9; 16]);
        let header = RecordHeader { length: 77, count: 2, seq: SeqNo(5), synced: SeqNo(4) };
        for (then, now) in [(40u64, 41u64), (4096, 40), (1 << 31, (1 << 31) - 7), (70_000, 70_000)] {
            let check = |offset| super::super::record::u32_at(&header.encode(&store, SegmentId(3), offset), 28);
            assert_eq!(origins.solve(now, check(then) ^ check(now)), then);
        }
    }
}
