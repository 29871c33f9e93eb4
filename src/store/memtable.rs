//! What was written since the last flush, sorted; keys and places, no values.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::env::sync::Mutex;
use crossbeam_skiplist::SkipMap;
use rustc_hash::FxHashMap;

use crate::index::{Checkpoint, IndexRow, Meta, key, own_entry_bytes};
use crate::model::{FamilyId, Generation, SegmentId, SeqNo, Tags, Timestamp, ValueHandle};

/// Memory of an entry besides its key: tower, handle, allocations.
const OVERHEAD: u64 = 128;

/// A cell's place and tags.
#[derive(Clone, Debug)]
pub struct MemCell {
    value: ValueHandle,
    /// Most cells have none.
    tags: Option<Box<Tags>>,
    /// Where the cell's own entry is, if the value is another entry's.
    own: Option<(SegmentId, u64)>,
}

/// See the module.
#[derive(Default)]
pub struct Memtable {
    cells: SkipMap<Box<[u8]>, MemCell>,
    bytes: AtomicU64,
    count: AtomicU64,
    stored: AtomicU64,
    /// Segments into which shared values point.
    shares: Mutex<Vec<SegmentId>>,
    /// Cells up to this sequence number are in the index already.
    flushed: AtomicU64,
}

/// A memtable that takes no more cells, and how far the log is covered once it is flushed.
#[derive(Clone)]
pub struct Frozen {
    pub table: Arc<Memtable>,
    pub checkpoint: Checkpoint,
}

/// The memtables of a store; replaced as a whole.
#[derive(Clone, Default)]
pub struct Memtables {
    pub active: Arc<Memtable>,
    /// Oldest first.
    pub frozen: Vec<Frozen>,
    /// What the index has besides these.
    pub indexed: Arc<Indexed>,
}

/// The families that have cells in the index, and how late those are.
#[derive(Clone, Debug, Default)]
pub struct Indexed(FxHashMap<FamilyId, Timestamp>);

impl Indexed {
    /// As the index's own state says.
    pub fn of(meta: &Meta) -> Self {
        // Not by the number of cells alone: a family counts as indexed from its first flush on.
        let indexed = meta.families.iter().filter(|(_, stats)| stats.cells > 0 || stats.max_timestamp > 0);
        Self(indexed.map(|(id, stats)| (*id, Timestamp(stats.max_timestamp))).collect())
    }

    /// No cell of the family in the index has a greater timestamp; `None`: there is none.
    pub fn latest(&self, family: FamilyId) -> Option<Timestamp> {
        self.0.get(&family).copied()
    }
}

impl MemCell {
    pub fn new(value: ValueHandle, tags: &Tags, own: Option<(SegmentId, u64)>) -> Self {
        let tags = (*tags != Tags::default()).then(|| Box::new(tags.clone()));
        Self { value, tags, own }
    }

    /// Bytes of the entry that it points to.
    pub fn stored_bytes(&self) -> u64 {
        u64::from(self.value.head_len) + u64::from(self.value.stored_len)
    }

    /// As a row of the index, not flushed yet.
    pub fn to_row(&self) -> IndexRow {
        let tags = self.tags.as_deref().cloned().unwrap_or_default();
        IndexRow { value: self.value, generation: Generation(0), tags, own: self.own }
    }
}

impl Memtable {
    /// Adds a cell; one of the same key is replaced.
    pub fn insert(&self, key: Vec<u8>, cell: MemCell) {
        self.bytes.fetch_add(key.len() as u64 + OVERHEAD, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
        self.stored.fetch_add(own_entry_bytes(&key, &cell.to_row()), Ordering::Relaxed);
        if cell.own.is_some() {
            self.shares.lock().push(cell.value.segment);
        }
        self.cells.insert(key.into_boxed_slice(), cell);
    }

    /// Memory that it takes, about.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes of its cells' entries in the log.
    pub fn stored_bytes(&self) -> u64 {
        self.stored.load(Ordering::Relaxed)
    }

    pub fn len(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Segments into which shared values point, one for each.
    pub fn shares(&self) -> Vec<SegmentId> {
        self.shares.lock().clone()
    }

    /// Calls `each` for at most `limit` cells of `[from, to)`; how many there were.
    pub fn page(&self, from: &[u8], to: &[u8], limit: usize, each: &mut dyn FnMut(&[u8], &MemCell)) -> usize {
        if from >= to {
            return 0;
        }
        let range = self.cells.range::<[u8], _>((Bound::Included(from), Bound::Excluded(to)));
        range.take(limit).map(|entry| each(entry.key(), entry.value())).count()
    }

    /// The last key of `[from, to)`.
    pub fn last_key(&self, from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
        let entry = self.cells.upper_bound::<[u8]>(Bound::Excluded(to))?;
        (**entry.key() >= *from).then(|| entry.key().to_vec())
    }

    /// The cells up to a sequence number that are not in the index yet, in the order of their keys.
    pub fn unflushed(&self, upto: SeqNo) -> impl Iterator<Item = (Vec<u8>, IndexRow)> + '_ {
        let after = SeqNo(self.flushed.load(Ordering::Acquire));
        let wanted = move |key: &[u8]| seq_of(key).is_none_or(|seq| seq > after && seq <= upto);
        let unflushed = self.cells.iter().filter(move |entry| wanted(entry.key()));
        unflushed.map(|entry| (entry.key().to_vec(), entry.value().to_row()))
    }

    /// Cells up to a sequence number are in the index now.
    pub fn note_flushed(&self, upto: SeqNo) {
        self.flushed.fetch_max(upto.0, Ordering::AcqRel);
    }

    /// Sequence numbers that part what is not in the index yet into pieces of so many cells, or a batch; without the
    /// last.
    pub fn pieces(&self, cells: usize) -> Vec<SeqNo> {
        let after = SeqNo(self.flushed.load(Ordering::Acquire));
        let mut seqs: Vec<SeqNo> = self.cells.iter().filter_map(|entry| seq_of(entry.key())).collect();
        seqs.retain(|seq| *seq > after);
        seqs.sort_unstable();
        let mut pieces: Vec<SeqNo> = seqs.chunks(cells.max(1)).filter_map(|piece| piece.last().copied()).collect();
        pieces.dedup();
        pieces.pop();
        pieces
    }
}

fn seq_of(key: &[u8]) -> Option<SeqNo> {
    key::decode_suffix(key).map(|(.., seq)| seq)
}

impl Memtables {
    /// All of them, newest first.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(self.frozen.iter().rev().map(|f| &f.table))
    }
}
