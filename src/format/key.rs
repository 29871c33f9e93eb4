//! Keys of cells as bytes that sort as HBase sorts cells within a family.
//!
//! Row, qualifier, inverted timestamp u64, inverted (kind code << 56 | sequence number) u64; big-endian. Row and
//! qualifier are escaped: 00 becomes 00 FF, the end is 00 01. This is the only place that knows the layout.

use crate::model::{CellKind, Qualifier, RowKey, SeqNo, Timestamp};

/// Bytes of an empty row or qualifier: its end mark.
pub const EMPTY: usize = 2;
/// Bytes after the qualifier: timestamp, kind, sequence number.
pub const SUFFIX: usize = 16;
const SEQ_BITS: u32 = 56;

/// The parts of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellKey {
    pub row: RowKey,
    pub qualifier: Qualifier,
    pub timestamp: Timestamp,
    pub kind: CellKind,
    pub seq: SeqNo,
}

fn put_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.contains(&0) {
        for &byte in bytes {
            out.push(byte);
            if byte == 0 {
                out.push(0xFF);
            }
        }
    } else {
        out.extend_from_slice(bytes);
    }
    out.extend_from_slice(&[0, 1]);
}

/// Length of the escaped part at the front of `bytes`, its end included, and whether a byte in it is escaped.
fn escaped(bytes: &[u8]) -> Option<(usize, bool)> {
    let (mut at, mut is_escaped) = (0, false);
    loop {
        at += memchr::memchr(0, bytes.get(at..)?)?;
        match bytes.get(at + 1)? {
            1 => return Some((at + 2, is_escaped)),
            0xFF => (at, is_escaped) = (at + 2, true),
            _ => return None,
        }
    }
}

/// Splits off and unescapes the part at the front of `bytes`.
fn take_escaped<'a>(bytes: &mut &'a [u8]) -> Option<std::borrow::Cow<'a, [u8]>> {
    let (len, is_escaped) = escaped(bytes)?;
    let (part, rest) = bytes.split_at(len);
    *bytes = rest;
    let part = &part[..len - 2];
    if !is_escaped {
        return Some(part.into());
    }
    let mut out = Vec::with_capacity(part.len());
    let mut escaped = false;
    for &byte in part {
        if !escaped {
            out.push(byte);
        }
        escaped = byte == 0 && !escaped;
    }
    Some(out.into())
}

/// How many bytes two keys share at their front.
#[inline]
pub fn common(a: &[u8], b: &[u8]) -> usize {
    let (a_words, b_words) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
    let mut shared = 0;
    for (a, b) in a_words.iter().zip(b_words) {
        let other = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        if other != 0 {
            return shared + (other.trailing_zeros() / 8) as usize;
        }
        shared += 8;
    }
    shared + a[shared..].iter().zip(&b[shared..]).take_while(|(a, b)| a == b).count()
}

/// What all keys of a row start with.
pub fn row_prefix(row: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(row.len() + 64);
    put_escaped(&mut out, row);
    out
}

/// What all keys of a column start with.
pub fn column_prefix(row_prefix: &[u8], qualifier: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(row_prefix.len() + qualifier.len() + 2 + SUFFIX);
    out.extend_from_slice(row_prefix);
    put_escaped(&mut out, qualifier);
    out
}

/// First key that is past all keys with a prefix made by [`row_prefix`] or [`column_prefix`].
pub fn prefix_end(prefix: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    set_prefix_end(prefix, &mut out);
    out
}

/// As [`prefix_end`], into a buffer.
pub fn set_prefix_end(prefix: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(prefix);
    if let Some(last) = out.last_mut() {
        // It is the 01 of an end mark; what is escaped continues with FF.
        *last += 1;
    }
}

/// The key of a cell.
pub fn cell_key(row: &[u8], qualifier: &[u8], timestamp: Timestamp, kind: CellKind, seq: SeqNo) -> Vec<u8> {
    let mut out = Vec::with_capacity(row.len() + qualifier.len() + 2 * EMPTY + SUFFIX);
    put_cell_key(&mut out, (row, qualifier), (timestamp, kind, seq));
    out
}

