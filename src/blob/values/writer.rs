//! Bytes on their way into chunks: cut where they say so, or merged with what is there.

use fastcdc::v2020::FastCDC;

use super::root::{Reference, Root, TAIL_MAX};
use super::spine::Spine;
use crate::Result;
use crate::blob::blobs::Blobs;
use crate::blob::disk::header::Kind;
use crate::format::Codec;

/// Chunks up to this many bytes are merged with what is appended to them.
const MERGED_MAX: usize = 64 << 10;

/// Takes the bytes of a value. It holds less than 1 MiB. A copy goes on from where it was made. Dropped before it is
/// finished it leaves chunks that nobody refers to, which are collected later, as does what fails.
#[derive(Clone)]
pub struct ValueWriter {
    spine: Spine,
    codec: Codec,
    /// Bytes that are in no chunk yet.
    pending: Vec<u8>,
    /// It goes on behind other chunks, and nothing has been cut yet.
    merges: bool,
    cut: (usize, usize, usize),
}

impl Blobs {
    /// Takes the bytes of a new value; chunks are compressed by `codec`.
    pub fn new_value(&self, codec: Codec) -> ValueWriter {
        ValueWriter::new(self.clone(), codec)
    }

    /// Takes bytes to be put behind those of a value. What is at hand of it must be live until the new root is.
    pub fn extend(&self, root: &Root, codec: Codec) -> Result<ValueWriter> {
        ValueWriter::extend(self.clone(), root, codec)
    }
}

impl ValueWriter {
    fn new(blobs: Blobs, codec: Codec) -> Self {
        let (hold, cut) = (blobs.0.files.shares.hold(None), blobs.0.files.options.cut);
        Self { spine: Spine::new(blobs, hold), codec, pending: Vec::new(), merges: false, cut }
    }

    fn extend(blobs: Blobs, root: &Root, codec: Codec) -> Result<Self> {
        Self::behind(blobs, root, root.body(), root.tail.clone(), codec)
    }

    /// Behind the first `to` bytes that references of a value cover, and then these.
    pub(in crate::blob) fn behind(blobs: Blobs, root: &Root, to: u64, rest: Vec<u8>, codec: Codec) -> Result<Self> {
        let hold = blobs.0.files.shares.hold(root.hold.as_ref());
        let cut = blobs.0.files.options.cut;
        let (mut spine, split) = Spine::open(blobs, hold, root, to)?;
        let mut pending = Vec::new();
        match split {
            Some((hole, len)) if hole.is_hole() => spine.push(Reference::hole(len))?,
            Some((one, len)) => pending.extend_from_slice(&spine.blobs.data(&one)?.bytes()[..len as usize]),
            None => {}
        }
        pending.extend_from_slice(&rest);
        Ok(Self { spine, codec, pending, merges: true, cut })
    }

