//! The parts that a segment is made of, each behind a header of 16 bytes that says how long it is, what it is, and under
//! which check it lies; so what an index says can be found again by walking.
//!
//! Must not know what is in them.

use crate::format::{Codec, StoreId, agree, place_check};

/// Bytes of a header.
pub(in crate::segment) const HEADER: usize = 16;
/// What a hole in a file is made of.
pub(in crate::segment) const ALIGN: u64 = 4096;
/// Most bytes of a part that is compressed, before that: the largest block (16 MiB) and its last entry.
pub(in crate::segment) const RAW_MAX: usize = 17 << 20;

/// What a part is. The numbers are part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(in crate::segment) enum Kind {
    /// A block of entries.
    Keys = 1,
    /// Values one after the other, each under the check that stands in its entry; this part's check is its header's.
    Plain = 2,
    /// Values compressed together.
    Packed = 3,
    /// The index of a group.
    Index = 4,
    /// A page of the filter of a group.
    Filter = 5,
    /// A page of the filter of a group's rows that have family tombstones.
    Tombstones = 6,
    /// The list of an extent's groups.
    Groups = 7,
    /// What is known of an extent's qualifiers.
    Columns = 8,
    /// The chunks that an extent refers to.
    Chunks = 9,
    /// A sketch of an extent's columns.
    Sketch = 10,
    /// What a segment says about itself.
    Trailer = 11,
}

impl Kind {
    const ALL: [Kind; 11] = [
        Kind::Keys,
        Kind::Plain,
        Kind::Packed,
        Kind::Index,
        Kind::Filter,
        Kind::Tombstones,
        Kind::Groups,
        Kind::Columns,
        Kind::Chunks,
        Kind::Sketch,
        Kind::Trailer,
    ];

    fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// What people call it.
    pub(in crate::segment) fn name(self) -> &'static str {
        match self {
            Kind::Keys => "block",
            Kind::Plain => "value area",
            Kind::Packed => "value block",
            Kind::Index => "index of a group",
            Kind::Filter | Kind::Tombstones => "filter of a group",
            Kind::Groups => "list of groups",
            Kind::Columns => "list of qualifiers",
            Kind::Chunks => "list of chunks",
            Kind::Sketch => "sketch of columns",
            Kind::Trailer => "trailer",
        }
    }
}

/// Whose bytes they are; every check begins with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::segment) struct Owner {
    pub(in crate::segment) store: StoreId,
    pub(in crate::segment) file: u64,
}

impl Owner {
    /// The check of bytes at a place.
    pub(in crate::segment) fn check(&self, offset: u64, parts: &[&[u8]]) -> u32 {
        place_check(&self.store, self.file, offset, parts)
    }
}

/// What stands before a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::segment) struct Header {
    /// Bytes that follow.
    pub(in crate::segment) stored: u32,
    /// Bytes that they stand for.
    pub(in crate::segment) raw: u32,
    pub(in crate::segment) codec: Codec,
    pub(in crate::segment) kind: Kind,
    /// Of a block of entries: how many restarts it has.
    pub(in crate::segment) count: u16,
    pub(in crate::segment) check: u32,
}

impl Header {
    /// A header without its check.
    pub(in crate::segment) fn new(kind: Kind, codec: Codec, stored: u32, raw: u32, count: u16) -> Self {
        Self { stored, raw, codec, kind, count, check: 0 }
    }

    fn head(&self) -> [u8; 12] {
        let mut head = [0; 12];
        head[..4].copy_from_slice(&self.stored.to_le_bytes());
        head[4..8].copy_from_slice(&self.raw.to_le_bytes());
        head[8] = self.codec as u8;
        head[9] = self.kind as u8;
        head[10..].copy_from_slice(&self.count.to_le_bytes());
        head
    }

    /// Its bytes at a place, before these.
    pub(in crate::segment) fn seal(&self, owner: &Owner, offset: u64, payload: &[u8]) -> [u8; HEADER] {
        let mut out = [0; HEADER];
        let head = self.head();
        let payload = if self.kind == Kind::Plain { &[][..] } else { payload };
        out[..12].copy_from_slice(&head);
        out[12..].copy_from_slice(&owner.check(offset, &[&head, payload]).to_le_bytes());
        out
    }

    /// Reads a header. `None`: it is none.
    pub(in crate::segment) fn take(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER] = bytes.first_chunk()?;
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let header = Self {
            stored: word(0),
            raw: word(4),
            codec: Codec::from_code(bytes[8])?,
            kind: Kind::from_code(bytes[9])?,
            count: u16::from_le_bytes([bytes[10], bytes[11]]),
            check: word(12),
        };
        let fits = match header.codec {
            Codec::None => header.raw == header.stored,
            _ => header.raw as usize <= RAW_MAX && header.kind != Kind::Plain,
        };
        fits.then_some(header)
    }

    /// Whether it and its bytes are as they were written.
    pub(in crate::segment) fn agrees(&self, owner: &Owner, offset: u64, payload: &[u8]) -> bool {
        let payload = if self.kind == Kind::Plain { &[][..] } else { payload };
        agree(self.check, owner.check(offset, &[&self.head(), payload]))
    }
}
