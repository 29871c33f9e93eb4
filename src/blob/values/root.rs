//! Roots and references: what a cell holds instead of a large value.
//!
//! Reference: blob (zigzag varint, less the one before), chunk (zigzag varint, less the one after the one before), bytes
//! that it covers (varint), check of the chunk u32. A hole, which reads as zeros, has blob 0. Root: height u8 (0: the
//! references lead to data, else to lists of height less one), length (varint), count of references, references, length
//! of the tail, tail. List: count of references (varint), references.

use std::sync::Arc;

use crate::blob::disk::header::u32_at;
use crate::blob::shares::Hold;
use crate::format::{put_varint, take, take_varint, unzigzag, zigzag};
use crate::{Error, ErrorKind, Result};

/// Most references in a root.
pub(in crate::blob) const ROOT_MAX: usize = 32;
/// Most bytes of a value that stand in its root.
pub const TAIL_MAX: usize = 4 << 10;
/// Most bytes of a value.
const VALUE_MAX: u64 = i64::MAX as u64;
/// Most levels of lists; ten of them are more than can be filled.
const HEIGHT_MAX: u8 = 10;

/// Leads to a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// File, 0 for a hole.
    pub blob: u64,
    /// Number in the file.
    pub chunk: u32,
    /// Bytes of the value that lie below it.
    pub len: u64,
    /// The chunk's own.
    pub check: u32,
}

impl Reference {
    /// Zeros that take no room.
    pub(in crate::blob) fn hole(len: u64) -> Self {
        Self { blob: 0, chunk: 0, len, check: 0 }
    }

    pub(in crate::blob) fn is_hole(&self) -> bool {
        self.blob == 0
    }
}

/// What a cell holds instead of a large value. The default is the empty value.
#[derive(Clone, Default)]
pub struct Root {
    pub(in crate::blob) len: u64,
    pub(in crate::blob) height: u8,
    pub(in crate::blob) refs: Vec<Reference>,
    pub(in crate::blob) tail: Vec<u8>,
    /// Keeps the chunks that were written or shared for it.
    pub(in crate::blob) hold: Option<Arc<Hold>>,
}

impl PartialEq for Root {
    fn eq(&self, other: &Self) -> bool {
        (self.len, self.height, &self.refs, &self.tail) == (other.len, other.height, &other.refs, &other.tail)
    }
}

impl std::fmt::Debug for Root {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Root({} bytes, height {}, {} references)", self.len, self.height, self.refs.len())
    }
}

impl Root {
    /// Bytes of the value.
    pub fn len(&self) -> u64 {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(in crate::blob) fn of(height: u8, refs: Vec<Reference>, tail: Vec<u8>, hold: Arc<Hold>) -> Result<Self> {
        let len = covered(&refs).and_then(|len| len.checked_add(tail.len() as u64)).filter(|len| *len <= VALUE_MAX);
        let too_long = || Error::new(ErrorKind::ValueTooLarge, "no value can have 2^63 bytes or more");
        Ok(Self { len: len.ok_or_else(too_long)?, height, refs, tail, hold: Some(hold) })
    }

    /// File and number of the chunks that it leads to itself; what is below a list was written before that.
    pub fn chunks(&self) -> impl Iterator<Item = (u64, u32)> {
        self.refs.iter().filter(|one| !one.is_hole()).map(|one| (one.blob, one.chunk))
    }

    /// Bytes that the references cover; the tail is behind them.
    pub(in crate::blob) fn body(&self) -> u64 {
        self.len - self.tail.len() as u64
    }

    /// Appends it; at most about 5 KiB.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.height);
        put_varint(out, self.len);
        put_references(out, &self.refs);
        put_varint(out, self.tail.len() as u64);
        out.extend_from_slice(&self.tail);
    }

    /// The root that these bytes are, all of them; `None` if they are none.
    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let from = &mut bytes;
        let height = take(from, 1)?[0];
        let len = take_varint(from)?;
        let refs = take_references(from, ROOT_MAX)?;
        let tail = take_varint(from).filter(|len| *len <= TAIL_MAX as u64)?;
        let tail = take(from, tail as usize)?.to_vec();
        let covered = covered(&refs)?.checked_add(tail.len() as u64)?;
        let is_right = from.is_empty() && covered == len && len <= VALUE_MAX && height <= HEIGHT_MAX;
        is_right.then_some(Self { len, height, refs, tail, hold: None })
    }
}

/// Bytes below references; `None` if they are more than a number can say.
pub(in crate::blob) fn covered(refs: &[Reference]) -> Option<u64> {
    refs.iter().try_fold(0u64, |sum, one| sum.checked_add(one.len))
}

/// Appends their count and them.
pub(in crate::blob) fn put_references(out: &mut Vec<u8>, refs: &[Reference]) {
    put_varint(out, refs.len() as u64);
    let (mut blob, mut chunk) = (0i64, 0i64);
    for one in refs {
        put_varint(out, zigzag((one.blob as i64).wrapping_sub(blob)));
        put_varint(out, zigzag(i64::from(one.chunk) - chunk));
        put_varint(out, one.len);
        out.extend_from_slice(&one.check.to_le_bytes());
        (blob, chunk) = (one.blob as i64, i64::from(one.chunk) + 1);
    }
}

/// Takes what [`put_references`] has put, at most `most`.
pub(in crate::blob) fn take_references(from: &mut &[u8], most: usize) -> Option<Vec<Reference>> {
    let count = take_varint(from).filter(|count| *count <= most as u64)?;
    let mut refs = Vec::with_capacity(count as usize);
    let (mut blob, mut chunk) = (0i64, 0i64);
    for _ in 0..count {
        blob = blob.wrapping_add(unzigzag(take_varint(from)?));
        chunk = chunk.checked_add(unzigzag(take_varint(from)?))?;
        let len = take_varint(from).filter(|len| *len > 0)?;
        let check = u32_at(take(from, 4)?, 0);
        refs.push(Reference { blob: blob as u64, chunk: u32::try_from(chunk).ok()?, len, check });
        chunk += 1;
    }
    Some(refs)
}
