//! Edits: atomic changes of structure.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::delta::CatalogueDelta;
use crate::model::{Catalogue, FamilyId, SeqNo, TableName, Timestamp};

/// Cells of an extent count as those of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Reference {
    pub family: FamilyId,
    /// Number of the segment file.
    pub file: u64,
    /// Number of the extent in it.
    pub extent: u32,
}

/// A state that is kept under a name: everything as it was after the edit that made it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotRecord {
    pub made_at: Timestamp,
    /// `Some`: of this table alone.
    pub table: Option<TableName>,
    /// What was declared; of the tables that it holds.
    #[serde(with = "super::named")]
    pub catalogue: Catalogue,
    /// Stored cells, tombstones among them.
    pub cells: u64,
    /// Bytes of the extents that it holds.
    pub bytes: u64,
}

/// A part of an edit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Item {
    /// An extent counts from now on; its run covers these layers.
    Add {
        reference: Reference,
        first_layer: u32,
        last_layer: u32,
    },
    /// It counts no more.
    Remove(Reference),
    /// Only its keys from this one on count.
    Trim {
        reference: Reference,
        from: Arc<[u8]>,
    },
    /// What the log has up to this number is in extents, or was left out of them.
    Covered(SeqNo),
    Catalogue(#[serde(with = "super::named")] Box<CatalogueDelta>),
    Snapshot {
        name: String,
        record: Arc<SnapshotRecord>,
    },
    SnapshotGone {
        name: String,
    },
    /// A blob that chunks may be written to.
    BlobMade {
        file: u64,
    },
    /// It takes no more.
    BlobSealed {
        file: u64,
        bytes: u64,
        chunks: u32,
    },
    BlobGone {
        file: u64,
    },
    /// Numbers of files up to this one may be given out.
    NumbersUpTo(u64),
    /// The greatest layer that was given to a flush.
    Layer(u32),
    Flushed,
    Compacted,
    /// What could be read of an extent stands in others, which have been there for as long as it had; none: nothing
    /// could be.
    Repaired {
        was: Reference,
        now: Vec<Reference>,
    },
}

/// An atomic change: all of it holds, or nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Edit {
    pub items: Vec<Item>,
}

impl Edit {
    /// Adds a part.
    pub fn with(mut self, item: Item) -> Self {
        self.items.push(item);
        self
    }
}

impl From<Item> for Edit {
    fn from(item: Item) -> Self {
        Self { items: vec![item] }
    }
}
