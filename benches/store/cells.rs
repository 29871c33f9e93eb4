//! The cells that every subject is given: 40-byte keys, ten columns a row, values of one length, random or text.

use std::sync::LazyLock;

/// Columns of a row.
pub const COLUMNS: u64 = 10;
/// Bytes of row and qualifier together.
pub const KEY: usize = 40;

/// Bytes of each value: CELLFS_BENCH_VALUE (100).
pub static VALUE: LazyLock<usize> = LazyLock::new(|| crate::setting("CELLFS_BENCH_VALUE", 100) as usize);
/// CELLFS_BENCH_TEXT: values are lines of words instead of random bytes.
pub static IS_TEXT: LazyLock<bool> = LazyLock::new(|| std::env::var("CELLFS_BENCH_TEXT").is_ok());

const WORDS: [&str; 16] = [
    "GET",
    "/index.html",
    "200",
    "host",
    "Mozilla/5.0",
    "cellfs",
    "temperature",
    "21.5",
    "error",
    "warning",
    "user",
    "session",
    "2026-11-24",
    "POST",
    "/api/v1/items",
    "404",
];

fn mix(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// The row of a cell: 32 bytes, spread over the key space. Digits by hand: what a name costs here counts for every store.
pub fn row(cell: u64) -> Vec<u8> {
    let row = cell / COLUMNS;
    let mut name = Vec::with_capacity(KEY);
    for number in [mix(row + 1), row] {
        name.extend((0..16).rev().map(|at| b"0123456789abcdef"[(number >> (4 * at)) as usize & 15]));
    }
    name
}

/// The qualifier of a cell: 8 bytes.
pub fn qualifier(cell: u64) -> Vec<u8> {
    let column = (cell % COLUMNS) as u8;
    [b"column".as_slice(), &[b'0' + column / 10, b'0' + column % 10]].concat()
}

/// Row and qualifier as one key, for stores that know no columns.
pub fn key(cell: u64) -> Vec<u8> {
    let mut key = row(cell);
    key.extend(qualifier(cell));
    key
}

/// The value of a cell: as random bytes no compression makes it smaller.
pub fn value(cell: u64) -> Vec<u8> {
    let drawn = |at: u64| mix(cell.wrapping_mul(31).wrapping_add(at));
    if *IS_TEXT {
        let words = (0..).flat_map(|at| [WORDS[drawn(at) as usize % WORDS.len()], " "]);
        return words.flat_map(str::bytes).take(*VALUE).collect();
    }
    let mut value = Vec::with_capacity(*VALUE + 8);
    (0..*VALUE as u64 / 8 + 1).for_each(|at| value.extend_from_slice(&drawn(at).to_le_bytes()));
    value.truncate(*VALUE);
    value
}

/// Random bytes, others for each number.
pub fn page(n: u64, len: usize) -> Vec<u8> {
    (0..).flat_map(|at| mix(mix(n).wrapping_add(at)).to_le_bytes()).take(len).collect()
}

/// The n-th of `count` cells in an order that looks random and meets each once.
pub fn shuffled(n: u64, count: u64) -> u64 {
    // A prime that divides no count in use.
    let stride = (2_654_435_761_u64 % count) | 1;
    let stride = (stride..).find(|s| gcd(*s, count) == 1).unwrap_or(1);
    n.wrapping_mul(stride) % count
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
