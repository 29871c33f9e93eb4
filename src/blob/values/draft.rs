//! A value that is changed piece by piece: bytes behind its end go into chunks as they come, those over it are gathered
//! and go there in their order.

use std::sync::Arc;

use super::pages::Pages;
use super::root::Root;
use super::writer::ValueWriter;
use crate::Result;
use crate::blob::blobs::Blobs;
use crate::format::Codec;

/// Bytes that are gathered before they go into chunks.
const PAGES_MAX: usize = 1 << 20;
/// Zeros that are written; more of them take no room.
const ZEROS_MAX: u64 = 64 << 10;

/// See the module. It holds about 2 MiB at most. What fails changes no byte of it, and may be tried again.
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
}

impl Blobs {
    /// A value that begins as another one, whose chunks it keeps; these are compressed by `codec` from now on.
    pub fn draft(&self, base: &Root, codec: Codec) -> Draft {
        let root = if base.is_empty() { Root::default() } else { self.hold(base) };
        Draft { blobs: self.clone(), codec, len: root.len(), root, end: None, pages: Pages::default() }
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

    /// At most `len` bytes from `offset`; fewer at the end.
    pub fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>> {
        let end = offset.saturating_add(len as u64).min(self.len);
        if offset >= end {
            return Ok(Vec::new());
        }
        let mut out = match &self.end {
            Some(writer) => writer.read(offset, end)?,
            None => self.blobs.read(&self.root, offset, (end - offset) as usize)?,
        };
        self.pages.lay_over(offset, &mut out);
        Ok(out)
    }

    /// Writes at `offset`; zeros come between the end and a place behind it.
    pub fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        let inside = self.len.saturating_sub(offset).min(bytes.len() as u64) as usize;
        let (over, behind) = bytes.split_at(inside);
        if self.pages.bytes() + over.len() > PAGES_MAX {
            self.settle()?;
        }
        if !behind.is_empty() {
            self.write_behind(offset.saturating_sub(self.len), behind)?;
        }
        if !over.is_empty() {
            self.pages.put(offset, over);
        }
        Ok(())
    }

    /// Writes so many zeros and then bytes behind the end.
    fn write_behind(&mut self, zeros: u64, bytes: &[u8]) -> Result<()> {
        let mut end = match self.end.take() {
            Some(end) => end,
            None => self.blobs.extend(&self.root, self.codec)?,
        };
        let before = (zeros > 0).then(|| end.clone());
        let written = grow(&mut end, zeros).and_then(|()| end.write(bytes));
        self.end = Some(before.filter(|_| written.is_err()).unwrap_or(end));
        written?;
        self.len += zeros + bytes.len() as u64;
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
        while let Some((at, bytes)) = self.pages.first() {
            self.root = self.blobs.write_at(&self.root, at, bytes, self.codec)?;
            self.pages.drop_first();
        }
        Ok(())
    }

    /// The value as it is now, which keeps its chunks until it is dropped. The draft goes on with it.
    pub fn value(&mut self) -> Result<Arc<Root>> {
        self.settle()?;
        // Of its own: what is written later does not keep what this one replaced.
        let root = self.blobs.hold(&self.root);
        Ok(Arc::new(std::mem::replace(&mut self.root, root)))
    }

    fn settle_end(&mut self) -> Result<()> {
        let Some(end) = self.end.take() else { return Ok(()) };
        let before = end.clone();
        match end.finish() {
            Ok(root) => self.root = root,
            Err(e) => {
                self.end = Some(before);
                return Err(e);
            }
        }
        Ok(())
    }
}

/// Writes so many zeros.
fn grow(end: &mut ValueWriter, zeros: u64) -> Result<()> {
    static ZEROS: [u8; ZEROS_MAX as usize] = [0; ZEROS_MAX as usize];
    match ZEROS.get(..usize::try_from(zeros).unwrap_or(usize::MAX)) {
        Some(zeros) => end.write(zeros),
        None => end.write_hole(zeros),
    }
}
