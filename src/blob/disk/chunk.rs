//! A chunk on its way into a file, and as it was read.

use super::header::{CHUNK_HEADER, ChunkHeader, Kind, chunk_check};
use crate::format::{Codec, StoreId, agree};

/// Stored bytes of a chunk behind room for its header.
pub(in crate::blob) struct Packed {
    /// What is written, once it has its place.
    pub bytes: Vec<u8>,
    raw: u32,
    codec: Codec,
    kind: Kind,
}

/// A chunk as it was read.
pub(in crate::blob) struct Chunk {
    buffer: Vec<u8>,
    from: usize,
    pub check: u32,
    pub kind: Kind,
}

impl Packed {
    /// Compresses bytes if that saves an eighth.
    pub(in crate::blob) fn new(raw: &[u8], codec: Codec, kind: Kind) -> Self {
        let packed = codec.compress(raw).filter(|packed| packed.len() <= raw.len() - raw.len() / 8);
        let (codec, stored) = packed.as_deref().map_or((Codec::None, raw), |packed| (codec, packed));
        let mut bytes = Vec::with_capacity(CHUNK_HEADER + stored.len());
        bytes.resize(CHUNK_HEADER, 0);
        bytes.extend_from_slice(stored);
        Self { bytes, raw: raw.len() as u32, codec, kind }
    }

    /// Writes its header; the check of its stored bytes.
    pub(in crate::blob) fn place(&mut self, store: &StoreId, file: u64, number: u32, offset: u64) -> u32 {
        let stored = &self.bytes[CHUNK_HEADER..];
        let check = chunk_check(store, file, number, stored);
        let stored = stored.len() as u32;
        let header = ChunkHeader { number, stored, raw: self.raw, codec: self.codec, kind: self.kind, check };
        self.bytes[..CHUNK_HEADER].copy_from_slice(&header.encode(store, file, offset));
        check
    }
}

impl Chunk {
    pub(in crate::blob) fn bytes(&self) -> &[u8] {
        &self.buffer[self.from..]
    }

    /// Checks what was read at the place of a chunk.
    pub(in crate::blob) fn decode(
        buffer: Vec<u8>,
        store: &StoreId,
        file: u64,
        number: u32,
        offset: u64,
    ) -> Option<Self> {
        let header = ChunkHeader::decode(&buffer, store, file, offset)?;
        let stored = &buffer[CHUNK_HEADER..];
        let is_right = header.number == number
            && stored.len() == header.stored as usize
            && agree(header.check, chunk_check(store, file, number, stored));
        if !is_right {
            return None;
        }
        let (check, kind) = (header.check, header.kind);
        if header.codec == Codec::None {
            return (header.stored == header.raw).then_some(Self { buffer, from: CHUNK_HEADER, check, kind });
        }
        let buffer = header.codec.expand(stored, header.raw as usize)?;
        Some(Self { buffer, from: 0, check, kind })
    }
}
