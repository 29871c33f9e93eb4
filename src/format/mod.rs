//! Bytes that several formats share: keys of cells, tags, varints, checks, compression.
//!
//! Pure. Must not know what file they stand in.

mod attributes;
mod check;
mod codec;
pub mod key;
mod tags;
mod varint;

#[cfg(test)]
pub use check::ignored;
pub use check::{agree, place_check};
pub use codec::Codec;
pub use tags::{is_damaged, put_tags, tag_flags, take_tags};
pub use varint::{put_varint, take, take_varint, unzigzag, zigzag};

/// Which store a file belongs to.
pub type StoreId = [u8; 16];
