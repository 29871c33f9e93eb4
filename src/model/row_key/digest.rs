//! What spreads keys: a salt and a digest of the bytes behind it.

use sha2::{Digest, Sha256};

/// The salt of bytes: as Phoenix has it, java.util.Arrays.hashCode modulo the buckets.
pub(super) fn salt(bytes: &[u8], buckets: u16) -> u8 {
    let hash = bytes.iter().fold(1_i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(byte.cast_signed())));
    // Less than the buckets, of which there are 256 at the most.
    (hash % i32::from(buckets)).unsigned_abs() as u8
}

/// The first hexadecimal digits of the SHA-256 of bytes.
pub(super) fn digits(bytes: &[u8], count: usize) -> Vec<u8> {
    let mut text = hex::encode(Sha256::digest(bytes)).into_bytes();
    text.truncate(count);
    text
}
