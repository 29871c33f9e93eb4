//! Cell entries: a head that verifies itself, then the stored bytes of the value.
//!
//! Head: CRC-32C u32 of the rest of the head; then varints: head length (padded to 3 bytes), kind code,
//! flags, codec, family, seq, timestamp, length, stored length, row length, qualifier length, the tags
//! that the flags name, a reference if the flags say so; then row, qualifier, and a CRC-32C u32 for each
//! 64 KiB of the stored value. An entry with a reference has no value of its own: its bytes are those of
//! the entry it points at.

use crate::model::{CellKind, FamilyId, SegmentId, SeqNo, Tags, Timestamp, ValueHandle};

use super::file::{put_file, take_file};
use super::record::u32_at;
use super::sum::agree;
use super::value::{CHUNK, Codec};
use super::varint::{put_varint, take, take_varint, unzigzag, zigzag};

const TTL: u64 = 1;
const FILE: u64 = 2;
const ENDED: u64 = 4;
const WRITTEN: u64 = 8;
const ERASES: u64 = 16;
const SHARED: u64 = 32;

/// Bytes of the check and of the padded length, which open a head.
pub(super) const OPENING: usize = 7;
/// Longest head: a padded varint of 3 bytes.
pub(super) const MAX_HEAD: usize = (1 << 21) - 1;

/// What an entry says, without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub family: FamilyId,
    pub row: Vec<u8>,
    pub qualifier: Vec<u8>,
    pub timestamp: Timestamp,
    pub kind: CellKind,
    pub seq: SeqNo,
    pub tags: Tags,
}

/// A parsed head: borrowed key, numbers, and where the value's checks are.
#[derive(Clone, Debug)]
pub struct Head<'a> {
    pub head_len: u32,
    pub check: u32,
    pub family: FamilyId,
    pub row: &'a [u8],
    pub qualifier: &'a [u8],
    pub timestamp: Timestamp,
    pub kind: CellKind,
    pub seq: SeqNo,
    pub tags: Tags,
    pub codec: Codec,
    /// As the user sees it.
    pub len: u32,
    pub stored_len: u32,
    /// The entry that has the bytes.
    pub shared: Option<ValueHandle>,
    /// CRC-32C of each chunk, 4 bytes each.
    pub chunks: &'a [u8],
}

/// Flags of tags, as [`put_tags`] writes them.
pub(crate) fn tag_flags(tags: &Tags) -> u64 {
    let mut flags = 0;
    for (set, flag) in [
        (tags.ttl_ms.is_some(), TTL),
        (tags.file.record().is_some(), FILE),
        (tags.ended_at.is_some(), ENDED),
        (tags.written_at.is_some(), WRITTEN),
        (tags.erases, ERASES),
    ] {
        if set {
            flags |= flag;
        }
    }
    flags
}

/// Appends the tags that [`tag_flags`] names.
pub(crate) fn put_tags(out: &mut Vec<u8>, tags: &Tags) {
    if let Some(ttl) = tags.ttl_ms {
        put_varint(out, ttl);
    }
    if let Some(record) = tags.file.record() {
        put_file(out, record);
    }
    for time in [tags.ended_at, tags.written_at].into_iter().flatten() {
        put_varint(out, zigzag(time.0));
    }
}

/// The inverse of [`put_tags`].
pub(crate) fn take_tags(bytes: &mut &[u8], flags: u64) -> Option<Tags> {
    let mut tags = Tags { erases: flags & ERASES != 0, ..Tags::default() };
    if flags & TTL != 0 {
        tags.ttl_ms = Some(take_varint(bytes)?);
    }
    if flags & FILE != 0 {
        tags.file = take_file(bytes)?;
    }
    if flags & ENDED != 0 {
        tags.ended_at = Some(Timestamp(unzigzag(take_varint(bytes)?)));
    }
    if flags & WRITTEN != 0 {
        tags.written_at = Some(Timestamp(unzigzag(take_varint(bytes)?)));
    }
    Some(tags)
}

