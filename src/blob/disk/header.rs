//! Headers of blob files and of chunks.
//!
//! File, 40 bytes: magic `CELLFBLB`, version u32, number u64, store id 16 bytes, CRC-32C of the 36 bytes before.
//! Chunk, 28 bytes: magic `cChk`, number u32, stored length u32, raw length u32, codec u8, kind u8, u16 0, check of the
//! stored bytes u32, check of the 24 bytes before u32. The first check is bound to store, file and number, the second
//! to store, file and offset. Integers are little-endian.

use crate::format::{Codec, StoreId, agree, place_check};
use crate::{Error, ErrorKind, Result};

/// Bytes of a file's header.
pub(in crate::blob) const FILE_HEADER: u64 = 40;
/// Bytes of a chunk's header.
pub(in crate::blob) const CHUNK_HEADER: usize = 28;
/// First bytes of each chunk, to find the next one after damage.
pub(in crate::blob) const CHUNK_MAGIC: &[u8; 4] = b"cChk";
/// Most bytes that a chunk stands for; what is cut is shorter.
pub(in crate::blob) const RAW_MAX: usize = 1 << 20;

const FILE_MAGIC: &[u8; 8] = b"CELLFBLB";
const VERSION: u32 = 1;

/// What a chunk is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::blob) enum Kind {
    /// Bytes of a value.
    Data = 0,
    /// References to chunks.
    List = 1,
}

/// What the header of a chunk says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::blob) struct ChunkHeader {
    pub number: u32,
    pub stored: u32,
    pub raw: u32,
    pub codec: Codec,
    pub kind: Kind,
    /// Of the stored bytes.
    pub check: u32,
}

/// Reads a u32 that is known to be there.
pub(in crate::blob) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut out = [0; 4];
    out.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(out)
}

/// Reads a u64 that is known to be there.
pub(in crate::blob) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut out = [0; 8];
    out.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(out)
}

/// The header of a new file.
pub(in crate::blob) fn file_header(store: &StoreId, number: u64) -> [u8; FILE_HEADER as usize] {
    let mut out = [0; FILE_HEADER as usize];
    out[..8].copy_from_slice(FILE_MAGIC);
    out[8..12].copy_from_slice(&VERSION.to_le_bytes());
    out[12..20].copy_from_slice(&number.to_le_bytes());
    out[20..36].copy_from_slice(store);
    let check = crc32c::crc32c(&out[..36]);
    out[36..].copy_from_slice(&check.to_le_bytes());
    out
}

/// Refuses a header that is damaged, newer, or of another file or store.
pub(in crate::blob) fn check_file_header(bytes: &[u8], store: &StoreId, number: u64) -> Result<()> {
    let corrupt = |what: &str| Err(Error::new(ErrorKind::Corrupt, what.to_owned()));
    if &bytes[..8] != FILE_MAGIC || !agree(u32_at(bytes, 36), crc32c::crc32c(&bytes[..36])) {
        return corrupt("the header is damaged");
    }
    let version = u32_at(bytes, 8);
    if version > VERSION {
        let text = format!("it has format {version}, this release knows {VERSION}; use a newer release");
        return Err(Error::new(ErrorKind::NewerFormat, text));
    }
    if u64_at(bytes, 12) != number {
        return corrupt("the header is that of another file");
    }
    if &bytes[20..36] != store {
        return corrupt("the header is that of another store");
    }
    Ok(())
}

/// The check of a chunk's stored bytes.
pub(in crate::blob) fn chunk_check(store: &StoreId, file: u64, number: u32, stored: &[u8]) -> u32 {
    place_check(store, file, u64::from(number), &[stored])
}

impl ChunkHeader {
    /// Bytes of the whole chunk in its file.
    pub(in crate::blob) fn total(&self) -> u32 {
        self.stored + CHUNK_HEADER as u32
    }

    /// The bytes of a chunk's header at `offset` of its file.
    pub(in crate::blob) fn encode(&self, store: &StoreId, file: u64, offset: u64) -> [u8; CHUNK_HEADER] {
        let mut out = [0; CHUNK_HEADER];
        out[..4].copy_from_slice(CHUNK_MAGIC);
        out[4..8].copy_from_slice(&self.number.to_le_bytes());
        out[8..12].copy_from_slice(&self.stored.to_le_bytes());
        out[12..16].copy_from_slice(&self.raw.to_le_bytes());
        out[16] = self.codec as u8;
        out[17] = self.kind as u8;
        out[20..24].copy_from_slice(&self.check.to_le_bytes());
        let check = place_check(store, file, offset, &[&out[..24]]);
        out[24..].copy_from_slice(&check.to_le_bytes());
        out
    }

    /// The header at `offset` of a file; `None` if it is not one that was written there.
    pub(in crate::blob) fn decode(bytes: &[u8], store: &StoreId, file: u64, offset: u64) -> Option<Self> {
        let bytes = bytes.get(..CHUNK_HEADER)?;
        if &bytes[..4] != CHUNK_MAGIC || !agree(u32_at(bytes, 24), place_check(store, file, offset, &[&bytes[..24]])) {
            return None;
        }
        let kind = match bytes[17] {
            0 => Kind::Data,
            1 => Kind::List,
            _ => return None,
        };
        let (number, stored, raw) = (u32_at(bytes, 4), u32_at(bytes, 8), u32_at(bytes, 12));
        let header = Self { number, stored, raw, codec: Codec::from_code(bytes[16])?, kind, check: u32_at(bytes, 20) };
        (raw as usize <= RAW_MAX && stored <= raw).then_some(header)
    }
}
