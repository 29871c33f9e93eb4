//! One cell as bytes in a block: what its key shares with the key before is left out.
//!
//! ```text
//! varint  bytes shared with the key before; the last 16 do not count        0 at a restart
//! varint  bytes that follow of it
//! u8      kind (bits 0-2) | has tags (3) | has a row pointer (4) | value: here, plain, packed, root (5-6)
//! u32     if it is the first of its row in this block, or a restart: where the next row begins, 0: not here
//! zigzag  timestamp less the block's      zigzag  sequence number less the block's
//!         if it has tags: their flags, their length, they themselves
//! varint  length of the value
//!         key bytes
//!         value | offset in the value area, check | value block, offset in it | length of the root, root
//! ```
//! Pure. Every read of it is bounded and checked: bytes that are none give `None`.

use std::ops::Range;

use crate::format::key::{SUFFIX, suffix};
use crate::format::{put_varint, unzigzag, zigzag};
use crate::model::{CellKind, SeqNo, Timestamp, Tombstone};

const HAS_TAGS: u8 = 1 << 3;
const HAS_POINTER: u8 = 1 << 4;
const VALUE_SHIFT: u32 = 5;
const UNUSED: u8 = 1 << 7;
const SEQ_MAX: u64 = (1 << 56) - 1;

/// What times and sequence numbers of a block are told from: those of its first entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::segment) struct Base {
    pub(in crate::segment) timestamp: i64,
    pub(in crate::segment) seq: u64,
}

/// Bytes of a base, first in a block.
pub(in crate::segment) const BASE: usize = 16;

impl Base {
    /// Reads it from the front of a block.
    pub(in crate::segment) fn take(raw: &[u8]) -> Option<Self> {
        let bytes: &[u8; BASE] = raw.first_chunk()?;
        let both = u128::from_le_bytes(*bytes);
        Some(Self { timestamp: both as u64 as i64, seq: (both >> 64) as u64 })
    }

    /// Its bytes.
    pub(in crate::segment) fn bytes(self) -> [u8; BASE] {
        (u128::from(self.seq) << 64 | u128::from(self.timestamp as u64)).to_le_bytes()
    }
}

/// Where a value is, as its entry says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::segment) enum At {
    /// Behind the key: from, to.
    #[default]
    None,
    Here {
        from: usize,
        to: usize,
    },
    /// In the plain value area, from its first byte on.
    Plain {
        from: u64,
        check: u32,
    },
    /// In the packed area: where its value block begins, and where it begins in that.
    Packed {
        block: u64,
        from: u64,
    },
    Root {
        from: usize,
        to: usize,
    },
}

/// An entry that was read; places are those in the block.
#[derive(Clone, Debug, Default)]
pub(in crate::segment) struct Entry {
    pub(in crate::segment) shared: usize,
    pub(in crate::segment) rest: Range<usize>,
    pub(in crate::segment) suffix: [u8; SUFFIX],
    /// Where the next row begins; `None`: not said here.
    pub(in crate::segment) next_row: Option<u32>,
    pub(in crate::segment) tag_flags: u64,
    pub(in crate::segment) tags: Range<usize>,
    /// Bytes of the value as the user sees it.
    pub(in crate::segment) len: u64,
    pub(in crate::segment) value: At,
    /// Where the next entry begins.
    pub(in crate::segment) end: usize,
}

/// An entry that is to be written.
pub(in crate::segment) struct NewEntry<'a> {
    pub(in crate::segment) shared: usize,
    pub(in crate::segment) rest: &'a [u8],
    pub(in crate::segment) kind: CellKind,
    pub(in crate::segment) timestamp: i64,
    pub(in crate::segment) seq: u64,
    pub(in crate::segment) has_pointer: bool,
    pub(in crate::segment) tag_flags: u64,
    pub(in crate::segment) tags: &'a [u8],
    pub(in crate::segment) len: u64,
    pub(in crate::segment) value: NewAt<'a>,
}