    /// Takes the next bytes: all of them, or none.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        if self.pending.len() + bytes.len() < self.cut.2 {
            self.pending.extend_from_slice(bytes);
            return Ok(());
        }
        self.as_a_whole(|writer, before| writer.take(bytes, before))
    }

    /// Makes a change, or none; it is given the place for a buffer that begins with what was pending before.
    fn as_a_whole(&mut self, change: impl FnOnce(&mut Self, &mut Option<Vec<u8>>) -> Result<()>) -> Result<()> {
        let (spine, merges, kept, mut before) = (self.spine.clone(), self.merges, self.pending.len(), None);
        let changed = change(self, &mut before);
        if changed.is_err() {
            (self.spine, self.merges) = (spine, merges);
            self.pending = before.unwrap_or_else(|| std::mem::take(&mut self.pending));
            self.pending.truncate(kept);
        }
        changed
    }

    fn take(&mut self, mut bytes: &[u8], before: &mut Option<Vec<u8>>) -> Result<()> {
        let most = self.cut.2;
        while !bytes.is_empty() {
            if self.pending.is_empty() && bytes.len() >= most {
                let end = self.cut_at(bytes);
                self.put(&bytes[..end])?;
                bytes = &bytes[end..];
                continue;
            }
            let part = bytes.len().min((2 * most).saturating_sub(self.pending.len()).max(1));
            self.pending.extend_from_slice(&bytes[..part]);
            bytes = &bytes[part..];
            self.cut_pending(most, before)?;
        }
        Ok(())
    }

    /// The last bytes, which are in no chunk yet.
    pub(in crate::blob) fn pending(&self) -> &[u8] {
        &self.pending
    }

    /// Bytes `from..to` of the value so far, which has them.
    pub(in crate::blob) fn read(&self, from: u64, to: u64) -> Result<Vec<u8>> {
        let (cut, mut out) = (self.spine.len(), Vec::with_capacity((to - from) as usize));
        self.spine.read(from, to.min(cut), &mut |bytes| {
            out.extend_from_slice(bytes);
            Ok(())
        })?;
        if to > cut {
            out.extend_from_slice(&self.pending[from.saturating_sub(cut) as usize..(to - cut) as usize]);
        }
        Ok(out)
    }

    /// Bytes so far without holes, about.
    pub(in crate::blob) fn filled(&self) -> Result<u64> {
        Ok(self.spine.filled()? + self.pending.len() as u64)
    }

    /// Writes the zeros that follow, which take no room.
    pub(in crate::blob) fn write_hole(&mut self, mut len: u64) -> Result<()> {
        self.as_a_whole(|writer, before| {
            writer.cut_pending(1, before)?;
            if let Some(last) = writer.spine.last().filter(Reference::is_hole) {
                writer.spine.pop();
                len = len.saturating_add(last.len);
            }
            writer.spine.push(Reference::hole(len))
        })
    }

    /// The value's root, which keeps its chunks until it is dropped.
    pub fn finish(mut self) -> Result<Root> {
        self.cut_pending(TAIL_MAX + 1, &mut None)?;
        self.spine.finish(self.pending)
    }

    /// Cuts chunks as long as so many bytes are left.
    fn cut_pending(&mut self, least: usize, before: &mut Option<Vec<u8>>) -> Result<()> {
        let pending = std::mem::take(&mut self.pending);
        let (mut from, mut put) = (0, Ok(()));
        while pending.len() - from >= least && put.is_ok() {
            let end = from + self.cut_at(&pending[from..]);
            put = self.put(&pending[from..end]).map(|()| from = end);
        }
        if from == 0 {
            self.pending = pending;
        } else {
            self.pending = pending[from..].to_vec();
            before.get_or_insert(pending);
        }
        put
    }

    fn cut_at(&self, bytes: &[u8]) -> usize {
        cut_at(bytes, self.cut)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        let merged = if std::mem::take(&mut self.merges) { self.merge(bytes)? } else { None };
        let bytes = merged.as_deref().unwrap_or(bytes);
        let one = self.spine.blobs.store(&self.spine.hold, bytes, self.codec, Kind::Data)?;
        self.spine.push(one)
    }

    /// These bytes with those of the chunks before, while these are not longer: so each byte is written about four times
    /// by appends, whatever their size.
    fn merge(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut merged: Option<Vec<u8>> = None;
        while let Some(last) = self.spine.last().filter(|last| !last.is_hole()) {
            let len = merged.as_ref().map_or(bytes.len(), Vec::len);
            if last.len > len as u64 || last.len as usize + len > MERGED_MAX {
                break;
            }
            let mut both = self.spine.blobs.data(&last)?.bytes().to_vec();
            both.extend_from_slice(merged.as_deref().unwrap_or(bytes));
            self.spine.pop();
            merged = Some(both);
        }
        Ok(merged)
    }
}

/// Where the chunk ends that begins with these bytes; behind all of them if they are too few to say.
pub(in crate::blob) fn cut_at(bytes: &[u8], (least, average, most): (usize, usize, usize)) -> usize {
    let bytes = &bytes[..bytes.len().min(most)];
    FastCDC::new(bytes, least, average, most).cut(0, bytes.len()).1
}
