//! Filters of a group: which rows or columns it may have. A blocked Bloom filter: one line of 512 bits a key, six bits of
//! it, ten bits of room; 1 % of the answers "may be there" are wrong. Pages of 63 lines are read and checked one by one.
//!
//! Pure.

use serde::{Deserialize, Serialize};

use super::piece::HEADER;

/// What a filter holds (HBase: BLOOMFILTER).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FilterKind {
    None,
    Row,
    #[default]
    RowColumn,
}

/// Bytes of a line.
pub(in crate::segment) const LINE: usize = 64;
/// Lines of a page, which has 4 KiB with its header.
pub(in crate::segment) const PAGE_LINES: u32 = 63;
const BITS_A_KEY: usize = 10;
const BITS_SET: u32 = 6;

/// The hash of a row or a column, escaped, with its end mark.
#[inline]
pub(in crate::segment) fn hash(prefix: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(prefix)
}

/// Which line a key is in.
#[inline]
pub(in crate::segment) fn line_of(hash: u64, lines: u32) -> u32 {
    ((u128::from(hash) * u128::from(lines)) >> 64) as u32
}

/// The bits of a key in its line.
fn bits_of(hash: u64) -> impl Iterator<Item = (usize, u8)> {
    // The line was chosen by the upper bits; here all of them count.
    let mixed = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (0..BITS_SET).map(move |n| {
        let bit = (mixed >> (10 + n * 9)) as usize & 511;
        (bit / 8, 1 << (bit % 8))
    })
}

/// Lines for so many keys.
pub(in crate::segment) fn lines_for(keys: usize) -> u32 {
    (keys * BITS_A_KEY).div_ceil(LINE * 8) as u32
}

/// A filter of these keys.
pub(in crate::segment) fn build(hashes: &[u64]) -> Vec<u8> {
    let lines = lines_for(hashes.len());
    let mut bytes = vec![0; lines as usize * LINE];
    for &hash in hashes {
        let line = line_of(hash, lines) as usize * LINE;
        for (at, bit) in bits_of(hash) {
            bytes[line + at] |= bit;
        }
    }
    bytes
}

/// Whether a line may have a key.
pub(in crate::segment) fn may_have(line: &[u8], hash: u64) -> bool {
    bits_of(hash).all(|(at, bit)| line.get(at).is_none_or(|byte| byte & bit != 0))
}

/// Bytes of a filter's pages with their headers.
pub(in crate::segment) fn stored_len(lines: u32) -> u64 {
    u64::from(lines) * LINE as u64 + u64::from(lines.div_ceil(PAGE_LINES)) * HEADER as u64
}

/// The page that has a line: how far behind the filter's begin it is, how many lines it has, and where the line is in it.
pub(in crate::segment) fn page_of(line: u32, lines: u32) -> (u64, u32, usize) {
    let page = line / PAGE_LINES;
    let full = PAGE_LINES as usize * LINE + HEADER;
    let in_page = (lines - page * PAGE_LINES).min(PAGE_LINES);
    (u64::from(page) * full as u64, in_page, (line % PAGE_LINES) as usize * LINE)
}
