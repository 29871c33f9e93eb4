//! Cells as they are lent and taken: key, tags, value, or where the value is.
//!
//! Must not know how they are laid out.

use crate::format::{is_damaged, put_tags, tag_flags, take_tags};
use crate::model::{Tags, ValueBytes};

/// The tags of a stored cell, not decoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TagsRef<'a> {
    flags: u64,
    bytes: &'a [u8],
}

impl<'a> TagsRef<'a> {
    /// Tags as [`crate::format::put_tags`] writes them.
    pub(in crate::segment) fn new(flags: u64, bytes: &'a [u8]) -> Self {
        Self { flags, bytes }
    }

    /// Whether nothing rides along with the cell.
    pub fn is_empty(&self) -> bool {
        self.flags == 0
    }

    /// Whether they say that the value is lost.
    pub fn is_damaged(&self) -> bool {
        is_damaged(self.flags)
    }

    /// What there is, as [`crate::format::tag_flags`] tells it.
    pub fn flags(&self) -> u64 {
        self.flags
    }

    /// Their bytes.
    pub(in crate::segment) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The tags. `None`: they are damaged.
    pub fn decode(&self) -> Option<Tags> {
        if self.is_empty() {
            return Some(Tags::default());
        }
        let mut bytes = self.bytes;
        take_tags(&mut bytes, self.flags).filter(|_| bytes.is_empty())
    }

    /// The tags as bytes in a buffer, which is used again.
    pub(in crate::segment) fn encode(tags: &Tags, buffer: &'a mut Vec<u8>) -> Self {
        buffer.clear();
        put_tags(buffer, tags);
        Self { flags: tag_flags(tags), bytes: buffer }
    }
}

/// Where a value is that does not stand among the keys. Meant for the extent that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ValuePlace {
    /// Offset of the value, or of its value block's header, in the file.
    pub(in crate::segment) at: u64,
    /// Bytes of the value.
    pub(in crate::segment) len: u64,
    pub(in crate::segment) form: Form,
}

/// How it stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::segment) enum Form {
    /// By itself; its check, which is bound to its block of entries and the place behind that.
    Plain { block: u64, from: u64, check: u32 },
    /// In a value block, from there on.
    Packed { from: u64 },
}

impl ValuePlace {
    /// Bytes of the value as the user sees it.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Offset in the file, for messages.
    pub fn offset(&self) -> u64 {
        self.at
    }
}

/// The value of a stored cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredValue<'a> {
    Inline(&'a [u8]),
    /// In the value area of this segment: see `Extent::read_value`, `ExtentCursor::read_value`.
    Area(ValuePlace),
    /// Bytes that stand for a large value of `len` bytes; this room does not look into them.
    Root {
        len: u64,
        bytes: &'a [u8],
    },
}

impl StoredValue<'_> {
    /// Bytes of the value as the user sees it.
    pub fn len(&self) -> u64 {
        match self {
            StoredValue::Inline(bytes) => bytes.len() as u64,
            StoredValue::Area(place) => place.len,
            StoredValue::Root { len, .. } => *len,
        }
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One stored cell, lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellRef<'a> {
    /// As [`crate::format::key`] makes it.
    pub key: &'a [u8],
    pub tags: TagsRef<'a>,
    pub value: StoredValue<'a>,
}

/// A cell that is to be stored.
#[derive(Clone, Copy, Debug)]
pub struct NewCell<'a> {
    pub key: &'a [u8],
    pub tags: &'a Tags,
    pub value: ValueBytes<'a>,
}