/// Where its value goes.
#[derive(Clone, Copy)]
pub(in crate::segment) enum NewAt<'a> {
    Here(&'a [u8]),
    Plain { from: u64, check: u32 },
    Packed { block: u64, from: u64 },
    Root(&'a [u8]),
}

/// The kind of an entry as three bits.
fn kind_code(kind: CellKind) -> u8 {
    match kind {
        CellKind::Put => 0,
        CellKind::Tombstone(Tombstone::Version) => 1,
        CellKind::Tombstone(Tombstone::FamilyVersion) => 2,
        CellKind::Tombstone(Tombstone::Column) => 3,
        CellKind::Tombstone(Tombstone::Family) => 4,
    }
}

fn kind_of(code: u8) -> Option<CellKind> {
    Some(match code {
        0 => CellKind::Put,
        1 => CellKind::Tombstone(Tombstone::Version),
        2 => CellKind::Tombstone(Tombstone::FamilyVersion),
        3 => CellKind::Tombstone(Tombstone::Column),
        4 => CellKind::Tombstone(Tombstone::Family),
        _ => return None,
    })
}

/// Appends an entry; where its row pointer stands, if it has one.
pub(in crate::segment) fn put(out: &mut Vec<u8>, base: Base, entry: &NewEntry<'_>) -> Option<usize> {
    put_varint(out, entry.shared as u64);
    put_varint(out, entry.rest.len() as u64);
    let value = match entry.value {
        NewAt::Here(_) => 0,
        NewAt::Plain { .. } => 1,
        NewAt::Packed { .. } => 2,
        NewAt::Root(_) => 3,
    };
    let has_tags = if entry.tag_flags != 0 { HAS_TAGS } else { 0 };
    let has_pointer = if entry.has_pointer { HAS_POINTER } else { 0 };
    out.push(kind_code(entry.kind) | has_tags | has_pointer | value << VALUE_SHIFT);
    let pointer = entry.has_pointer.then_some(out.len());
    if entry.has_pointer {
        out.extend_from_slice(&[0; 4]);
    }
    put_varint(out, zigzag(entry.timestamp.wrapping_sub(base.timestamp)));
    put_varint(out, zigzag(entry.seq.wrapping_sub(base.seq) as i64));
    if entry.tag_flags != 0 {
        put_varint(out, entry.tag_flags);
        put_varint(out, entry.tags.len() as u64);
        out.extend_from_slice(entry.tags);
    }
    put_varint(out, entry.len);
    out.extend_from_slice(entry.rest);
    match entry.value {
        NewAt::Here(bytes) => out.extend_from_slice(bytes),
        NewAt::Plain { from, check } => {
            put_varint(out, from);
            out.extend_from_slice(&check.to_le_bytes());
        }
        NewAt::Packed { block, from } => {
            put_varint(out, block);
            put_varint(out, from);
        }
        NewAt::Root(bytes) => {
            put_varint(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
    }
    pointer
}

/// Reads on in a block.
struct Reader<'a> {
    raw: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.raw.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    #[inline]
    fn varint(&mut self) -> Option<u64> {
        let first = self.byte()?;
        if first < 0x80 {
            return Some(u64::from(first));
        }
        self.long_varint(first)
    }

    fn long_varint(&mut self, first: u8) -> Option<u64> {
        let mut value = u64::from(first & 0x7F);
        for shift in (7..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    #[inline]
    fn word(&mut self) -> Option<u32> {
        let bytes: &[u8; 4] = self.raw.get(self.at..)?.first_chunk()?;
        self.at += 4;
        Some(u32::from_le_bytes(*bytes))
    }

    /// The next `len` bytes.
    #[inline]
    fn bytes(&mut self, len: u64) -> Option<Range<usize>> {
        let end = self.at.checked_add(usize::try_from(len).ok()?)?;
        if end > self.raw.len() {
            return None;
        }
        let range = self.at..end;
        self.at = end;
        Some(range)
    }
}

/// Reads the entry at a place of a block's entries, which end where `raw` does. `None`: there is none, and what is in `entry`
/// means nothing.
#[inline]
pub(in crate::segment) fn read(raw: &[u8], at: usize, base: Base, entry: &mut Entry) -> Option<()> {
    let mut reader = Reader { raw, at };
    entry.shared = usize::try_from(reader.varint()?).ok()?;
    let rest_len = reader.varint()?;
    let code = reader.byte()?;
    let kind = kind_of(code & 7)?;
    if code & UNUSED != 0 {
        return None;
    }
    entry.next_row = if code & HAS_POINTER != 0 { Some(reader.word()?) } else { None };
    let timestamp = base.timestamp.wrapping_add(unzigzag(reader.varint()?));
    let seq = base.seq.wrapping_add(unzigzag(reader.varint()?) as u64);
    if seq > SEQ_MAX {
        return None;
    }
    entry.suffix = suffix(Timestamp(timestamp), kind, SeqNo(seq));
    (entry.tag_flags, entry.tags) = (0, 0..0);
    if code & HAS_TAGS != 0 {
        entry.tag_flags = reader.varint()?;
        let len = reader.varint()?;
        entry.tags = reader.bytes(len)?;
    }
    entry.len = reader.varint()?;
    entry.rest = reader.bytes(rest_len)?;
    entry.value = match code >> VALUE_SHIFT & 3 {
        0 => {
            let here = reader.bytes(entry.len)?;
            At::Here { from: here.start, to: here.end }
        }
        1 => At::Plain { from: reader.varint()?, check: reader.word()? },
        2 => At::Packed { block: reader.varint()?, from: reader.varint()? },
        _ => {
            let root = reader.varint()?;
            let root = reader.bytes(root)?;
            At::Root { from: root.start, to: root.end }
        }
    };
    entry.end = reader.at;
    Some(())
}
