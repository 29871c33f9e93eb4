//! What a row of the index holds besides its key.

use crate::model::{Generation, SegmentId, Tags, ValueHandle};
use crate::wal::{agree, put_handle, put_tags, put_varint, tag_flags, take_handle, take_tags, take_varint};

/// Above the flags of tags.
const OWN_PLACE: u64 = 1 << 16;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexRow {
    pub value: ValueHandle,
    pub generation: Generation,
    pub tags: Tags,
    /// Where the cell's own entry is, if the value is another entry's.
    pub own: Option<(SegmentId, u64)>,
}

impl IndexRow {
    /// Where the cell's own entry is.
    pub fn place(&self) -> (SegmentId, u64) {
        self.own.unwrap_or((self.value.segment, self.value.offset))
    }

    /// Appends the bytes of a row whose key is `key`, with a checksum over both.
    pub fn encode(&self, key: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        put_handle(out, &self.value);
        put_varint(out, u64::from(self.generation.0));
        put_varint(out, tag_flags(&self.tags) | if self.own.is_some() { OWN_PLACE } else { 0 });
        put_tags(out, &self.tags);
        if let Some((segment, offset)) = self.own {
            put_varint(out, u64::from(segment.0));
            put_varint(out, offset);
        }
        let check = crc32c::crc32c_append(crc32c::crc32c(key), &out[start..]);
        out.extend_from_slice(&check.to_le_bytes());
    }

    /// `None` if any bit of key or row is not as it was written.
    pub fn decode(key: &[u8], bytes: &[u8]) -> Option<Self> {
        let (mut rest, check) = bytes.split_last_chunk::<4>()?;
        if !agree(u32::from_le_bytes(*check), crc32c::crc32c_append(crc32c::crc32c(key), rest)) {
            return None;
        }
        let value = take_handle(&mut rest)?;
        let generation = Generation(u32::try_from(take_varint(&mut rest)?).ok()?);
        let flags = take_varint(&mut rest)?;
        let tags = take_tags(&mut rest, flags)?;
        let own = if flags & OWN_PLACE == 0 {
            None
        } else {
            let segment = SegmentId(u32::try_from(take_varint(&mut rest)?).ok()?);
            Some((segment, take_varint(&mut rest)?))
        };
        rest.is_empty().then_some(Self { value, generation, tags, own })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FileChange, FileTime, Timestamp};

    #[test]
    fn every_damaged_bit_is_seen() {
        let row = IndexRow {
            value: ValueHandle {
                segment: SegmentId(3),
                offset: 1 << 33,
                head_len: 70,
                stored_len: 9,
                len: 99,
                check: 7,
            },
            generation: Generation(12),
            tags: Tags {
                ttl_ms: Some(5),
                file: FileChange::of_time(Some(FileTime { seconds: -3, nanos: 9 })).into(),
                ended_at: Some(Timestamp(8)),
                written_at: Some(Timestamp(9)),
                erases: true,
            },
            own: Some((SegmentId(9), 77)),
        };
        let mut bytes = Vec::new();
        row.encode(b"key", &mut bytes);
        assert_eq!(IndexRow::decode(b"key", &bytes), Some(row));
        assert_eq!(IndexRow::decode(b"kez", &bytes), None);
        for at in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            assert_eq!(IndexRow::decode(b"key", &damaged), None);
        }
    }
}
