//! Copying live entries of old segments into a new one (compaction), verified on the way.

use std::sync::Arc;

use super::entry::{Entry, Head, HeadParts, put_head};
use super::record::{RECORD_HEADER, RecordHeader, SEGMENT_HEADER};
use super::segments::{Filling, Segment, Segments};
use super::value::CHUNK;
use crate::env::EnvFile;
use crate::model::{SegmentId, SeqNo, ValueHandle};
use crate::{Error, ErrorKind, Result};

/// Bytes that are collected before they are written as a record.
const RECORD: usize = 1 << 20;

/// A new segment that is being filled: nothing of it counts before [`Rewriter::sync`], and no compaction takes it while
/// this lives.
pub struct Rewriter {
    segments: Arc<Segments>,
    filling: Filling,
    segment: Arc<Segment>,
    file: Arc<dyn EnvFile>,
    offset: u64,
    buffer: Vec<u8>,
    count: u32,
}

impl Rewriter {
    pub fn create(segments: &Arc<Segments>) -> Result<Self> {
        let (filling, segment, file) = segments.create_filling()?;
        let buffer = vec![0; RECORD_HEADER];
        let segments = Arc::clone(segments);
        Ok(Self { segments, filling, segment, file, offset: SEGMENT_HEADER, buffer, count: 0 })
    }

    /// The segment that is written.
    pub fn id(&self) -> SegmentId {
        self.filling.id()
    }

    /// Bytes so far.
    pub fn bytes(&self) -> u64 {
        self.offset + self.buffer.len() as u64
    }

    /// Copies the value at `old` under the key and tags of `entry`; where it is now.
    pub fn copy(&mut self, old: &ValueHandle, entry: &Entry) -> Result<ValueHandle> {
        let from = Arc::clone(&self.segments);
        self.copy_from(&from, old, entry)
    }

    /// As [`Rewriter::copy`], of a value among other segments.
    pub fn copy_from(&mut self, from: &Segments, old: &ValueHandle, entry: &Entry) -> Result<ValueHandle> {
        let file = from.file(old.segment)?;
        let mut bytes = vec![0; old.head_len as usize + old.stored_len as usize];
        let read = file.read_at(&mut bytes, old.offset);
        read.map_err(|e| Error::io(format!("read {}", from.path(old.segment).display()), &e))?;
        let (head, value) = bytes.split_at(old.head_len as usize);
        let head = Head::parse(head).filter(|head| head.check == old.check).ok_or_else(|| damaged(old))?;
        if !value.chunks(CHUNK).enumerate().all(|(at, chunk)| head.chunk_matches(at, chunk)) {
            return Err(damaged(old));
        }
        let offset = self.offset + self.buffer.len() as u64;
        let chunks: Vec<u32> = value.chunks(CHUNK).map(crc32c::crc32c).collect();
        let parts = HeadParts {
            family: entry.family,
            row: &entry.row,
            qualifier: &entry.qualifier,
            timestamp: entry.timestamp,
            kind: entry.kind,
            seq: entry.seq,
            tags: &entry.tags,
            codec: head.codec,
            len: head.len,
            stored_len: head.stored_len,
            shared: None,
            chunks: &chunks,
        };
        let (head_len, check) = put_head(&mut self.buffer, &parts);
        self.buffer.extend_from_slice(value);
        self.count += 1;
        if self.buffer.len() >= RECORD {
            self.write_record()?;
        }
        Ok(ValueHandle { segment: self.id(), offset, head_len, check, ..*old })
    }

    fn write_record(&mut self) -> Result<()> {
        if self.count == 0 {
            return Ok(());
        }
        let length = (self.buffer.len() - RECORD_HEADER) as u32;
        let header = RecordHeader { length, count: self.count, seq: SeqNo(0), synced: SeqNo(0) };
        let header = header.encode(self.segments.store_id(), self.id(), self.offset);
        self.buffer[..RECORD_HEADER].copy_from_slice(&header);
        let written = self.file.write_at(&self.buffer, self.offset);
        written.map_err(|e| Error::io(format!("write {}", self.segments.path(self.id()).display()), &e))?;
        self.offset += self.buffer.len() as u64;
        self.segment.set_len(self.offset);
        self.buffer.clear();
        self.buffer.resize(RECORD_HEADER, 0);
        self.count = 0;
        Ok(())
    }

    /// What was copied is on the disk when this returns.
    pub fn sync(&mut self) -> Result<()> {
        self.write_record()?;
        self.file.sync().map_err(|e| Error::io(format!("sync {}", self.segments.path(self.id()).display()), &e))
    }
}

fn damaged(old: &ValueHandle) -> Error {
    let text =
        format!("segment {}, offset {}: checksum mismatch; the segment is kept as it is", old.segment.0, old.offset);
    Error::new(ErrorKind::Corrupt, text)
}
