//! What was written since the last flush, sorted, a map for each family.

mod key;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use self::key::{Keyed, MemKey, Sought};
use crate::env::sync::RwLock;
use crate::format::key::decode_suffix;
use crate::model::{FamilyId, SeqNo, Tags};

/// Memory of a cell besides its key and value: its place in the map, and three allocations.
const OVERHEAD: u64 = 136;

/// The value of a cell in memory.
#[derive(Clone, Debug)]
pub enum MemValue {
    Bytes(Arc<[u8]>),
    /// Of a value of so many bytes.
    Root {
        len: u64,
        bytes: Arc<[u8]>,
    },
}

impl MemValue {
    /// Bytes in memory.
    fn held(&self) -> usize {
        match self {
            Self::Bytes(bytes) | Self::Root { bytes, .. } => bytes.len(),
        }
    }
}

/// A cell without its key.
#[derive(Clone, Debug)]
pub struct MemCell {
    /// Most cells have none.
    pub tags: Option<Box<Tags>>,
    pub value: MemValue,
}

impl MemCell {
    /// Whether its value is lost.
    pub fn is_damaged(&self) -> bool {
        self.tags.as_ref().is_some_and(|tags| tags.is_damaged)
    }

    /// The value, if it is none of the large ones and the cell has no tags.
    pub fn bare_value(&self) -> Option<&[u8]> {
        match &self.value {
            MemValue::Bytes(bytes) if self.tags.is_none() => Some(bytes),
            MemValue::Bytes(_) | MemValue::Root { .. } => None,
        }
    }

    /// A cell with tags that are kept only if there are any.
    pub fn new(tags: &Tags, value: MemValue) -> Self {
        Self { tags: (*tags != Tags::default()).then(|| Box::new(tags.clone())), value }
    }
}

/// The cells of one family.
#[derive(Default)]
pub struct FamilyTable {
    cells: RwLock<BTreeMap<MemKey, MemCell>>,
}

impl FamilyTable {
    /// Calls `each` for at most `limit` cells of `[from, to)`; how many there were.
    pub fn page(&self, from: &[u8], to: Option<&[u8]>, limit: usize, each: &mut dyn FnMut(&[u8], &MemCell)) -> usize {
        if to.is_some_and(|to| from >= to) {
            return 0;
        }
        let (from, to) = (Sought::new(from), to.map(Sought::new));
        let cells = self.cells.read();
        cells
            .range::<dyn Keyed, _>(between(&from, to.as_ref()))
            .take(limit)
            .map(|(key, cell)| each(key.bytes(), cell))
            .count()
    }

    /// Cells.
    pub fn len(&self) -> u64 {
        self.cells.read().len() as u64
    }

    /// The cell with a key.
    pub fn get(&self, key: &[u8]) -> Option<MemCell> {
        self.cells.read().get(&Sought::new(key) as &dyn Keyed).cloned()
    }

    /// The last key of `[from, to)`.
    pub fn last_key(&self, from: &[u8], to: Option<&[u8]>) -> Option<Vec<u8>> {
        if to.is_some_and(|to| from >= to) {
            return None;
        }
        let (from, to) = (Sought::new(from), to.map(Sought::new));
        let cells = self.cells.read();
        cells.range::<dyn Keyed, _>(between(&from, to.as_ref())).next_back().map(|(key, _)| key.bytes().to_vec())
    }

    /// All cells in order; writers wait meanwhile.
    pub fn all<E>(&self, mut each: impl FnMut(&[u8], &MemCell) -> Result<(), E>) -> Result<(), E> {
        self.cells.read().iter().try_for_each(|(key, cell)| each(key.bytes(), cell))
    }
}

/// `[from, to)`.
fn between<'k>(from: &'k Sought<'_>, to: Option<&'k Sought<'_>>) -> (Bound<&'k dyn Keyed>, Bound<&'k dyn Keyed>) {
    (Bound::Included(from), to.map_or(Bound::Unbounded, |to| Bound::Excluded(to as &dyn Keyed)))
}

/// See the module.
#[derive(Default)]
pub struct Memtable {
    families: RwLock<FxHashMap<FamilyId, Arc<FamilyTable>>>,
    bytes: AtomicU64,
    count: AtomicU64,
}

/// A memtable that takes no more cells.
#[derive(Clone)]
pub struct Frozen {
    pub table: Arc<Memtable>,
    /// The last sequence number in it, or before it.
    pub last: SeqNo,
}

/// The memtables of a store; replaced as a whole.
#[derive(Clone, Default)]
pub struct Memtables {
    pub active: Arc<Memtable>,
    /// Oldest first.
    pub frozen: Vec<Frozen>,
}

impl Memtable {
    /// Adds a cell; one of the same key is replaced.
    pub fn insert(&self, family: FamilyId, key: Vec<u8>, cell: MemCell) {
        let table = self.family(family);
        let table = table.unwrap_or_else(|| Arc::clone(self.families.write().entry(family).or_default()));
        self.bytes.fetch_add(key.len() as u64 + cell.value.held() as u64 + OVERHEAD, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
        table.cells.write().insert(MemKey::new(key), cell);
    }

    /// The cells of a family.
    pub fn family(&self, family: FamilyId) -> Option<Arc<FamilyTable>> {
        self.families.read().get(&family).cloned()
    }

    /// The families that have cells, ascending.
    pub fn families(&self) -> Vec<(FamilyId, Arc<FamilyTable>)> {
        let mut all: Vec<_> = self.families.read().iter().map(|(id, table)| (*id, Arc::clone(table))).collect();
        all.sort_unstable_by_key(|(id, _)| id.0);
        all
    }

    /// Memory that it takes, about.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    pub fn len(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Memtables {
    /// All of them, newest first.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Memtable>> {
        std::iter::once(&self.active).chain(self.frozen.iter().rev().map(|frozen| &frozen.table))
    }

    /// The tables of a family, newest first.
    pub fn of(&self, family: FamilyId) -> impl Iterator<Item = Arc<FamilyTable>> + '_ {
        self.all().filter_map(move |table| table.family(family))
    }
}

/// The sequence number in a key.
pub fn seq_of(key: &[u8]) -> SeqNo {
    decode_suffix(key).map_or(SeqNo(0), |(.., seq)| seq)
}
