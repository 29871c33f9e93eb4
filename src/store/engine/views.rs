//! What reads are made of, as one: memtables, layout, and up to which number is seen.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use arc_swap::{ArcSwap, Guard};

use crate::env::sync::Mutex;
use crate::model::SeqNo;
use crate::store::cursor::view::ReadView;
use crate::store::layout::runs::Layout;
use crate::store::memory::memtable::{Frozen, Memtable, Memtables};

/// Memtables and layout of one moment.
#[derive(Clone, Default)]
pub struct Parts {
    pub tables: Arc<Memtables>,
    pub layout: Arc<Layout>,
}

/// See the module.
pub struct Views {
    /// Replaced with nothing written meanwhile.
    parts: ArcSwap<Parts>,
    read_point: AtomicU64,
    /// See [`ReadView::doubt`].
    doubt: Option<SeqNo>,
    /// Cells that reads have looked at since the store was opened.
    looks: Arc<AtomicU64>,
    /// Memtables that were flushed; reads may still see them.
    retired: Mutex<Vec<Weak<Memtable>>>,
}

impl Views {
    /// Of what is seen up to a number.
    pub fn new(parts: Parts, read_point: SeqNo, doubt: Option<SeqNo>) -> Self {
        Self {
            parts: ArcSwap::from_pointee(parts),
            read_point: AtomicU64::new(read_point.0),
            doubt,
            looks: Arc::default(),
            retired: Mutex::default(),
        }
    }

    /// What a read that starts now sees.
    pub fn open(&self) -> ReadView {
        let parts = self.parts.load();
        // Order: after the parts: what these lack was written after all that is in them.
        let read_point = SeqNo(self.read_point.load(Ordering::Acquire));
        let (tables, layout) = (Arc::clone(&parts.tables), Arc::clone(&parts.layout));
        ReadView { read_point, tables, layout, doubt: self.doubt, looks: Arc::clone(&self.looks) }
    }

    /// The parts of now, for a moment.
    pub fn now(&self) -> Guard<Arc<Parts>> {
        self.parts.load()
    }

    /// What was written up to a number is seen.
    pub fn reach(&self, seq: SeqNo) {
        self.read_point.store(seq.0, Ordering::Release);
    }

    /// Starts a new memtable if the present one has cells, of which `last` is the last. Nothing is written meanwhile.
    pub fn freeze(&self, last: SeqNo) {
        let parts = self.parts.load_full();
        if parts.tables.active.is_empty() {
            return;
        }
        let mut frozen = parts.tables.frozen.clone();
        frozen.push(Frozen { table: Arc::clone(&parts.tables.active), last });
        let tables = Arc::new(Memtables { active: Arc::new(Memtable::default()), frozen });
        self.parts.store(Arc::new(Parts { tables, layout: Arc::clone(&parts.layout) }));
    }

    /// Another layout, and other memtables with it, in one step. Nothing is written meanwhile.
    pub fn show(&self, layout: &Arc<Layout>, tables: impl FnOnce(&Memtables) -> Option<Memtables>) {
        let parts = self.parts.load_full();
        let tables = tables(&parts.tables).map_or_else(|| Arc::clone(&parts.tables), Arc::new);
        self.parts.store(Arc::new(Parts { tables, layout: Arc::clone(layout) }));
    }

    /// Reads from other memtables from now on.
    pub fn take_memory(&self, tables: Memtables) {
        let layout = Arc::clone(&self.parts.load().layout);
        self.parts.store(Arc::new(Parts { tables: Arc::new(tables), layout }));
    }

    /// A memtable was flushed.
    pub fn retire(&self, table: &Arc<Memtable>) {
        self.retired.lock().push(Arc::downgrade(table));
    }

    /// The flushed memtables that somebody still reads.
    pub fn retired(&self) -> Vec<Arc<Memtable>> {
        let mut retired = self.retired.lock();
        retired.retain(|table| table.strong_count() > 0);
        retired.iter().filter_map(Weak::upgrade).collect()
    }

    /// Cells that reads have looked at since the store was opened.
    pub fn looks(&self) -> u64 {
        self.looks.load(Ordering::Relaxed)
    }
}
