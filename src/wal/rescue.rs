//! What was not on the disk when a sync failed, written once more to a new segment.
//!
//! Must not know when that is done. An entry whose bytes are those of another one that is written again points to
//! where they are now: the disk may not have them where they were.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::entry::put_head;
use super::record::{RECORD_HEADER, RecordHeader, SEGMENT_HEADER};
use super::replay::{Found, ReplayEvent, replay_segment};
use super::segments::Segments;
use super::write::share_parts;
use crate::env::EnvFile;
use crate::model::{SegmentId, SeqNo, ValueHandle};
use crate::{Error, Result};

/// Bytes that are copied at once.
const BUFFER: usize = 1 << 20;

/// A part of a record's body.
enum Piece {
    /// As it was.
    Old(Range<u64>),
    New(Vec<u8>),
}

impl Piece {
    fn len(&self) -> u64 {
        match self {
            Self::Old(range) => range.end - range.start,
            Self::New(bytes) => bytes.len() as u64,
        }
    }
}

/// See the module.
pub struct Rescue<'a> {
    segments: &'a Arc<Segments>,
    /// Known to be on the disk.
    synced: SeqNo,
    id: SegmentId,
    file: &'a dyn EnvFile,
    /// Where the new segment ends.
    pub end: u64,
    pub records: u64,
    /// Where entries are now, by where they were; as many as were written since the last sync.
    moved: FxHashMap<(SegmentId, u64), u64>,
}

impl<'a> Rescue<'a> {
    /// Into an empty segment.
    pub fn new(segments: &'a Arc<Segments>, synced: SeqNo, id: SegmentId, file: &'a dyn EnvFile) -> Self {
        Self { segments, synced, id, file, end: SEGMENT_HEADER, records: 0, moved: FxHashMap::default() }
    }

    /// Copies the records of a segment from an offset on.
    pub fn copy(&mut self, id: SegmentId, from: &dyn EnvFile, offset: u64) -> Result<()> {
        replay_segment(self.segments, id, offset, &mut |event| {
            let ReplayEvent::Record { end, seq, found, .. } = event else { return Ok(()) };
            let pieces = self.pieces(id, &found, end);
            let written = self.write(from, &pieces, (seq, found.len() as u32));
            written.map_err(|e| Error::io(format!("write {}", self.segments.path(self.id).display()), &e))?;
            self.records += 1;
            Ok(())
        })
    }

    /// The entries of a record up to `end`, as they are to be written.
    fn pieces(&mut self, id: SegmentId, found: &[Found], end: u64) -> Vec<Piece> {
        let mut place = self.end + RECORD_HEADER as u64;
        let mut pieces = Vec::with_capacity(found.len());
        for (n, one) in found.iter().enumerate() {
            let next = found.get(n + 1).map_or(end, |next| next.offset);
            let piece = match self.moved.get(&(one.value.segment, one.value.offset)).filter(|_| one.shared) {
                Some(&offset) => {
                    let mut head = Vec::new();
                    put_head(
                        &mut head,
                        &share_parts(&one.entry, &ValueHandle { segment: self.id, offset, ..one.value }),
                    );
                    Piece::New(head)
                }
                None => Piece::Old(one.offset..next),
            };
            self.moved.insert((id, one.offset), place);
            place += piece.len();
            pieces.push(piece);
        }
        pieces
    }

    fn write(&mut self, from: &dyn EnvFile, pieces: &[Piece], (seq, count): (SeqNo, u32)) -> std::io::Result<()> {
        let length = pieces.iter().map(Piece::len).sum::<u64>() as u32;
        let header = RecordHeader { length, count, seq, synced: self.synced };
        self.file.write_at(&header.encode(self.segments.store_id(), self.id, self.end), self.end)?;
        let mut at = self.end + RECORD_HEADER as u64;
        for piece in pieces {
            match piece {
                Piece::Old(range) => self.copy_bytes(from, range.clone(), at)?,
                Piece::New(bytes) => self.file.write_at(bytes, at)?,
            }
            at += piece.len();
        }
        self.end = at;
        Ok(())
    }

    fn copy_bytes(&self, from: &dyn EnvFile, range: Range<u64>, to: u64) -> std::io::Result<()> {
        let mut buffer = vec![0; BUFFER.min((range.end - range.start) as usize)];
        let mut at = range.start;
        while at < range.end {
            let part = buffer.len().min((range.end - at) as usize);
            from.read_at(&mut buffer[..part], at)?;
            self.file.write_at(&buffer[..part], to + at - range.start)?;
            at += part as u64;
        }
        Ok(())
    }
}
