//! Headers of segments and records.
//!
//! Segment header, 40 bytes: magic `CELLFSEG`, version u32, segment id u32, store id 16 bytes, origin
//! u32, CRC-32C of the 36 bytes before. Record header, 32 bytes: magic `cRec`, length of the entries u32,
//! number of entries u32, sequence number u64, highest sequence number known to be on the disk u64,
//! CRC-32C of store id, segment id, offset and the 28 bytes before. Integers are little-endian.

use crate::model::{SegmentId, SeqNo};
use crate::{Error, ErrorKind, Result};

/// Which store a file belongs to.
pub type StoreId = [u8; 16];

/// Bytes of a segment's header.
pub const SEGMENT_HEADER: u64 = 40;
/// Bytes of a record's header.
pub const RECORD_HEADER: usize = 32;
/// First bytes of each record, to find the next one after damage.
pub(super) const RECORD_MAGIC: &[u8; 4] = b"cRec";

const SEGMENT_MAGIC: &[u8; 8] = b"CELLFSEG";
const VERSION: u32 = 1;

/// Reads a u32 that is known to be there.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut out = [0; 4];
    out.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(out)
}

/// Reads a u64 that is known to be there.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut out = [0; 8];
    out.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(out)
}

/// How a segment came to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SegmentOrigin {
    /// The log itself: records in the order of their numbers.
    #[default]
    Log = 0,
    /// A compaction copied entries of older segments; the record's number is 0.
    Compaction = 1,
}

/// The header of a new segment.
pub(super) fn segment_header(id: SegmentId, store: &StoreId, origin: SegmentOrigin) -> [u8; SEGMENT_HEADER as usize] {
    let mut out = [0; SEGMENT_HEADER as usize];
    out[..8].copy_from_slice(SEGMENT_MAGIC);
    out[8..12].copy_from_slice(&VERSION.to_le_bytes());
    out[12..16].copy_from_slice(&id.0.to_le_bytes());
    out[16..32].copy_from_slice(store);
    out[32..36].copy_from_slice(&(origin as u32).to_le_bytes());
    let check = crc32c::crc32c(&out[..36]);
    out[36..].copy_from_slice(&check.to_le_bytes());
    out
}

/// Refuses a header that is damaged, newer, or of another segment or store.
pub(super) fn check_segment_header(bytes: &[u8], id: SegmentId, store: &StoreId) -> Result<SegmentOrigin> {
    let corrupt = |what: &str| Err(Error::new(ErrorKind::Corrupt, format!("segment {}: {what}", id.0)));
    if &bytes[..8] != SEGMENT_MAGIC || crc32c::crc32c(&bytes[..36]) != u32_at(bytes, 36) {
        return corrupt("the header is damaged");
    }
    let version = u32_at(bytes, 8);
    if version > VERSION {
        let text = format!("segment {} has format {version}, this release knows {VERSION}; use a newer release", id.0);
        return Err(Error::new(ErrorKind::NewerFormat, text));
    }
    if u32_at(bytes, 12) != id.0 {
        return corrupt("the header is that of another segment");
    }
    if &bytes[16..32] != store {
        return corrupt("the header is that of another store");
    }
    Ok(if u32_at(bytes, 32) == SegmentOrigin::Compaction as u32 {
        SegmentOrigin::Compaction
    } else {
        SegmentOrigin::Log
    })
}

/// The store that a whole header names.
pub(super) fn store_of_header(bytes: &[u8]) -> Option<StoreId> {
    let whole = &bytes[..8] == SEGMENT_MAGIC && crc32c::crc32c(&bytes[..36]) == u32_at(bytes, 36);
    bytes[16..32].try_into().ok().filter(|_| whole)
}

/// What a record says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordHeader {
    /// Bytes of the entries after the header.
    pub length: u32,
    pub count: u32,
    pub seq: SeqNo,
    /// Known to be on the disk when this record was written.
    pub synced: SeqNo,
}

/// Binds a header to its place, so that a misdirected write is seen.
fn place_check(store: &StoreId, segment: SegmentId, offset: u64, header: &[u8]) -> u32 {
    let check = crc32c::crc32c(store);
    let check = crc32c::crc32c_append(check, &segment.0.to_le_bytes());
    let check = crc32c::crc32c_append(check, &offset.to_le_bytes());
    crc32c::crc32c_append(check, header)
}

impl RecordHeader {
    pub fn encode(&self, store: &StoreId, segment: SegmentId, offset: u64) -> [u8; RECORD_HEADER] {
        let mut out = [0; RECORD_HEADER];
        out[..4].copy_from_slice(RECORD_MAGIC);
        out[4..8].copy_from_slice(&self.length.to_le_bytes());
        out[8..12].copy_from_slice(&self.count.to_le_bytes());
        out[12..20].copy_from_slice(&self.seq.0.to_le_bytes());
        out[20..28].copy_from_slice(&self.synced.0.to_le_bytes());
        let check = place_check(store, segment, offset, &out[..28]);
        out[28..].copy_from_slice(&check.to_le_bytes());
        out
    }

    /// How the check in these bytes differs from that of the same header at this place; 0: it is one that was written
    /// here.
    pub fn check_difference(bytes: &[u8], store: &StoreId, segment: SegmentId, offset: u64) -> u32 {
        place_check(store, segment, offset, &bytes[..28]) ^ u32_at(bytes, 28)
    }

    /// `None` if these are not the bytes of a header written at this place.
    pub fn decode(bytes: &[u8], store: &StoreId, segment: SegmentId, offset: u64) -> Option<Self> {
        if &bytes[..4] != RECORD_MAGIC || place_check(store, segment, offset, &bytes[..28]) != u32_at(bytes, 28) {
            return None;
        }
        Some(Self {
            length: u32_at(bytes, 4),
            count: u32_at(bytes, 8),
            seq: SeqNo(u64_at(bytes, 12)),
            synced: SeqNo(u64_at(bytes, 20)),
        })
    }
}
