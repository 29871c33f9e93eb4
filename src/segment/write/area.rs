//! The value area behind a block of entries, while it is gathered: values too long to stand among the keys.
//!
//! Without a codec they stand one after the other, and their checks in their entries; with one they are compressed
//! together in value blocks.

use super::output::Output;
use crate::Result;
use crate::format::Codec;
use crate::segment::parts::entry::NewAt;
use crate::segment::parts::piece::{HEADER, Header, Kind, Owner, RAW_MAX};

/// Bytes of values behind one block of entries, from which on the block ends.
const ENOUGH: usize = 128 << 10;

/// The check of a plain value: bound to its block of entries and its place behind that.
pub(in crate::segment) fn plain_check(owner: &Owner, block: u64, from: u64, value: &[u8]) -> u32 {
    owner.check(block, &[&from.to_le_bytes(), value])
}

/// A value block that is done: its header without a check, its stored bytes.
struct Packed {
    header: Header,
    bytes: Vec<u8>,
}

/// See the module.
pub(in crate::segment) struct Area {
    codec: Codec,
    /// Bytes of values of a value block.
    block_bytes: usize,
    /// Plain values, or those of the value block that is not done.
    open: Vec<u8>,
    done: Vec<Packed>,
    done_bytes: usize,
}

impl Area {
    pub(in crate::segment) fn new(codec: Codec, block_bytes: usize) -> Self {
        Self { codec, block_bytes, open: Vec::new(), done: Vec::new(), done_bytes: 0 }
    }

    /// Whether the block of entries should end.
    pub(in crate::segment) fn is_full(&self) -> bool {
        self.open.len() + self.done_bytes >= ENOUGH
    }

    /// Takes a value in; where it will be. `block`: where the block of entries will be.
    pub(in crate::segment) fn add(&mut self, owner: &Owner, block: u64, value: &[u8]) -> NewAt<'static> {
        if self.codec == Codec::None {
            let from = self.open.len() as u64;
            self.open.extend_from_slice(value);
            return NewAt::Plain { from, check: plain_check(owner, block, from, value) };
        }
        if !self.open.is_empty() && self.open.len() + value.len() > self.block_bytes {
            self.pack();
        }
        let place = NewAt::Packed { block: self.done_bytes as u64, from: self.open.len() as u64 };
        self.open.extend_from_slice(value);
        if self.open.len() >= self.block_bytes {
            self.pack();
        }
        place
    }

    fn pack(&mut self) {
        let raw = std::mem::take(&mut self.open);
        let len = raw.len();
        let packed = if len <= RAW_MAX { self.codec.compress(&raw) } else { None };
        let packed = packed.filter(|packed| packed.len() <= len - len / 8);
        let codec = if packed.is_some() { self.codec } else { Codec::None };
        let bytes = packed.unwrap_or(raw);
        // A value is at most 4 GiB, which the writer has seen to.
        let header = Header::new(Kind::Packed, codec, bytes.len() as u32, len as u32, 0);
        self.done_bytes += HEADER + bytes.len();
        self.done.push(Packed { header, bytes });
    }

    /// Writes it; it begins anew.
    pub(in crate::segment) fn finish(&mut self, output: &mut Output) -> Result<()> {
        if self.codec == Codec::None {
            if !self.open.is_empty() {
                output.put_piece(Kind::Plain, Codec::None, 0, &self.open)?;
                self.open.clear();
            }
            return Ok(());
        }
        if !self.open.is_empty() {
            self.pack();
        }
        for packed in self.done.drain(..) {
            let at = output.position();
            output.put(&packed.header.seal(&output.owner, at, &packed.bytes))?;
            output.put(&packed.bytes)?;
        }
        self.done_bytes = 0;
        Ok(())
    }
}