/// Appends what [`cell_key`] gives.
pub fn put_cell_key(
    out: &mut Vec<u8>,
    (row, qualifier): (&[u8], &[u8]),
    (timestamp, kind, seq): (Timestamp, CellKind, SeqNo),
) {
    put_escaped(out, row);
    put_escaped(out, qualifier);
    put_suffix(out, timestamp, kind, seq);
}

fn put_suffix(out: &mut Vec<u8>, timestamp: Timestamp, kind: CellKind, seq: SeqNo) {
    out.extend_from_slice(&suffix(timestamp, kind, seq));
}

/// The last [`SUFFIX`] bytes of a key.
pub fn suffix(timestamp: Timestamp, kind: CellKind, seq: SeqNo) -> [u8; SUFFIX] {
    let last = u64::from(kind.code()) << SEQ_BITS | seq.0;
    (u128::from(!(timestamp.0 as u64)) << 64 | u128::from(!last)).to_be_bytes()
}

/// Puts the sequence number into a key that was made without one.
pub fn set_seq(key: &mut [u8], kind: CellKind, seq: SeqNo) {
    let last = u64::from(kind.code()) << SEQ_BITS | seq.0;
    if let Some(tail) = key.last_chunk_mut::<8>() {
        *tail = (!last).to_be_bytes();
    }
}

/// A place in a column before the cells of `timestamp` and older.
pub fn version_start(column_prefix: &[u8], timestamp: Timestamp) -> Vec<u8> {
    let mut out = column_prefix.to_vec();
    out.extend_from_slice(&(!(timestamp.0 as u64)).to_be_bytes());
    out
}

/// Timestamp, kind and sequence number at the end of a key.
#[inline]
pub fn decode_suffix(key: &[u8]) -> Option<(Timestamp, CellKind, SeqNo)> {
    let both = !u128::from_be_bytes(*key.last_chunk::<SUFFIX>()?);
    let (timestamp, last) = (Timestamp((both >> 64) as u64 as i64), both as u64);
    let kind = CellKind::from_code((last >> SEQ_BITS) as u8)?;
    Some((timestamp, kind, SeqNo(last & ((1 << SEQ_BITS) - 1))))
}

/// Length of the part of a key that names the row.
pub fn row_prefix_len(key: &[u8]) -> Option<usize> {
    row_part(key).map(|(len, _)| len)
}

/// The same, and whether a byte in it is escaped: if not, the row itself ends [`EMPTY`] bytes before.
#[inline]
pub fn row_part(key: &[u8]) -> Option<(usize, bool)> {
    escaped(key)
}

/// The row of a key.
pub fn row_of(key: &[u8]) -> Option<RowKey> {
    let mut rest = key;
    Some(take_escaped(&mut rest)?.into_owned())
}

/// The qualifier of a key whose row part is `row_prefix_len` bytes long.
pub fn qualifier_of(key: &[u8], row_prefix_len: usize) -> Option<Qualifier> {
    let mut rest = key.get(row_prefix_len..)?;
    Some(take_escaped(&mut rest)?.into_owned())
}

/// As [`qualifier_of`], into a buffer; false: it is no key.
fn set_qualifier(key: &[u8], row_prefix_len: usize, out: &mut Qualifier) -> bool {
    out.clear();
    let Some(mut rest) = key.get(row_prefix_len..) else { return false };
    let Some(qualifier) = take_escaped(&mut rest) else { return false };
    out.extend_from_slice(&qualifier);
    true
}

/// The last part of what keys begin with, which [`row_prefix`] or [`column_prefix`] has made, from where it begins on, into
/// a buffer; false: it is none.
#[inline]
pub fn set_last_part(prefix: &[u8], from: usize, out: &mut Vec<u8>) -> bool {
    match prefix.get(from..prefix.len().saturating_sub(EMPTY)) {
        // Most have no zero, and are what stands there.
        Some(part) if has_no_zero(part) => {
            out.clear();
            out.extend_from_slice(part);
            true
        }
        _ => set_qualifier(prefix, from, out),
    }
}

