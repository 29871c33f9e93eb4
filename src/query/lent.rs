//! Cells that a read judges where they stand.

use crate::model::{CellKind, Generation, SeqNo, StoredCell, Tags, Timestamp, ValueRef};

/// A put with nothing but a short value, lent.
#[derive(Clone, Copy, Debug)]
pub struct LentCell<'c> {
    pub qualifier: &'c [u8],
    pub timestamp: Timestamp,
    pub seq: SeqNo,
    pub generation: Generation,
    pub value: &'c [u8],
}

impl LentCell<'_> {
    /// A copy, as the rules of visibility see it.
    pub fn to_stored(&self) -> StoredCell {
        StoredCell {
            qualifier: self.qualifier.to_vec(),
            timestamp: self.timestamp,
            kind: CellKind::Put,
            seq: self.seq,
            generation: self.generation,
            tags: Tags::default(),
            value: ValueRef::Here(self.value.into()),
            ordinal: 0,
        }
    }
}