/// The parts of an entry's key, borrowed for encoding.
pub(super) struct HeadParts<'a> {
    pub family: FamilyId,
    pub row: &'a [u8],
    pub qualifier: &'a [u8],
    pub timestamp: Timestamp,
    pub kind: CellKind,
    pub seq: SeqNo,
    pub tags: &'a Tags,
    pub codec: Codec,
    pub len: u32,
    pub stored_len: u32,
    pub shared: Option<ValueHandle>,
    pub chunks: &'a [u32],
}

/// Appends a head; its length and its check.
pub(super) fn put_head(out: &mut Vec<u8>, parts: &HeadParts<'_>) -> (u32, u32) {
    let start = out.len();
    out.extend_from_slice(&[0; OPENING]);
    let shared = if parts.shared.is_some() { SHARED } else { 0 };
    out.push(parts.kind.code());
    put_varint(out, tag_flags(parts.tags) | shared);
    out.push(parts.codec as u8);
    for number in [
        u64::from(parts.family.0),
        parts.seq.0,
        zigzag(parts.timestamp.0),
        u64::from(parts.len),
        u64::from(parts.stored_len),
        parts.row.len() as u64,
        parts.qualifier.len() as u64,
    ] {
        put_varint(out, number);
    }
    put_tags(out, parts.tags);
    if let Some(target) = &parts.shared {
        put_handle(out, target);
    }
    out.extend_from_slice(parts.row);
    out.extend_from_slice(parts.qualifier);
    parts.chunks.iter().for_each(|chunk| out.extend_from_slice(&chunk.to_le_bytes()));
    seal(out, start)
}

fn seal(out: &mut [u8], start: usize) -> (u32, u32) {
    let len = (out.len() - start) as u32;
    for (at, shift) in [(4, 0), (5, 7), (6, 14)] {
        let more = if at < 6 { 0x80 } else { 0 };
        out[start + at] = ((len >> shift) & 0x7F) as u8 | more;
    }
    let check = crc32c::crc32c(&out[start + 4..]);
    out[start..start + 4].copy_from_slice(&check.to_le_bytes());
    (len, check)
}

/// Appends where a value lies.
pub(crate) fn put_handle(out: &mut Vec<u8>, handle: &ValueHandle) {
    put_varint(out, u64::from(handle.segment.0));
    put_varint(out, handle.offset);
    put_varint(out, u64::from(handle.head_len));
    put_varint(out, u64::from(handle.stored_len));
    put_varint(out, u64::from(handle.len));
    out.extend_from_slice(&handle.check.to_le_bytes());
}

/// The inverse of [`put_handle`].
pub(crate) fn take_handle(bytes: &mut &[u8]) -> Option<ValueHandle> {
    let mut number = || take_varint(bytes);
    let (segment, offset) = (number()?, number()?);
    let (head_len, stored_len, len) = (number()?, number()?, number()?);
    Some(ValueHandle {
        segment: SegmentId(u32::try_from(segment).ok()?),
        offset,
        head_len: u32::try_from(head_len).ok()?,
        stored_len: u32::try_from(stored_len).ok()?,
        len: u32::try_from(len).ok()?,
        check: u32_at(take(bytes, 4)?, 0),
    })
}

/// Length of the head whose first [`OPENING`] bytes these are, `None` if it cannot be one.
pub(super) fn head_len(opening: &[u8]) -> Option<usize> {
    let mut bytes = opening.get(4..OPENING)?;
    let len = take_varint(&mut bytes)? as usize;
    (bytes.is_empty() && (OPENING + 10..=MAX_HEAD).contains(&len)).then_some(len)
}