/// For few bytes: several at once, without the calls that a search takes.
#[inline]
fn has_no_zero(bytes: &[u8]) -> bool {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let (words, rest) = bytes.as_chunks::<8>();
    let has_zero = |word: &[u8; 8]| {
        let word = u64::from_le_bytes(*word);
        word.wrapping_sub(ONES) & !word & HIGH != 0
    };
    !words.iter().any(has_zero) && !rest.contains(&0)
}

/// The qualifier of a key as it stands there, with its end mark; the row part is `row_prefix_len` bytes long.
pub fn escaped_qualifier(key: &[u8], row_prefix_len: usize) -> Option<&[u8]> {
    key.get(row_prefix_len..key.len().checked_sub(SUFFIX)?)
}

/// The bytes of one escaped part.
pub fn unescape(mut escaped: &[u8]) -> Option<Vec<u8>> {
    let part = take_escaped(&mut escaped)?.into_owned();
    escaped.is_empty().then_some(part)
}

/// All parts of a key; `None` if it is not one.
pub fn decode(key: &[u8]) -> Option<CellKey> {
    let mut rest = key;
    let row = take_escaped(&mut rest)?.into_owned();
    let qualifier = take_escaped(&mut rest)?.into_owned();
    if rest.len() != SUFFIX {
        return None;
    }
    let (timestamp, kind, seq) = decode_suffix(rest)?;
    Some(CellKey { row, qualifier, timestamp, kind, seq })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Tombstone;
    use proptest::prelude::*;

    fn kinds() -> impl Strategy<Value = CellKind> {
        prop::sample::select(vec![
            CellKind::Put,
            CellKind::Tombstone(Tombstone::Version),
            CellKind::Tombstone(Tombstone::FamilyVersion),
            CellKind::Tombstone(Tombstone::Column),
            CellKind::Tombstone(Tombstone::Family),
        ])
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(vec![0u8, 1, 2, 0x61, 0xFE, 0xFF]), 0..12)
    }

    fn keys() -> impl Strategy<Value = CellKey> {
        (bytes(), bytes(), prop::sample::select(vec![0, 1, 255, 256, i64::MAX - 1]), kinds(), 0u64..4).prop_map(
            |(row, qualifier, timestamp, kind, seq)| CellKey {
                row,
                qualifier,
                timestamp: Timestamp(timestamp),
                kind,
                seq: SeqNo(seq),
            },
        )
    }

    fn encode(k: &CellKey) -> Vec<u8> {
        cell_key(&k.row, &k.qualifier, k.timestamp, k.kind, k.seq)
    }

    proptest! {
        #[test]
        fn bytes_sort_as_cells(a in keys(), b in keys()) {
            let order = (&a.row, &a.qualifier).cmp(&(&b.row, &b.qualifier))
                .then(b.timestamp.cmp(&a.timestamp))
                .then(b.kind.code().cmp(&a.kind.code()))
                .then(b.seq.cmp(&a.seq));
            prop_assert_eq!(encode(&a).cmp(&encode(&b)), order);
        }

        #[test]
        fn decoding_inverts(k in keys()) {
            let bytes = encode(&k);
            prop_assert_eq!(decode(&bytes), Some(k.clone()));
            let prefix = row_prefix(&k.row);
            prop_assert_eq!(row_prefix_len(&bytes), Some(prefix.len()));
            prop_assert_eq!(qualifier_of(&bytes, prefix.len()), Some(k.qualifier.clone()));
            let (mut row, mut qualifier) = (b"before".to_vec(), b"before".to_vec());
            let column = column_prefix(&prefix, &k.qualifier);
            prop_assert!(set_last_part(&prefix, 0, &mut row) && set_last_part(&column, prefix.len(), &mut qualifier));
            prop_assert_eq!((row, qualifier), (k.row, k.qualifier));
        }

        #[test]
        fn prefix_ends_hold_exactly_the_row(k in keys(), other in keys()) {
            let prefix = row_prefix(&k.row);
            let inside = encode(&other) >= prefix && encode(&other) < prefix_end(&prefix);
            prop_assert_eq!(inside, other.row == k.row);
        }
    }
}
