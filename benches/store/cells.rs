//! The cells that every subject is given: 40-byte keys, ten columns a row, 100-byte values.

/// Columns of a row.
pub const COLUMNS: u64 = 10;
/// Bytes of row and qualifier together.
pub const KEY: usize = 40;
pub const VALUE: usize = 100;

fn mix(n: u64) -> u64 {
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// The row of a cell: 32 bytes, spread over the key space.
pub fn row(cell: u64) -> Vec<u8> {
    let row = cell / COLUMNS;
    format!("{:016x}{:016x}", mix(row + 1), row).into_bytes()
}

/// The qualifier of a cell: 8 bytes.
pub fn qualifier(cell: u64) -> Vec<u8> {
    format!("column{:02}", cell % COLUMNS).into_bytes()
}

/// Row and qualifier as one key, for stores that know no columns.
pub fn key(cell: u64) -> Vec<u8> {
    let mut key = row(cell);
    key.extend(qualifier(cell));
    key
}

/// A value that no compression makes much smaller.
pub fn value(cell: u64) -> Vec<u8> {
    let words = (0..VALUE as u64 / 8 + 1).flat_map(|at| mix(cell.wrapping_mul(31).wrapping_add(at)).to_le_bytes());
    words.take(VALUE).collect()
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
