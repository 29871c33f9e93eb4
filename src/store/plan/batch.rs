//! The cells of one atomic batch: as they are planned, and ready to be written.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::planned::Planned;
use crate::Result;
use crate::blob::Root;
use crate::format::key;
use crate::log::{Batch, LogCell, TakeCell};
use crate::model::{
    CellInfo, CellKind, FamilyId, FamilySchema, Generation, Qualifier, SeqNo, Shared, StoredCell, TableSchema,
    Timestamp, Tombstone, ValueBytes, ValueRef,
};
use crate::store::cursor::lent::{HERE, no_tags};
use crate::store::engine::Engine;
use crate::store::memory::memtable::MemCell;
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
    /// As the memtable will have it, without the sequence number.
    pub cell: MemCell,
    /// Keeps the chunks of a large value until the cell is in memory.
    _held: Option<Arc<Root>>,
}

/// A value that is ready to be written.
pub enum Prepared {
    Bytes(Vec<u8>),
    Shared(Shared),
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

    fn as_value(&self) -> ValueBytes<'_> {
        match self {
            Self::Bytes(bytes) => ValueBytes::Bytes(bytes),
            Self::Shared(bytes) => ValueBytes::Bytes(bytes),
            Self::Root { len, bytes, .. } => ValueBytes::Root { len: *len, bytes },
        }
    }
}

impl<'a> Ready<'a> {
    /// A planned cell with the value that is ready.
    pub fn new((table, row): (&'a TableSchema, &'a [u8]), cell: Planned<'a>, value: Prepared) -> Self {
        let Planned { family, qualifier, timestamp, kind, tags, .. } = cell;
        let put_key = |out: &mut Vec<u8>| key::put_cell_key(out, (row, &qualifier), (timestamp, kind, SeqNo(0)));
        let cell = MemCell::new(put_key, &tags, value.as_value());
        let _held = if let Prepared::Root { held, .. } = value { held } else { None };
        Self { table, row, family, qualifier, timestamp, kind, cell, _held }
    }

    pub fn to_log(&self) -> LogCell<'_> {
        let Self { row, qualifier, timestamp, kind, .. } = self;
        let (tags, value) = (self.cell.tags().unwrap_or(no_tags()), self.cell.value());
        LogCell { family: self.family.id, row, qualifier, timestamp: *timestamp, kind: *kind, tags, value }
    }

    /// Whether it is a put, and not of a version that was deleted long ago.
    pub fn is_live(&self) -> bool {
        self.kind.is_put() && self.cell.tags().is_none_or(|tags| tags.ended_at.is_none())
    }

    /// The cell as it would be with a number.
    pub fn cell_at(&self, seq: SeqNo) -> MemCell {
        let mut cell = self.cell.clone();
        cell.set_seq(self.kind, seq);
        cell
    }

    /// Bytes of the value that the log takes.
    pub fn bytes(&self) -> u64 {
        self.cell.stored().len() as u64
    }

    /// What readers see of it, once it has its number.
    pub fn info(&self, seq: SeqNo, now: Timestamp) -> CellInfo {
        let value = match self.cell.value() {
            ValueBytes::Bytes(bytes) if bytes.len() as u64 <= HERE => ValueRef::Here(self.cell.shared()),
            other => ValueRef::Of { len: other.value_len(), family: self.family.id, key: self.cell.key().into() },
        };
        let Self { timestamp, kind, .. } = self;
        let (timestamp, kind, tags) = (*timestamp, *kind, self.cell.tags().cloned().unwrap_or_default());
        let (qualifier, generation) = (Vec::new(), Generation(0));
        let cell = StoredCell { qualifier, timestamp, kind, seq, generation, tags, value, ordinal: 0 };
        visibility::version_info(VisibleCell::live(cell), &self.family.rules, now)
    }
}

/// The cells of a batch, and the memtable that they go to.
pub struct Writing<'e, 'a> {
    pub engine: &'e Engine,
    pub cells: Vec<Ready<'a>>,
}

impl Batch for Writing<'_, '_> {
    fn each(&self, take: &mut TakeCell<'_>) -> Result<()> {
        self.cells.iter().try_for_each(|ready| take(&ready.to_log()))
    }

    fn publish(&mut self, seq: SeqNo) {
        let (parts, is_alone) = (self.engine.views.now(), self.cells.len() == 1);
        for ready in &mut self.cells {
            ready.cell.set_seq(ready.kind, seq);
            if is_alone && ready.kind == CellKind::Tombstone(Tombstone::Version) {
                let before = self.engine.tracks.written_upto(ready.family.id, ready.row, &ready.qualifier);
                self.engine.histories.end_version(&ready.to_log(), before, seq);
            }
            let is_latest = self.engine.tracks.note_cell(&ready.to_log(), seq);
            if !is_latest && ready.kind.is_put() && !parts.tables.has_first(ready.family.id, ready.cell.key()) {
                self.engine.tracks.note_unordered(ready.family.id, seq);
            }
            parts.tables.active.insert(ready.family.id, ready.cell.clone());
        }
        self.engine.views.reach(seq);
    }
}

/// Of cells with equal keys the last one stays; for each cell given, where it or its successor is.
pub fn without_repeats<'a>(cells: impl ExactSizeIterator<Item = RowCell<'a>>) -> (Vec<RowCell<'a>>, Vec<usize>) {
    let mut seen: FxHashMap<(FamilyId, Vec<u8>), usize> = FxHashMap::default();
    let mut kept: Vec<RowCell<'a>> = Vec::with_capacity(cells.len());
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
