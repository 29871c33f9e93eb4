//! A value that is changed piece by piece: bytes behind its end go into chunks as they come, those over it are gathered
//! and go there in their order.

use std::sync::Arc;

use super::pages::Pages;
use super::root::Root;
use super::writer::ValueWriter;
use crate::blob::blobs::Blobs;
use crate::format::Codec;
use crate::{Error, ErrorKind, Result};

/// Bytes that are gathered before they go into chunks.
const PAGES_MAX: usize = 1 << 20;
/// Zeros that are written; more of them take no room.
const ZEROS_MAX: u64 = 64 << 10;

/// See the module. It holds about 2 MiB at most.
pub struct Draft {
    blobs: Blobs,
    codec: Codec,
    /// What is settled.
    root: Root,
    /// Goes on behind that.
    end: Option<ValueWriter>,
    /// With what has not been settled.
    len: u64,
    pages: Pages,
    /// A change that failed in its midst has taken bytes with it.
    is_torn: bool,
}

impl Blobs {
    /// A value that begins as another one, whose chunks it keeps; these are compressed by `codec` from now on.
    pub fn draft(&self, base: &Root, codec: Codec) -> Draft {
        let root = if base.is_empty() { Root::default() } else { self.hold(base) };
        Draft { blobs: self.clone(), codec, len: root.len(), root, end: None, pages: Pages::default(), is_torn: false }
    }
}

impl Draft {
    /// Bytes of the value.
    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of the value without holes, about.
    pub fn filled(&self) -> Result<u64> {
        let settled = self.end.as_ref().map_or_else(|| self.blobs.filled(&self.root), ValueWriter::filled)?;
        Ok((settled + self.pages.bytes() as u64).min(self.len))
    }

    /// Bytes that it holds in memory which are in no chunk yet.
    pub fn held(&self) -> usize {
        self.pages.bytes() + self.end.as_ref().map_or(0, |end| end.pending().len())
    }

    /// Whether a change has failed in its midst: nothing but making it empty is done any more.
    pub fn is_torn(&self) -> bool {
        self.is_torn
    }

    /// At most `len` bytes from `offset`; fewer at the end.
    pub fn read(&mut self, offset: u64, len: usize) -> Result<Vec<u8>> {
        self.check()?;
        let end = offset.saturating_add(len as u64).min(self.len);
        if offset >= end {
            return Ok(Vec::new());
        }
        let pending = self.end.as_ref().map_or(&[][..], ValueWriter::pending);
        let pending_from = self.len - pending.len() as u64;
        let mut out = if offset >= pending_from {
            pending[(offset - pending_from) as usize..(end - pending_from) as usize].to_vec()
        } else {
            if end > self.root.len() {
                self.settle_end()?;
            }
            self.blobs.read(&self.root, offset, (end - offset) as usize)?
        };
        self.pages.lay_over(offset, &mut out);
        Ok(out)
    }

    /// Writes at `offset`; zeros come between the end and a place behind it.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.check()?;
        let inside = self.len.saturating_sub(offset).min(bytes.len() as u64) as usize;
        let (over, behind) = bytes.split_at(inside);
        if !over.is_empty() {
            self.pages.put(offset, over);
            if self.pages.bytes() > PAGES_MAX {
                self.settle()?;
            }
        }
        if behind.is_empty() {
            return Ok(());
        }
        let at = offset + inside as u64;
        self.torn_by(|draft| {
            draft.grow(at)?;
            draft.end()?.write(behind)
        })?;
        self.len = at + behind.len() as u64;
        Ok(())
    }

    /// Cuts it, or extends it with zeros that take no room.
    pub fn resize(&mut self, len: u64) -> Result<()> {
        if len == 0 {
            *self = self.blobs.draft(&Root::default(), self.codec);
            return Ok(());
        }
        self.settle()?;
        self.root = self.blobs.truncate(&self.root, len, self.codec)?;
        self.len = len;
        Ok(())
    }

    /// All that was written goes into chunks, and the last bytes into the root.
    pub fn settle(&mut self) -> Result<()> {
        self.settle_end()?;
        let pages = self.pages.take();
        self.torn_by(|draft| {
            for (at, bytes) in pages {
                draft.root = draft.blobs.write_at(&draft.root, at, &bytes, draft.codec)?;
            }
            Ok(())
        })
    }

    /// The value as it is now, which keeps its chunks until it is dropped. The draft goes on with it.
    pub fn value(&mut self) -> Result<Arc<Root>> {
        self.settle()?;
        // Of its own: what is written later does not keep what this one replaced.
        let root = self.blobs.hold(&self.root);
        Ok(Arc::new(std::mem::replace(&mut self.root, root)))
    }

    /// Zeros up to a place behind the end.
    fn grow(&mut self, to: u64) -> Result<()> {
        static ZEROS: [u8; ZEROS_MAX as usize] = [0; ZEROS_MAX as usize];
        let missing = to.saturating_sub(self.len);
        if missing > 0 {
            let end = self.end()?;
            match ZEROS.get(..missing as usize) {
                Some(zeros) => end.write(zeros)?,
                None => end.write_hole(missing)?,
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        let text = "an earlier write of this value has failed in its midst";
        if self.is_torn { Err(Error::new(ErrorKind::Io, text)) } else { Ok(()) }
    }

    fn torn_by(&mut self, change: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.check()?;
        let changed = change(self);
        self.is_torn = changed.is_err();
        changed
    }

    fn end(&mut self) -> Result<&mut ValueWriter> {
        let end = match self.end.take() {
            Some(end) => end,
            None => self.blobs.extend(&self.root, self.codec)?,
        };
        Ok(self.end.insert(end))
    }

    fn settle_end(&mut self) -> Result<()> {
        let Some(end) = self.end.take() else { return Ok(()) };
        self.torn_by(|draft| {
            draft.root = end.finish()?;
            Ok(())
        })
    }
}
