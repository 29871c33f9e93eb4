//! Heads of records.
//!
//! 32 bytes, little-endian: magic `cRec`; u32 length of the cells; u32 number of cells; u64 sequence number of the
//! batch; u64 highest one known to be on the disk; u32 check of store id, file number, offset and the 28 bytes before.

use super::words::{u32_at, u64_at};
use crate::format::{StoreId, agree, place_check};
use crate::model::SeqNo;

/// Bytes of a record's header.
pub const RECORD_HEADER: usize = 32;
/// First bytes of each record, to find the next one after damage.
pub(in crate::log) const MAGIC: &[u8; 4] = b"cRec";

/// Where bytes of the log stand.
#[derive(Clone, Copy)]
pub(in crate::log) struct Place<'a> {
    pub store: &'a StoreId,
    pub file: u64,
    pub offset: u64,
}

/// What a record says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::log) struct RecordHeader {
    /// Bytes of the cells.
    pub length: u32,
    pub count: u32,
    pub seq: SeqNo,
    /// Known to be on the disk when it was written.
    pub synced: SeqNo,
}

impl Place<'_> {
    pub fn check(&self, parts: &[&[u8]]) -> u32 {
        place_check(self.store, self.file, self.offset, parts)
    }

    pub fn at(self, offset: u64) -> Self {
        Self { offset, ..self }
    }
}

impl RecordHeader {
    pub fn encode(&self, place: Place<'_>) -> [u8; RECORD_HEADER] {
        let mut out = [0; RECORD_HEADER];
        out[..4].copy_from_slice(MAGIC);
        out[4..8].copy_from_slice(&self.length.to_le_bytes());
        out[8..12].copy_from_slice(&self.count.to_le_bytes());
        out[12..20].copy_from_slice(&self.seq.0.to_le_bytes());
        out[20..28].copy_from_slice(&self.synced.0.to_le_bytes());
        let check = place.check(&[&out[..28]]);
        out[28..].copy_from_slice(&check.to_le_bytes());
        out
    }

    /// `None` if these are not the bytes of a header that was written here.
    pub fn decode(bytes: &[u8], place: Place<'_>) -> Option<Self> {
        let bytes = bytes.first_chunk::<RECORD_HEADER>()?;
        if &bytes[..4] != MAGIC || !agree(u32_at(bytes, 28), place.check(&[&bytes[..28]])) {
            return None;
        }
        let (length, count) = (u32_at(bytes, 4), u32_at(bytes, 8));
        Some(Self { length, count, seq: SeqNo(u64_at(bytes, 12)), synced: SeqNo(u64_at(bytes, 20)) })
    }
}
