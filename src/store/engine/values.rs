//! Bytes of values, wherever they are.

use std::sync::Arc;

use crate::blob::{Blobs, Root};
use crate::env::sync::Mutex;
use crate::model::ValueBytes;
use crate::segment::{Extent, StoredValue};
use crate::store::memory::memtable::MemCell;
use crate::{Error, ErrorKind, Result};

/// Longer values do not stand among the keys.
pub const INLINE: u64 = 16 << 10;

/// See the module.
pub struct Values {
    pub blobs: Arc<Blobs>,
    /// Whether anybody has looked since the open which chunks are live: before that none is known to be dead.
    pub judged: Mutex<bool>,
}

fn part(bytes: &[u8], offset: u64, len: usize) -> Vec<u8> {
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
    bytes[start..start + len.min(bytes.len() - start)].to_vec()
}

/// Of a cell whose root is none.
pub fn no_root() -> Error {
    Error::new(ErrorKind::Corrupt, "a cell does not say where its large value is")
}

impl Values {
    pub fn new(blobs: Arc<Blobs>) -> Self {
        Self { blobs, judged: Mutex::default() }
    }

    /// At most `len` bytes from `offset` of the value of a cell in memory.
    pub fn of_memory(&self, cell: &MemCell, offset: u64, len: usize) -> Result<Vec<u8>> {
        match cell.value() {
            ValueBytes::Bytes(bytes) => Ok(part(bytes, offset, len)),
            ValueBytes::Root { bytes, .. } => self.of_root(bytes, offset, len),
        }
    }

    /// As [`Values::of_memory`], of a cell of an extent.
    pub fn of_extent(&self, extent: &Arc<Extent>, value: &StoredValue<'_>, offset: u64, len: usize) -> Result<Vec<u8>> {
        match value {
            StoredValue::Inline(bytes) => Ok(part(bytes, offset, len)),
            StoredValue::Area(place) => extent.read_value(place, offset, len),
            StoredValue::Root { bytes, .. } => self.of_root(bytes, offset, len),
        }
    }

    /// As [`Values::of_memory`], of a large value.
    pub fn of_root(&self, bytes: &[u8], offset: u64, len: usize) -> Result<Vec<u8>> {
        let root = Root::decode(bytes).ok_or_else(no_root)?;
        self.blobs.read(&root, offset, len)
    }
}
