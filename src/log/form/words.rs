//! Numbers in the bytes of the log: little-endian, as all of it.

/// Reads a u32 that is known to be there.
pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().rev().fold(0, |n, &b| n << 8 | u32::from(b))
}

/// Reads a u64 that is known to be there.
pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))
}
