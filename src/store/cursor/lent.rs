//! The cell at which a cursor stands.

use std::sync::LazyLock;

use crate::model::{FamilyId, Tags, ValueRef};
use crate::segment::{CellRef, StoredValue};
use crate::store::memory::memtable::MemCell;

/// Longest value that a cell carries with it.
pub const HERE: u64 = 512;

/// A cell that stands before a cursor, lent.
pub enum Lent<'c> {
    Memory(&'c MemCell),
    Stored(CellRef<'c>),
}

impl Lent<'_> {
    /// Length of the value as the user sees it.
    pub fn len(&self) -> u64 {
        match self {
            Self::Memory(cell) => cell.value().value_len(),
            Self::Stored(cell) => cell.value.len(),
        }
    }

    /// What rides along.
    pub fn tags(&self) -> Tags {
        match self {
            Self::Memory(cell) => cell.tags().cloned().unwrap_or_default(),
            Self::Stored(cell) => cell.tags.decode().unwrap_or_default(),
        }
    }

    /// Whether nothing rides along.
    pub fn is_plain(&self) -> bool {
        match self {
            Self::Memory(cell) => cell.is_plain(),
            Self::Stored(cell) => cell.tags.is_empty(),
        }
    }

    /// Whether what it lends has all of the value's bytes, or the root of a large one.
    pub fn is_inline(&self) -> bool {
        match self {
            Self::Memory(_) => false,
            Self::Stored(cell) => !matches!(cell.value, StoredValue::Area(_)),
        }
    }

    /// Whether its value does not stand among the keys, being large.
    pub fn is_root(&self) -> bool {
        match self {
            Self::Memory(cell) => cell.is_root(),
            Self::Stored(cell) => matches!(cell.value, StoredValue::Root { .. }),
        }
    }

    /// Whether its value is lost.
    pub fn is_damaged(&self) -> bool {
        match self {
            Self::Memory(cell) => cell.is_damaged(),
            Self::Stored(cell) => cell.tags.is_damaged(),
        }
    }

    /// The value, for those who see no more than the cell.
    pub fn value(&self, family: FamilyId, key: &[u8]) -> ValueRef {
        match self {
            _ if self.is_damaged() => ValueRef::Of { len: self.len(), family, key: key.into() },
            Self::Memory(cell) if !cell.is_root() && cell.stored().len() as u64 <= HERE => {
                ValueRef::Here(cell.shared())
            }
            Self::Stored(CellRef { value: StoredValue::Inline(bytes), .. }) if bytes.len() as u64 <= HERE => {
                ValueRef::Here((*bytes).into())
            }
            _ => ValueRef::Of { len: self.len(), family, key: key.into() },
        }
    }
}

/// Tags of a cell that has none.
pub fn no_tags() -> &'static Tags {
    static NONE: LazyLock<Tags> = LazyLock::new(Tags::default);
    &NONE
}
