//! The cells of one atomic batch: as they are planned, and ready to be written.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::cursor::HERE;
use super::memtable::MemValue;
use super::plan::Planned;
use crate::blob::Root;
use crate::format::key;
use crate::log::{LogCell, LogValue};
use crate::model::{
    CellInfo, CellKind, FamilyId, FamilySchema, Generation, Qualifier, SeqNo, StoredCell, TableSchema, Tags, Timestamp,
    ValueRef,
};
use crate::visibility::{self, VisibleCell};

/// A cell of a batch and the row it belongs to.
pub struct RowCell<'a> {
    pub table: &'a TableSchema,
    pub row: &'a [u8],
    pub cell: Planned<'a>,
}

/// A cell that is ready to be written.
pub struct Ready<'a> {
    pub table: &'a TableSchema,
    pub row: &'a [u8],
    pub family: &'a FamilySchema,
    pub qualifier: Qualifier,
    pub timestamp: Timestamp,
    pub kind: CellKind,
    pub tags: Tags,
    pub value: Prepared,
    /// Without the sequence number.
    pub key: Vec<u8>,
}

/// A value that is ready to be written.
pub enum Prepared {
    Bytes(Arc<[u8]>),
    Root {
        len: u64,
        bytes: Arc<[u8]>,
        /// Keeps its chunks until the cell is in memory.
        held: Option<Arc<Root>>,
    },
}

impl Prepared {
    pub fn of(root: Arc<Root>) -> Self {
        let mut bytes = Vec::new();
        root.encode(&mut bytes);
        Self::Root { len: root.len(), bytes: bytes.into(), held: Some(root) }
    }

    /// Bytes of the value that the log takes.
    pub fn held(&self) -> u64 {
        match self {
            Self::Bytes(bytes) | Self::Root { bytes, .. } => bytes.len() as u64,
        }
    }

    pub fn in_memory(&self) -> MemValue {
        match self {
            Self::Bytes(bytes) => MemValue::Bytes(Arc::clone(bytes)),
            Self::Root { len, bytes, .. } => MemValue::Root { len: *len, bytes: Arc::clone(bytes) },
        }
    }
}

impl Ready<'_> {
    pub fn to_log(&self) -> LogCell<'_> {
        let value = match &self.value {
            Prepared::Bytes(bytes) => LogValue::Bytes(bytes),
            Prepared::Root { len, bytes, .. } => LogValue::Root { len: *len, bytes },
        };
        let Self { row, qualifier, timestamp, kind, tags, .. } = self;
        LogCell { family: self.family.id, row, qualifier, timestamp: *timestamp, kind: *kind, tags, value }
    }

    pub fn info(&self, seq: SeqNo, now: Timestamp) -> CellInfo {
        let value = match &self.value {
            Prepared::Bytes(bytes) if bytes.len() as u64 <= HERE => ValueRef::Here(Arc::clone(bytes)),
            other => {
                let mut key = self.key.clone();
                key::set_seq(&mut key, self.kind, seq);
                let len = if let Prepared::Root { len, .. } = other { *len } else { other.held() };
                ValueRef::Of { len, family: self.family.id, key: key.into() }
            }
        };
        let Self { timestamp, kind, tags, .. } = self;
        let (timestamp, kind, tags) = (*timestamp, *kind, tags.clone());
        let (qualifier, generation) = (Vec::new(), Generation(0));
        let cell = StoredCell { qualifier, timestamp, kind, seq, generation, tags, value, ordinal: 0 };
        visibility::version_info(VisibleCell::live(cell), &self.family.rules, now)
    }
}

/// Of cells with equal keys the last one stays; for each cell given, where it or its successor is.
pub fn without_repeats(cells: Vec<RowCell<'_>>) -> (Vec<RowCell<'_>>, Vec<usize>) {
    if cells.len() < 2 {
        let places = (0..cells.len()).collect();
        return (cells, places);
    }
    let mut seen: FxHashMap<(FamilyId, Vec<u8>), usize> = FxHashMap::default();
    let mut kept: Vec<RowCell<'_>> = Vec::with_capacity(cells.len());
    let mut places = Vec::with_capacity(cells.len());
    for one in cells {
        let Planned { family, qualifier, timestamp, kind, .. } = &one.cell;
        let key = key::cell_key(one.row, qualifier, *timestamp, *kind, SeqNo(0));
        let at = *seen.entry((family.id, key)).or_insert(kept.len());
        places.push(at);
        if at == kept.len() {
            kept.push(one);
        } else {
            kept[at] = one;
        }
    }
    (kept, places)
}
