//! Bytes of a file that is being written: in memory while small, in an unlinked file when large.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::model::{FileChange, FileTime, Value};
use crate::{Error, Result};

/// Larger contents lie in a file.
pub const MEMORY_MAX: u64 = 1 << 20;

/// An unlinked file.
pub type SpillFile = Arc<File>;

/// Memory for all files that are being written; past it also small ones lie in files.
const HELD_MAX: u64 = 64 << 20;
/// As small as the bookkeeping of a file.
const TINY: u64 = 512;

/// Bytes of all [`Held`] of this process.
static HELD: AtomicU64 = AtomicU64::new(0);

/// Bytes in memory, counted as long as they are held.
#[derive(Default)]
pub struct Held {
    bytes: Vec<u8>,
    counted: u64,
}

impl Held {
    fn resize(&mut self, to: usize) {
        self.bytes.resize(to, 0);
        self.count();
    }

    fn count(&mut self) {
        let now = self.bytes.capacity() as u64;
        HELD.fetch_add(now, Ordering::Relaxed);
        HELD.fetch_sub(self.counted, Ordering::Relaxed);
        self.counted = now;
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.fetch_sub(self.counted, Ordering::Relaxed);
    }
}

impl std::ops::Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The bytes.
pub enum Content {
    Memory(Held),
    Spilled { file: SpillFile, len: u64 },
}

/// A file whose bytes may differ from the stored version. Shared by all handles of the node.
pub struct Session {
    pub content: Content,
    /// What was set on the file, its mtime since the last write; goes with the next commit.
    pub file: FileChange,
    /// TTL that was set (outer `Some`) or taken away, in ms; goes with the next commit.
    pub ttl_ms: Option<Option<u64>>,
    /// `Some(from)`: nothing was done since the last commit but appending what is behind `from`.
    pub appends: Option<u64>,
    /// When the bytes were last changed.
    pub changed_at: FileTime,
    /// Handles that have something to commit.
    pub dirty_handles: u32,
}

impl Session {
    /// Bytes that nobody has changed, last changed at a time.
    pub fn new(content: Content, changed_at: FileTime) -> Self {
        Self { content, file: FileChange::default(), ttl_ms: None, appends: None, changed_at, dirty_handles: 0 }
    }
}

impl Content {
    /// Bytes at hand.
    pub fn of(bytes: Vec<u8>) -> Self {
        let mut held = Held { bytes, counted: 0 };
        held.count();
        Content::Memory(held)
    }

    pub fn empty() -> Self {
        Content::Memory(Held::default())
    }

    pub fn len(&self) -> u64 {
        match self {
            Content::Memory(bytes) => bytes.len() as u64,
            Content::Spilled { len, .. } => *len,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// At most `len` bytes from `offset`.
    pub fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let available = self.len().saturating_sub(offset).min(len as u64) as usize;
        match self {
            Content::Memory(bytes) if available == 0 => Ok(bytes[..0].to_vec()),
            Content::Memory(bytes) => Ok(bytes[offset as usize..][..available].to_vec()),
            Content::Spilled { file, .. } => {
                let mut buffer = vec![0; available];
                file.read_exact_at(&mut buffer, offset).map_err(|e| spill_error(&e))?;
                Ok(buffer)
            }
        }
    }

    /// Writes at `offset`, filling a gap with zeros.
    pub fn write(&mut self, offset: u64, data: &[u8], spill_dir: &Path) -> Result<()> {
        let end = offset + data.len() as u64;
        self.make_room(end, spill_dir)?;
        match self {
            Content::Memory(bytes) => {
                let (start, end) = (offset as usize, end as usize);
                if bytes.len() < end {
                    bytes.resize(end);
                }
                bytes.bytes[start..end].copy_from_slice(data);
            }
            Content::Spilled { file, len } => {
                file.write_all_at(data, offset).map_err(|e| spill_error(&e))?;
                *len = (*len).max(end);
            }
        }
        Ok(())
    }

    /// Cuts or extends with zeros.
    pub fn resize(&mut self, to: u64, spill_dir: &Path) -> Result<()> {
        self.make_room(to, spill_dir)?;
        match self {
            Content::Memory(bytes) => bytes.resize(to as usize),
            Content::Spilled { file, len } => {
                file.set_len(to).map_err(|e| spill_error(&e))?;
                *len = to;
            }
        }
        Ok(())
    }

    fn make_room(&mut self, len: u64, spill_dir: &Path) -> Result<()> {
        if let Content::Memory(bytes) = self
            && (len > MEMORY_MAX || len > TINY && HELD.load(Ordering::Relaxed) + len > HELD_MAX)
        {
            let file = tempfile::tempfile_in(spill_dir).map_err(|e| spill_error(&e))?;
            file.write_all_at(bytes, 0).map_err(|e| spill_error(&e))?;
            *self = Content::Spilled { len: bytes.len() as u64, file: Arc::new(file) };
        }
        Ok(())
    }

    /// The bytes as the value of a Put.
    pub fn value(&self) -> Value {
        match self {
            Content::Memory(bytes) => Value::Bytes(bytes.to_vec()),
            Content::Spilled { file, len } => Value::Spilled { file: Arc::clone(file), len: *len },
        }
    }
}

fn spill_error(source: &std::io::Error) -> Error {
    Error::io("a large value's temporary file", source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_spilled_behave_alike() {
        let dir = tempfile::tempdir().unwrap();
        let mut small = Content::empty();
        let mut large = Content::empty();
        large.resize(MEMORY_MAX + 1, dir.path()).unwrap();
        large.resize(0, dir.path()).unwrap();
        assert!(matches!(large, Content::Spilled { .. }));
        for content in [&mut small, &mut large] {
            content.write(3, b"abc", dir.path()).unwrap();
            content.write(1, b"x", dir.path()).unwrap();
            assert_eq!(content.read(0, 100).unwrap(), b"\0x\0abc");
            content.resize(4, dir.path()).unwrap();
            content.resize(6, dir.path()).unwrap();
            assert_eq!(content.read(2, 100).unwrap(), b"\0a\0\0");
            assert_eq!(content.read(6, 1).unwrap(), b"");
            assert_eq!((content.len(), content.value().len()), (6, 6));
        }
    }
}
