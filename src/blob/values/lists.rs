//! Lists: chunks of references, and where they end.
//!
//! A list ends after 256 references, or after one whose check is 0 modulo 128 behind 64 others: so lists, like chunks, are
//! found again behind an insertion.

use super::root::{Reference, covered, put_references, take_references};

/// Most references in a list.
pub(in crate::blob) const LIST_MAX: usize = 256;
/// References in front of one that may end a list early.
const LIST_MIN: usize = 64;
const ENDS: u32 = 128;

/// Whether a list with these references takes no more.
pub(in crate::blob) fn is_complete(refs: &[Reference]) -> bool {
    refs.len() >= LIST_MAX
        || refs.len() > LIST_MIN && refs.last().is_some_and(|last| !last.is_hole() && last.check.is_multiple_of(ENDS))
}

/// The bytes of a list.
pub(in crate::blob) fn encode(refs: &[Reference]) -> Vec<u8> {
    let mut out = Vec::with_capacity(refs.len() * 14 + 2);
    put_references(&mut out, refs);
    out
}

/// The references of a list that covers `len` bytes; `None` if these bytes are no such list.
pub(in crate::blob) fn decode(mut bytes: &[u8], len: u64) -> Option<Vec<Reference>> {
    let refs = take_references(&mut bytes, LIST_MAX)?;
    (bytes.is_empty() && covered(&refs) == Some(len)).then_some(refs)
}

/// Parts references into lists as if they had come one after the other.
pub(in crate::blob) fn part(refs: &[Reference]) -> Vec<&[Reference]> {
    let (mut parts, mut from) = (Vec::new(), 0);
    for to in 1..=refs.len() {
        if to == refs.len() || is_complete(&refs[from..to]) {
            parts.push(&refs[from..to]);
            from = to;
        }
    }
    parts
}