impl<'a> Head<'a> {
    /// Parses and verifies a head; `None` if any bit of it is wrong.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        if head_len(bytes)? != bytes.len() {
            return None;
        }
        let check = u32_at(bytes, 0);
        if !agree(check, crc32c::crc32c(&bytes[4..])) {
            return None;
        }
        Self::fields(bytes, check)
    }

    fn fields(whole: &'a [u8], check: u32) -> Option<Self> {
        let mut rest = &whole[OPENING..];
        let kind = CellKind::from_code(take(&mut rest, 1)?[0])?;
        let flags = take_varint(&mut rest)?;
        let codec = Codec::from_code(take(&mut rest, 1)?[0])?;
        let family = FamilyId(u32::try_from(take_varint(&mut rest)?).ok()?);
        let seq = SeqNo(take_varint(&mut rest)?);
        let timestamp = Timestamp(unzigzag(take_varint(&mut rest)?));
        let len = u32::try_from(take_varint(&mut rest)?).ok()?;
        let stored_len = u32::try_from(take_varint(&mut rest)?).ok()?;
        let row_len = take_varint(&mut rest)? as usize;
        let qualifier_len = take_varint(&mut rest)? as usize;
        let tags = take_tags(&mut rest, flags)?;
        let shared = if flags & SHARED != 0 { Some(take_handle(&mut rest)?) } else { None };
        let row = take(&mut rest, row_len)?;
        let qualifier = take(&mut rest, qualifier_len)?;
        if rest.len() != (stored_len as usize).div_ceil(CHUNK) * 4 {
            return None;
        }
        let head_len = whole.len() as u32;
        Some(Self {
            head_len,
            check,
            family,
            row,
            qualifier,
            timestamp,
            kind,
            seq,
            tags,
            codec,
            len,
            stored_len,
            shared,
            chunks: rest,
        })
    }

    /// Whether `data` is the stored chunk number `index`.
    pub fn chunk_matches(&self, index: usize, data: &[u8]) -> bool {
        self.chunks.get(index * 4..index * 4 + 4).is_some_and(|c| agree(u32_at(c, 0), crc32c::crc32c(data)))
    }

    /// Where the value of this entry lies, if the entry is at `offset` of `segment`.
    pub fn handle(&self, segment: SegmentId, offset: u64) -> ValueHandle {
        self.shared.unwrap_or(ValueHandle {
            segment,
            offset,
            head_len: self.head_len,
            stored_len: self.stored_len,
            len: self.len,
            check: self.check,
        })
    }

    /// An owned copy of the key and the tags.
    pub fn to_entry(&self) -> Entry {
        Entry {
            family: self.family,
            row: self.row.to_vec(),
            qualifier: self.qualifier.to_vec(),
            timestamp: self.timestamp,
            kind: self.kind,
            seq: self.seq,
            tags: self.tags.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FileChange, FileTime};

    #[test]
    fn heads_come_back_and_every_damaged_bit_is_seen() {
        let time = FileTime { seconds: -1, nanos: 5 };
        let file = FileChange { mode: Some(0o4755), ..FileChange::of_time(Some(time)) }.into();
        let tags = Tags { ttl_ms: Some(9), file, ..Tags::default() };
        let shared = ValueHandle { segment: SegmentId(7), offset: 99, head_len: 40, stored_len: 3, len: 3, check: 1 };
        let parts = HeadParts {
            family: FamilyId(3),
            row: b"row",
            qualifier: b"",
            timestamp: Timestamp(1_700_000_000_000),
            kind: CellKind::Put,
            seq: SeqNo(77),
            tags: &tags,
            codec: Codec::None,
            len: 3,
            stored_len: 0,
            shared: Some(shared),
            chunks: &[],
        };
        let mut bytes = Vec::new();
        let (len, check) = put_head(&mut bytes, &parts);
        let head = Head::parse(&bytes).unwrap();
        assert_eq!((head.head_len, head.check, head.row, head.seq), (len, check, b"row".as_slice(), SeqNo(77)));
        assert_eq!((head.tags.clone(), head.shared), (tags.clone(), Some(shared)));
        for at in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[at / 8] ^= 1 << (at % 8);
            assert!(Head::parse(&damaged).is_none(), "bit {at}");
        }
        for len in 0..bytes.len() {
            assert!(Head::parse(&bytes[..len]).is_none());
        }
    }
}
