//! What was written since the last flush, sorted, a set of cells for each family.

mod cell;

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use self::cell::{Keyed, Sought};
pub use self::cell::{MemCell, count_before};
use crate::env::sync::RwLock;
use crate::format::key::{SUFFIX, decode_suffix, prefix_end, row_prefix_len};
use crate::model::{CellKind, FamilyId, SeqNo, Timestamp};

/// Memory of a cell besides its key and value: its place in the set, and one allocation.
const OVERHEAD: u64 = 88;
/// Cells that are touched before they are shown: what is in no cache of the processor is fetched at once, not one by one.
const TOUCHED: usize = 32;

/// The cells of one family.
#[derive(Default)]
pub struct FamilyTable {
    cells: RwLock<BTreeSet<MemCell>>,
}

impl FamilyTable {
    /// Calls `each` for at most `limit` cells of `[from, to)`; how many there were.
    pub fn page(&self, from: &[u8], to: Option<&[u8]>, limit: usize, each: &mut dyn FnMut(&MemCell)) -> usize {
        if to.is_some_and(|to| from >= to) {
            return 0;
        }
        let (from, to) = (Sought::new(from), to.map(Sought::new));
        let cells = self.cells.read();
        cells.range::<dyn Keyed, _>(between(&from, to.as_ref())).take(limit).map(each).count()
    }

    /// As [`FamilyTable::page`], of each row the first cell that is `wanted`; the last key that was looked at, if there may be
    /// more.
    pub fn first_of_rows(
        &self,
        (from, to): (&[u8], &[u8]),
        limit: usize,
        wanted: impl Fn(&MemCell) -> bool,
        mut each: impl FnMut(&MemCell),
    ) -> Option<Vec<u8>> {
        if from >= to {
            return None;
        }
        let (from, to) = (Sought::new(from), Sought::new(to));
        let cells = self.cells.read();
        let range = cells.range::<dyn Keyed, _>(between(&from, Some(&to)));
        // Nothing is looked at yet that lies elsewhere.
        let found: Vec<&MemCell> = range.take(limit).collect();
        let (mut rest, mut guess) = (found.as_slice(), 0);
        while let Some((first, behind)) = rest.split_first() {
            rest = behind;
            if wanted(first) {
                each(first);
                guess = more_of_row(first, rest, guess);
                rest = &rest[guess..];
            }
        }
        found.last().filter(|_| found.len() == limit).map(|last| last.key().to_vec())
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
        cells.range::<dyn Keyed, _>(between(&from, to.as_ref())).next_back().map(|cell| cell.key().to_vec())
    }

    /// All cells in order; writers wait meanwhile.
    pub fn all<E>(&self, mut each: impl FnMut(&MemCell) -> Result<(), E>) -> Result<(), E> {
        let cells = self.cells.read();
        let mut rest = cells.iter();
        let mut some = Vec::with_capacity(TOUCHED);
        loop {
            some.extend(rest.by_ref().take(TOUCHED));
            if some.is_empty() {
                return Ok(());
            }
            std::hint::black_box(some.iter().fold(0, |sum, cell| sum ^ cell.touch()));
            some.drain(..).try_for_each(&mut each)?;
        }
    }
}

/// How many of these cells, which follow, are of the row of this one; mostly as many as in the row before, which two looks tell.
fn more_of_row(first: &MemCell, cells: &[&MemCell], guess: usize) -> usize {
    let row = row_prefix_len(first.key()).and_then(|len| first.key().get(..len)).unwrap_or(first.key());
    let is_more = |cell: &&MemCell| cell.key().starts_with(row);
    let is_last = guess == 0 || cells.get(guess - 1).is_some_and(is_more);
    if is_last && !cells.get(guess).is_some_and(is_more) { guess } else { cells.partition_point(is_more) }
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
    pub fn insert(&self, family: FamilyId, cell: MemCell) {
        self.bytes.fetch_add(cell.held() as u64 + OVERHEAD, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
        if let Some(table) = self.families.read().get(&family) {
            table.cells.write().replace(cell);
            return;
        }
        let table = Arc::clone(self.families.write().entry(family).or_default());
        table.cells.write().replace(cell);
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

    /// Whether the latest cell that these have of the column of a put's key is a put of the same timestamp.
    pub fn has_first(&self, family: FamilyId, put: &[u8]) -> bool {
        let column = &put[..put.len() - SUFFIX];
        let mut first: Option<(Timestamp, CellKind)> = None;
        for table in self.of(family) {
            table.page(column, Some(&prefix_end(column)), 1, &mut |cell| {
                let found = decode_suffix(cell.key()).map(|(timestamp, kind, _)| (timestamp, kind));
                // Of two of one timestamp that decides which covers the other.
                if found.is_some_and(|found| {
                    first.is_none_or(|first| found.0 > first.0 || found.0 == first.0 && !found.1.is_put())
                }) {
                    first = found;
                }
            });
        }
        decode_suffix(put).is_some_and(|(timestamp, ..)| first == Some((timestamp, CellKind::Put)))
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
