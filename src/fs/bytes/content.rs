//! Bytes of a file that is being written: in memory while small, with the backend when large, or in an unlinked file where
//! that takes none.

use std::cell::Cell;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::fs::bytes::kept_pages::KeptPages;
use crate::model::{Draft, FileChange, FileTime, SeqNo, Timestamp, Value};
use crate::{Error, ErrorKind, Result};

/// Larger contents do not stay in memory.
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
    Drafted(Box<dyn Draft>),
}

/// Where bytes go that are too many for memory.
pub struct Beyond<'a> {
    /// Begins a draft, where the backend takes one.
    pub draft: &'a dyn Fn() -> Result<Option<Box<dyn Draft>>>,
    pub spill_dir: &'a Path,
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
    /// What is before it is as it was when the session began, or last committed.
    pub changed_from: u64,
    /// The version that it began with, or that it last became.
    pub base: Option<(Timestamp, SeqNo)>,
    /// When the bytes were last changed.
    pub changed_at: FileTime,
    /// The pages of it that the kernel has.
    pub kept: Cell<KeptPages>,
    /// Handles that have something to commit.
    pub dirty_handles: u32,
    /// So many bytes went with their version, which has expired: what is appended is taken, or what begins anew.
    pub lost: Option<u64>,
}

impl Session {
    /// Bytes that nobody has changed, last changed at a time. The kernel knows of them, or of none.
    pub fn new(content: Content, changed_at: FileTime) -> Self {
        let (file, ttl_ms, appends, base) = (FileChange::default(), None, None, None);
        let kept = Cell::new(KeptPages::told(changed_at));
        let (changed_from, dirty_handles, lost) = (u64::MAX, 0, None);
        Self { content, file, ttl_ms, appends, changed_from, base, changed_at, kept, dirty_handles, lost }
    }

    /// Refuses what needs the bytes of before where they are gone.
    pub fn check_kept(&self) -> Result<()> {
        let text = "the cell has expired while this file was open, and its bytes are purged; open it again";
        self.lost.map_or(Ok(()), |_| Err(Error::new(ErrorKind::Stale, text)))
    }

    /// The length that is told: who reads bytes that are gone is to hear of it.
    pub fn told_len(&self) -> u64 {
        self.lost.unwrap_or_else(|| self.content.len())
    }

    /// At most `len` bytes from `offset`.
    pub fn read(&mut self, offset: u64, len: usize) -> Result<Vec<u8>> {
        self.check_kept()?;
        self.content.read(offset, len)
    }

    /// The bytes from there on are changed.
    pub fn change_from(&mut self, offset: u64) {
        self.changed_from = self.changed_from.min(offset);
    }

    /// The bytes are changed now.
    pub fn note_change(&mut self, now: FileTime) {
        self.changed_at = self.kept.get_mut().change(self.changed_at, now);
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

    /// Nothing yet, with room for so many bytes that are known to come.
    pub fn of_len(len: u64, beyond: &Beyond<'_>) -> Result<Self> {
        let mut content = Self::empty();
        content.make_room(len, beyond)?;
        Ok(content)
    }

    pub fn len(&self) -> u64 {
        match self {
            Content::Memory(bytes) => bytes.len() as u64,
            Content::Spilled { len, .. } => *len,
            Content::Drafted(draft) => draft.len(),
        }
    }

    /// Bytes that take room.
    pub fn filled(&self) -> Result<u64> {
        if let Content::Drafted(draft) = self { draft.filled() } else { Ok(self.len()) }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the backend has the bytes.
    pub fn is_drafted(&self) -> bool {
        matches!(self, Content::Drafted(_))
    }

    /// At most `len` bytes from `offset`.
    pub fn read(&mut self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let available = self.len().saturating_sub(offset).min(len as u64) as usize;
        match self {
            Content::Memory(bytes) if available == 0 => Ok(bytes[..0].to_vec()),
            Content::Memory(bytes) => Ok(bytes[offset as usize..][..available].to_vec()),
            Content::Spilled { file, .. } => {
                let mut buffer = vec![0; available];
                file.read_exact_at(&mut buffer, offset).map_err(|e| spill_error(&e))?;
                Ok(buffer)
            }
            Content::Drafted(draft) => draft.read(offset, len),
        }
    }

    /// Writes at `offset`, filling a gap with zeros.
    pub fn write(&mut self, offset: u64, data: &[u8], beyond: &Beyond<'_>) -> Result<()> {
        let end = offset + data.len() as u64;
        self.make_room(end, beyond)?;
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
            Content::Drafted(draft) => draft.write(offset, data)?,
        }
        Ok(())
    }

    /// Cuts or extends with zeros.
    pub fn resize(&mut self, to: u64, beyond: &Beyond<'_>) -> Result<()> {
        self.make_room(to, beyond)?;
        match self {
            Content::Memory(bytes) => bytes.resize(to as usize),
            Content::Spilled { file, len } => {
                file.set_len(to).map_err(|e| spill_error(&e))?;
                *len = to;
            }
            Content::Drafted(draft) => draft.resize(to)?,
        }
        Ok(())
    }

    fn make_room(&mut self, len: u64, beyond: &Beyond<'_>) -> Result<()> {
        let Content::Memory(bytes) = self else { return Ok(()) };
        if len > MEMORY_MAX
            && let Some(mut draft) = (beyond.draft)()?
        {
            draft.write(0, bytes)?;
            *self = Content::Drafted(draft);
        } else if len > MEMORY_MAX || len > TINY && HELD.load(Ordering::Relaxed) + len > HELD_MAX {
            let file = tempfile::tempfile_in(beyond.spill_dir).map_err(|e| spill_error(&e))?;
            file.write_all_at(bytes, 0).map_err(|e| spill_error(&e))?;
            *self = Content::Spilled { len: bytes.len() as u64, file: Arc::new(file) };
        }
        Ok(())
    }

    /// The bytes as the value of a Put.
    pub fn value(&mut self) -> Result<Value> {
        match self {
            Content::Memory(bytes) => Ok(Value::Bytes(bytes.to_vec())),
            Content::Spilled { file, len } => Ok(Value::Spilled { file: Arc::clone(file), len: *len }),
            Content::Drafted(draft) => draft.value(),
        }
    }
}

impl<'a> Beyond<'a> {
    /// A file, always.
    pub fn spilled(spill_dir: &'a Path) -> Self {
        Self { draft: &|| Ok(None), spill_dir }
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
        let beyond = Beyond::spilled(dir.path());
        let mut small = Content::empty();
        let mut large = Content::empty();
        large.resize(MEMORY_MAX + 1, &beyond).unwrap();
        large.resize(0, &beyond).unwrap();
        assert!(matches!(large, Content::Spilled { .. }));
        for content in [&mut small, &mut large] {
            content.write(3, b"abc", &beyond).unwrap();
            content.write(1, b"x", &beyond).unwrap();
            assert_eq!(content.read(0, 100).unwrap(), b"\0x\0abc");
            content.resize(4, &beyond).unwrap();
            content.resize(6, &beyond).unwrap();
            assert_eq!(content.read(2, 100).unwrap(), b"\0a\0\0");
            assert_eq!(content.read(6, 1).unwrap(), b"");
            assert_eq!((content.len(), content.value().unwrap().len()), (6, 6));
        }
    }
}
