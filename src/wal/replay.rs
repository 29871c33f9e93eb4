//! Reading a segment from front to back: the one fold that recovery, check and rebuild use.
//!
//! A record is delivered only when its header, every head and every chunk of every value verify. What
//! does not verify is reported with its place and what is left of it, and reading goes on at the next header
//! that does.

use std::sync::Arc;

use super::entry::{Entry, Head, OPENING, head_len};
use super::record::{RECORD_HEADER, RECORD_MAGIC, RecordHeader, SEGMENT_HEADER, SegmentOrigin, u32_at};
use super::salvage::Salvage;
use super::segments::Segments;
use super::sum::agree;
use super::value::CHUNK;
use crate::env::EnvFile;
use crate::model::{SegmentId, SeqNo, ValueHandle};
use crate::{Error, Result};

const WINDOW: usize = 1 << 20;

/// An entry that was read and verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub entry: Entry,
    /// Where the entry starts.
    pub offset: u64,
    /// Where its value is.
    pub value: ValueHandle,
    /// Whether the value belongs to another entry.
    pub shared: bool,
    /// Whether the value verifies; always so in a record that does.
    pub whole: bool,
}

/// What is met at the next place of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayEvent {
    Record {
        offset: u64,
        /// First byte after it.
        end: u64,
        seq: SeqNo,
        /// Known to be on the disk when it was written.
        synced: SeqNo,
        found: Vec<Found>,
    },
    Damage {
        offset: u64,
        /// Where the next good header is; `None`: nowhere.
        resume: Option<u64>,
        reason: &'static str,
        salvage: Salvage,
    },
}

/// A walk through one segment.
pub struct Replay {
    segments: Arc<Segments>,
    id: SegmentId,
    origin: SegmentOrigin,
    file: Arc<dyn EnvFile>,
    len: u64,
    offset: u64,
    window: Vec<u8>,
    window_at: u64,
}

impl Replay {
    /// Starts at `from` (0 = at the first record); the segment's header is verified.
    pub fn open(segments: &Arc<Segments>, id: SegmentId, from: u64) -> Result<Self> {
        Self::begin(segments, id, segments.check_header(id)?, from.max(SEGMENT_HEADER))
    }

    /// A walk that believes nothing of the segment's header.
    pub(super) fn unchecked(segments: &Arc<Segments>, id: SegmentId, origin: SegmentOrigin) -> Result<Self> {
        Self::begin(segments, id, origin, SEGMENT_HEADER)
    }

    fn begin(segments: &Arc<Segments>, id: SegmentId, origin: SegmentOrigin, offset: u64) -> Result<Self> {
        let file = segments.file(id)?;
        // What a writer has not finished is not looked at.
        let len = segments.get(id).map_or(0, |segment| segment.len());
        let segments = Arc::clone(segments);
        Ok(Self { segments, id, origin, file, len, offset, window: Vec::new(), window_at: 0 })
    }

    /// Bytes that are looked at.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// How the segment came to be.
    pub fn origin(&self) -> SegmentOrigin {
        self.origin
    }

    /// The next record or damage; `None` at the end.
    pub fn next_event(&mut self) -> Result<Option<ReplayEvent>> {
        if self.offset >= self.len {
            return Ok(None);
        }
        let offset = self.offset;
        let Some(header) = self.header(offset)? else {
            return self.damage("no whole record header", offset + 1, None).map(Some);
        };
        let end = offset + RECORD_HEADER as u64 + u64::from(header.length);
        if end > self.len {
            return self.damage("the record is cut off", offset + RECORD_HEADER as u64, Some(header)).map(Some);
        }
        match self.entries(offset, end, header.count)? {
            Some(found) => {
                self.offset = end;
                let (seq, synced) = (header.seq, header.synced);
                Ok(Some(ReplayEvent::Record { offset, end, seq, synced, found }))
            }
            None => self.damage("checksum mismatch in a record", end, Some(header)).map(Some),
        }
    }

