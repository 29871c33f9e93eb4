//! What rides along with a cell besides its value, as bytes behind flags that say what is there.

use super::attributes::{put_file, take_file};
use super::varint::{put_varint, take_varint, unzigzag, zigzag};
use crate::model::{Tags, Timestamp};

const TTL: u64 = 1;
const FILE: u64 = 2;
const ENDED: u64 = 4;
const WRITTEN: u64 = 8;
const ERASES: u64 = 16;
// 32 is the log's own.
const DAMAGED: u64 = 64;

/// Flags of tags, as [`put_tags`] writes them.
pub fn tag_flags(tags: &Tags) -> u64 {
    let mut flags = 0;
    for (set, flag) in [
        (tags.ttl_ms.is_some(), TTL),
        (tags.file.record().is_some(), FILE),
        (tags.ended_at.is_some(), ENDED),
        (tags.written_at.is_some(), WRITTEN),
        (tags.erases, ERASES),
        (tags.is_damaged, DAMAGED),
    ] {
        if set {
            flags |= flag;
        }
    }
    flags
}

/// Whether flags say that the value is lost.
pub fn is_damaged(flags: u64) -> bool {
    flags & DAMAGED != 0
}

/// Appends the tags that [`tag_flags`] names.
pub fn put_tags(out: &mut Vec<u8>, tags: &Tags) {
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
pub fn take_tags(bytes: &mut &[u8], flags: u64) -> Option<Tags> {
    let mut tags = Tags { erases: flags & ERASES != 0, is_damaged: is_damaged(flags), ..Tags::default() };
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
