//! Beyond all keys.

/// Greater than every key: a row has at most 32,767 bytes.
pub const FAR: &[u8] = &[0xFF; 32_768];
