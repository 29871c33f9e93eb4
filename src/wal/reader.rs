//! Reading values: one positioned read for a small one, single chunks of a large one, all verified.

use std::sync::Arc;

use crate::env::sync::Mutex;
use lru::LruCache;

use super::entry::Head;
use super::segments::Segments;
use super::value::{CHUNK, Codec};
use crate::env::EnvFile;
use crate::model::ValueHandle;
use crate::{Error, ErrorKind, Result};

/// Entries up to this size are read whole.
const WHOLE: usize = 128 * 1024;
/// Bytes of expanded values that are kept for the next piece.
const KEPT: usize = 64 << 20;

/// See the module.
pub struct ValueReader {
    segments: Arc<Segments>,
    expanded: Mutex<LruCache<ValueHandle, Arc<Vec<u8>>>>,
}

impl ValueReader {
    pub fn new(segments: Arc<Segments>) -> Self {
        Self { segments, expanded: Mutex::new(LruCache::unbounded()) }
    }

    /// At most `len` bytes from `offset` of a value; fewer only at its end.
    pub fn read(&self, handle: &ValueHandle, offset: u64, len: usize) -> Result<Vec<u8>> {
        let end = u64::from(handle.len).min(offset.saturating_add(len as u64));
        if offset >= end {
            return Ok(Vec::new());
        }
        let range = offset as usize..end as usize;
        let file = self.segments.file(handle.segment)?;
        if handle.head_len as usize + handle.stored_len as usize <= WHOLE {
            return self.read_whole(&*file, handle, range);
        }
        self.read_pieces(&*file, handle, range)
    }

    fn read_whole(&self, file: &dyn EnvFile, handle: &ValueHandle, range: std::ops::Range<usize>) -> Result<Vec<u8>> {
        let mut entry = vec![0; handle.head_len as usize + handle.stored_len as usize];
        self.fill(file, handle, handle.offset, &mut entry)?;
        let (head, stored) = entry.split_at(handle.head_len as usize);
        let head = checked(head, handle)?;
        verify(&head, handle, stored, 0)?;
        if head.codec == Codec::None {
            let start = handle.head_len as usize;
            entry.copy_within(start + range.start..start + range.end, 0);
            entry.truncate(range.len());
            return Ok(entry);
        }
        let data = head.codec.expand(stored, handle.len as usize).ok_or_else(|| damaged(handle, "does not expand"))?;
        Ok(data[range].to_vec())
    }

    fn read_pieces(&self, file: &dyn EnvFile, handle: &ValueHandle, range: std::ops::Range<usize>) -> Result<Vec<u8>> {
        if let Some(data) = self.expanded.lock().get(handle) {
            return Ok(data[range].to_vec());
        }
        let mut bytes = vec![0; handle.head_len as usize];
        self.fill(file, handle, handle.offset, &mut bytes)?;
        let head = checked(&bytes, handle)?;
        if head.codec != Codec::None {
            let stored = self.chunks(file, handle, &head, 0..handle.stored_len as usize)?;
            let data = head.codec.expand(&stored, handle.len as usize);
            let data = Arc::new(data.ok_or_else(|| damaged(handle, "does not expand"))?);
            self.keep(*handle, Arc::clone(&data));
            return Ok(data[range].to_vec());
        }
        self.chunks(file, handle, &head, range)
    }

    /// Stored bytes of a range, read and verified by whole chunks.
    fn chunks(
        &self,
        file: &dyn EnvFile,
        handle: &ValueHandle,
        head: &Head<'_>,
        range: std::ops::Range<usize>,
    ) -> Result<Vec<u8>> {
        let first = range.start / CHUNK * CHUNK;
        let last = range.end.next_multiple_of(CHUNK).min(handle.stored_len as usize);
        let mut data = vec![0; last - first];
        self.fill(file, handle, handle.offset + u64::from(handle.head_len) + first as u64, &mut data)?;
        verify(head, handle, &data, first / CHUNK)?;
        data.truncate(range.end - first);
        data.drain(..range.start - first);
        Ok(data)
    }

    fn keep(&self, handle: ValueHandle, data: Arc<Vec<u8>>) {
        let mut kept = self.expanded.lock();
        kept.put(handle, data);
        while kept.iter().map(|(_, data)| data.len()).sum::<usize>() > KEPT {
            kept.pop_lru();
        }
    }

    fn fill(&self, file: &dyn EnvFile, handle: &ValueHandle, at: u64, buf: &mut [u8]) -> Result<()> {
        file.read_at(buf, at).map_err(|e| match e.kind() {
            std::io::ErrorKind::UnexpectedEof => damaged(handle, "ends before the value does"),
            _ => Error::io(format!("read {}", self.segments.path(handle.segment).display()), &e),
        })
    }
}

fn damaged(handle: &ValueHandle, what: &str) -> Error {
    let (segment, offset) = (handle.segment.0, handle.offset);
    let text = format!(
        "segment {segment}, offset {offset}: {what}; the value cannot be read. Put it again, or restore it from a backup"
    );
    Error::new(ErrorKind::Corrupt, text)
}

fn checked<'a>(bytes: &'a [u8], handle: &ValueHandle) -> Result<Head<'a>> {
    let head = Head::parse(bytes).ok_or_else(|| damaged(handle, "checksum mismatch in the entry's head"))?;
    let same = head.check == handle.check && head.stored_len == handle.stored_len && head.len == handle.len;
    if same && head.shared.is_none() { Ok(head) } else { Err(damaged(handle, "another entry than the index says")) }
}

fn verify(head: &Head<'_>, handle: &ValueHandle, stored: &[u8], first: usize) -> Result<()> {
    for (index, chunk) in stored.chunks(CHUNK).enumerate() {
        if !head.chunk_matches(first + index, chunk) {
            return Err(damaged(handle, "checksum mismatch in the value"));
        }
    }
    Ok(())
}