    /// The next record's header only, and where it is; moves past the record.
    fn next_header(&mut self) -> Result<Option<(u64, RecordHeader)>> {
        while self.offset < self.len {
            let offset = self.offset;
            if let Some(header) = self.header(offset)? {
                self.offset = offset + RECORD_HEADER as u64 + u64::from(header.length);
                return Ok(Some((offset, header)));
            }
            match self.find_header(offset + 1)? {
                Some(next) => self.offset = next,
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    fn damage(&mut self, reason: &'static str, search: u64, header: Option<RecordHeader>) -> Result<ReplayEvent> {
        let offset = self.offset;
        let resume = self.find_header(search)?;
        self.offset = resume.unwrap_or(self.len);
        let said = header.map(|header| offset + RECORD_HEADER as u64 + u64::from(header.length));
        let end = said.filter(|end| *end <= self.len).unwrap_or(self.offset);
        let salvage = self.salvage(offset, end, header)?;
        Ok(ReplayEvent::Damage { offset, resume, reason, salvage })
    }

    fn header(&mut self, offset: u64) -> Result<Option<RecordHeader>> {
        self.header_of(offset, offset)
    }

    /// The header at `offset`, if it was written at `then`.
    pub(super) fn header_of(&mut self, offset: u64, then: u64) -> Result<Option<RecordHeader>> {
        let (store, id) = (*self.segments.store_id(), self.id);
        let bytes = self.bytes(offset, RECORD_HEADER)?;
        Ok(bytes.and_then(|b| RecordHeader::decode(b, &store, id, then)))
    }

    /// How the check of what may be a header differs from that of one which was written at `offset`.
    pub(super) fn check_difference(&mut self, offset: u64) -> Result<Option<u32>> {
        let (store, id) = (*self.segments.store_id(), self.id);
        let bytes = self.bytes(offset, RECORD_HEADER)?;
        Ok(bytes.map(|b| RecordHeader::check_difference(b, &store, id, offset)))
    }

    /// How far the entries from `start` on verify, after a record's header if there is one; a value that does not ends
    /// it, its head does not.
    pub(super) fn reach(&mut self, start: u64, has_header: bool, end: u64) -> Result<u64> {
        if !has_header {
            return Ok(start);
        }
        let mut at = (start + RECORD_HEADER as u64).min(end);
        while at < end
            && let Some((found, chunks, next)) = self.head(at, end)?
        {
            let value_at = next - u64::from(if found.shared { 0 } else { found.value.stored_len });
            if !self.value_matches(value_at, next, &chunks)? {
                return Ok(value_at);
            }
            at = next;
        }
        Ok(at)
    }

    fn find_header(&mut self, from: u64) -> Result<Option<u64>> {
        let mut at = from;
        while let Some(hit) = self.find_magic(at)? {
            if self.header(hit)?.is_some() {
                return Ok(Some(hit));
            }
            at = hit + 1;
        }
        Ok(None)
    }

    /// Where the next thing that may be a header is.
    pub(super) fn find_magic(&mut self, from: u64) -> Result<Option<u64>> {
        let mut at = from;
        while at + RECORD_HEADER as u64 <= self.len {
            // What is read already comes first.
            let held = (self.window_at + self.window.len() as u64).saturating_sub(at) as usize;
            let inside = at >= self.window_at && held >= RECORD_HEADER;
            let span = if inside { held } else { WINDOW.min((self.len - at) as usize) };
            let Some(bytes) = self.bytes(at, span)? else { return Ok(None) };
            match bytes.windows(RECORD_MAGIC.len()).position(|window| window == RECORD_MAGIC) {
                Some(hit) => return Ok(Some(at + hit as u64)),
                None => at += (span - (RECORD_MAGIC.len() - 1)).max(1) as u64,
            }
        }
        Ok(None)
    }

    pub(super) fn entries(&mut self, offset: u64, end: u64, count: u32) -> Result<Option<Vec<Found>>> {
        let mut found = Vec::new();
        let mut at = offset + RECORD_HEADER as u64;
        while at < end {
            let Some((one, next)) = self.entry(at, end)? else { return Ok(None) };
            found.push(one);
            at = next;
        }
        Ok((found.len() == count as usize).then_some(found))
    }

    /// One verified entry and the offset after it.
    fn entry(&mut self, at: u64, end: u64) -> Result<Option<(Found, u64)>> {
        let Some((found, chunks, next)) = self.head(at, end)? else { return Ok(None) };
        let value_at = next - u64::from(if found.shared { 0 } else { found.value.stored_len });
        Ok(self.value_matches(value_at, next, &chunks)?.then_some((found, next)))
    }

    /// An entry whose head verifies, the checks of its value, and the offset after it.
    pub(super) fn head(&mut self, at: u64, end: u64) -> Result<Option<(Found, Vec<u8>, u64)>> {
        let id = self.id;
        let Some(len) = self.bytes(at, OPENING)?.and_then(head_len) else { return Ok(None) };
        if at + len as u64 > end {
            return Ok(None);
        }
        let Some(bytes) = self.bytes(at, len)? else { return Ok(None) };
        let Some(head) = Head::parse(bytes) else { return Ok(None) };
        let shared = head.shared.is_some();
        let found = Found { entry: head.to_entry(), offset: at, value: head.handle(id, at), shared, whole: true };
        let next = at + len as u64 + u64::from(head.stored_len);
        Ok((next <= end).then(|| (found, head.chunks.to_vec(), next)))
    }

    pub(super) fn value_matches(&mut self, mut at: u64, end: u64, chunks: &[u8]) -> Result<bool> {
        for check in chunks.chunks(4) {
            let span = CHUNK.min((end - at) as usize);
            let Some(bytes) = self.bytes(at, span)? else { return Ok(false) };
            if !agree(u32_at(check, 0), crc32c::crc32c(bytes)) {
                return Ok(false);
            }
            at += span as u64;
        }
        Ok(true)
    }

    /// `len` bytes at `offset`, `None` past the end.
    fn bytes(&mut self, offset: u64, len: usize) -> Result<Option<&[u8]>> {
        if offset + len as u64 > self.len {
            return Ok(None);
        }
        let inside = offset >= self.window_at && offset + len as u64 <= self.window_at + self.window.len() as u64;
        if !inside {
            self.window.resize(len.max(WINDOW).min((self.len - offset) as usize), 0);
            self.window_at = offset;
            let read = self.file.read_at(&mut self.window, offset);
            read.map_err(|e| Error::io(format!("read {}", self.segments.path(self.id).display()), &e))?;
        }
        let start = (offset - self.window_at) as usize;
        Ok(Some(&self.window[start..start + len]))
    }
}

/// Walks one segment from `from` and tells `sink` everything.
pub fn replay_segment(
    segments: &Arc<Segments>,
    id: SegmentId,
    from: u64,
    sink: &mut dyn FnMut(ReplayEvent) -> Result<()>,
) -> Result<()> {
    let mut replay = Replay::open(segments, id, from)?;
    while let Some(event) = replay.next_event()? {
        sink(event)?;
    }
    Ok(())
}

/// The entry at a place, if its head verifies; its value is not looked at.
pub fn read_head(segments: &Arc<Segments>, id: SegmentId, at: u64) -> Result<Option<Found>> {
    let mut replay = Replay::open(segments, id, at)?;
    let len = replay.len;
    Ok(replay.head(at, len)?.map(|(found, ..)| found))
}

/// What the headers of a segment's records say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// The highest sequence number that any record knew to be on the disk.
    pub synced: SeqNo,
    /// Whether they follow one another up to the end.
    pub whole: bool,
}

/// Reads the headers of a segment's records from an offset on.
pub fn read_headers(segments: &Arc<Segments>, id: SegmentId, from: u64) -> Result<Headers> {
    let mut replay = Replay::open(segments, id, from)?;
    let mut headers = Headers { synced: SeqNo(0), whole: true };
    let mut expected = replay.offset;
    while let Some((offset, header)) = replay.next_header()? {
        headers.synced = headers.synced.max(header.synced);
        headers.whole &= offset == expected;
        expected = replay.offset;
    }
    headers.whole &= expected == replay.len;
    Ok(headers)
}
