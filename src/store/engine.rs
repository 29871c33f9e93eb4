//! An open store: its parts, and what all operations share: what a read sees, room for a write, the next memtable.

pub mod clock;
pub mod disk_room;
pub mod followers;
pub mod hurry;
pub mod pace;
pub mod proving;
pub mod row_locks;
pub mod signals;
pub mod sizes;
pub mod subscribers;
pub mod tracks;
pub mod values;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::env::sync::{Condvar, Mutex, RwLock};
use arc_swap::ArcSwap;

use self::clock::Clock;
use self::disk_room::DiskRoom;
use self::followers::Followers;
use self::hurry::Hurry;
use self::pace::Pace;
use self::proving::Proving;
use self::row_locks::RowLocks;
use self::signals::{SignalState, Signals};
use self::sizes::Sizes;
use self::subscribers::Subscribers;
use self::tracks::Tracks;
use self::values::Values;
use super::cursor::snapshot::Snapshot;
use super::cursor::walk::Cursor;
use super::health::damage::Met;
use super::health::progress::Progress;
use super::layout::runs::Layout;
use super::layout::structure::Structure;
use super::memory::memtable::{Frozen, Memtable, Memtables};
use super::options::{Background, StoreOptions};
use crate::backend::Versions;
use crate::blob::Blobs;
use crate::format::key;
use crate::log::Log;
use crate::model::{Catalogue, FamilyId, FamilySchema, SeqNo, TableName, TableSchema, TableState, Timestamp};
use crate::{Error, ErrorKind, Result};

/// Frozen memtables at most; past it writers wait for the flush.
const FROZEN: usize = 2;

/// What reads are made of, as one.
#[derive(Clone, Default)]
pub struct Parts {
    pub tables: Arc<Memtables>,
    pub layout: Arc<Layout>,
}

/// See the module. Lock order: `values.judged`, `indexing`, `proving`, `snapshotting`, `altering`, `declaring`, row locks, `unique`,
/// `room`, `flushing`, `compacting`, `disk.restoring`, the structure's, the log's; leaves: those within the other parts.
pub struct Engine {
    pub options: StoreOptions,
    pub hash_key: [u8; 16],
    pub log: Log,
    pub values: Values,
    /// Of the store that a snapshot is of, for that too.
    pub structure: Arc<Structure>,
    pub progress: Arc<Progress>,
    pub catalogue: ArcSwap<Catalogue>,
    /// Held during a change of the catalogue.
    pub altering: Mutex<()>,
    /// Held, shared, from the look at the catalogue to the commit: what is declared does not change in between.
    pub declaring: RwLock<()>,
    /// Replaced with nothing written meanwhile.
    pub parts: ArcSwap<Parts>,
    /// See [`Snapshot::doubt`].
    pub doubt: Option<SeqNo>,
    pub read_point: AtomicU64,
    /// Cells that reads have looked at since the store was opened.
    pub looks: Arc<AtomicU64>,
    pub tracks: Tracks,
    pub row_locks: RowLocks,
    /// Of values that are to be unique; they share them by hash.
    pub unique: Vec<Mutex<()>>,
    pub proving: Proving,
    /// Held by the one who builds secondary indexes.
    pub indexing: Mutex<()>,
    /// Held by the one who flushes.
    pub flushing: Mutex<()>,
    /// Held by the one who compacts.
    pub compacting: Mutex<()>,
    pub hurry: Hurry,
    /// Writers wait here while too much is frozen.
    pub room: Mutex<()>,
    pub room_made: Condvar,
    pub signals: Signals,
    pub clock: Clock,
    pub met: Arc<Met>,
    pub disk: DiskRoom,
    pub subscribers: Subscribers,
    pub followers: Followers,
    /// Bytes that drafts hold which are in no chunk yet.
    pub drafted: AtomicU64,
    /// Bulk loads that are open.
    pub loading: AtomicU64,
    /// Held while a snapshot is made or deleted.
    pub snapshotting: Mutex<()>,
    /// Memtables that were flushed; views may still read them.
    pub retired: Mutex<Vec<std::sync::Weak<Memtable>>>,
    /// The last number that was written, and since when.
    pub idle: Mutex<Option<(SeqNo, crate::env::sync::Instant)>>,
}

/// What an engine is made of.
pub struct Given {
    pub options: StoreOptions,
    pub hash_key: [u8; 16],
    pub log: Log,
    pub blobs: Arc<Blobs>,
    pub structure: Arc<Structure>,
    pub progress: Arc<Progress>,
    pub met: Arc<Met>,
    pub sizes: Sizes,
    pub catalogue: Arc<Catalogue>,
    pub parts: Parts,
    /// See [`Snapshot::doubt`].
    pub doubt: Option<SeqNo>,
    /// The last number that is seen.
    pub read_point: SeqNo,
    /// None where nothing is written.
    pub row_locks: RowLocks,
    pub unique: Vec<Mutex<()>>,
    pub state: SignalState,
    pub clock: Clock,
}

impl Engine {
    /// Nothing goes on yet, and nobody is told.
    pub fn new(given: Given) -> Self {
        Self {
            options: given.options,
            hash_key: given.hash_key,
            log: given.log,
            values: Values::new(given.blobs),
            structure: given.structure,
            progress: given.progress,
            catalogue: ArcSwap::new(given.catalogue),
            altering: Mutex::new(()),
            declaring: RwLock::new(()),
            parts: ArcSwap::from_pointee(given.parts),
            doubt: given.doubt,
            read_point: AtomicU64::new(given.read_point.0),
            looks: Arc::default(),
            tracks: Tracks::default(),
            row_locks: given.row_locks,
            unique: given.unique,
            proving: Proving::default(),
            indexing: Mutex::new(()),
            flushing: Mutex::new(()),
            compacting: Mutex::new(()),
            hurry: Hurry::default(),
            room: Mutex::new(()),
            room_made: Condvar::new(),
            signals: Signals { state: Mutex::new(given.state), ..Signals::default() },
            clock: given.clock,
            met: given.met,
            disk: DiskRoom::new(given.sizes),
            subscribers: Subscribers::default(),
            followers: Followers::default(),
            drafted: AtomicU64::new(0),
            loading: AtomicU64::new(0),
            snapshotting: Mutex::new(()),
            retired: Mutex::default(),
            idle: Mutex::default(),
        }
    }

    /// The pace of work that somebody waits for.
    pub fn full_pace(&self) -> Pace<'_> {
        Pace::new(&self.signals, &self.hurry, 100)
    }

    /// The pace of work in the background, as the store's options say.
    pub fn background_pace(&self) -> Pace<'_> {
        Pace::new(&self.signals, &self.hurry, self.options.background_share)
    }

    /// Whether a rule is broken on purpose.
    #[cfg(test)]
    pub fn breaks(&self, rule: super::options::Broken) -> bool {
        self.options.broken == Some(rule)
    }

    /// Longest value that is taken, bytes: an option of this opening, else what the store's settings say.
    pub fn value_limit(&self) -> u64 {
        self.options.value_limit.unwrap_or_else(|| self.catalogue.load().settings.value_limit())
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now(&*self.options.env)
    }

    /// Notes damage that a read has met, and passes it on.
    pub fn noted<T>(&self, read: Result<T>) -> Result<T> {
        read.inspect_err(|e| self.met.note(e))
    }

    /// What a read that starts now sees.
    pub fn snapshot(&self) -> Snapshot {
        let parts = self.parts.load();
        // Order: after the parts: what these lack was written after all that is in them.
        let read_point = SeqNo(self.read_point.load(Ordering::Acquire));
        let (tables, layout) = (Arc::clone(&parts.tables), Arc::clone(&parts.layout));
        Snapshot { read_point, tables, layout, doubt: self.doubt, looks: Arc::clone(&self.looks) }
    }

    /// The memtables of now.
    pub fn tables(&self) -> Arc<Memtables> {
        Arc::clone(&self.parts.load().tables)
    }

    /// What is flushed now.
    pub fn layout(&self) -> Arc<Layout> {
        Arc::clone(&self.parts.load().layout)
    }

    /// A cursor over the row of a family.
    pub fn row_cursor(&self, snapshot: &Snapshot, family: FamilyId, prefix: &[u8], first: usize) -> Result<Cursor> {
        Cursor::new(snapshot, family, prefix, key::prefix_end(prefix), first)
    }

    /// Waits until disk and memtable have room; `takes_room`: what is to be written is no delete.
    pub fn make_room(&self, takes_room: bool) -> Result<()> {
        self.await_room(takes_room);
        if self.parts.load().tables.active.bytes() < self.options.memtable_bytes {
            return Ok(());
        }
        let mut room = self.room.lock();
        while self.tables().frozen.len() >= FROZEN {
            if self.options.background == Background::Off {
                drop(room);
                self.flush_frozen()?;
                room = self.room.lock();
                continue;
            }
            self.log.check_poison()?;
            self.check_deletes()?;
            let failed = self.signals.state.lock().flush_failed.clone();
            if let Some(e) = failed.filter(|e| e.kind != ErrorKind::NoSpace) {
                return Err(e.context("what was written before cannot be flushed"));
            }
            self.wake(|state| state.flush = true);
            self.room_made.wait_for(&mut room, std::time::Duration::from_millis(100));
        }
        if self.tables().active.bytes() >= self.options.memtable_bytes {
            self.freeze()?;
            self.wake(|state| state.flush = true);
        }
        drop(room);
        if self.options.background == Background::Off { self.flush_frozen() } else { Ok(()) }
    }

    /// Starts a new memtable and a new file of the log, if the present one has cells.
    pub fn freeze(&self) -> Result<()> {
        if self.tables().active.is_empty() {
            return Ok(());
        }
        // It begins the flush that makes room.
        let frozen = self.with_reserve(|| {
            loop {
                if self.log.needs_spare() {
                    self.log.make_spare(self.structure.next_number()?)?;
                }
                let edit = self.layout().state.edit;
                if self.log.roll(edit, |last| self.freeze_at(last))?.is_some() {
                    return Ok(());
                }
            }
        });
        frozen.map_err(|e| self.told_full(e))
    }

    /// Nothing is written meanwhile.
    fn freeze_at(&self, last: SeqNo) {
        let parts = self.parts.load_full();
        if parts.tables.active.is_empty() {
            return;
        }
        let mut frozen = parts.tables.frozen.clone();
        frozen.push(Frozen { table: Arc::clone(&parts.tables.active), last });
        let tables = Arc::new(Memtables { active: Arc::new(Memtable::default()), frozen });
        self.parts.store(Arc::new(Parts { tables, layout: Arc::clone(&parts.layout) }));
    }

    /// Another layout, and other memtables with it, in one step.
    pub fn show(&self, layout: &Arc<Layout>, tables: impl FnOnce(&Memtables) -> Option<Memtables>) {
        self.log.pause(|| {
            let parts = self.parts.load_full();
            let tables = tables(&parts.tables).map_or_else(|| Arc::clone(&parts.tables), Arc::new);
            self.parts.store(Arc::new(Parts { tables, layout: Arc::clone(layout) }));
        });
    }

    /// Changes what the background threads look at and wakes them.
    pub fn wake(&self, change: impl FnOnce(&mut SignalState)) {
        change(&mut self.signals.state.lock());
        self.signals.changed.notify_all();
    }

    /// Whether the cells are still stored that a table had.
    pub fn is_stored(&self, before: &Arc<Catalogue>, table: &TableName) -> bool {
        let now = self.catalogue.load();
        let Some(had) = before.tables.get(table).filter(|_| !Arc::ptr_eq(before, &now)) else { return true };
        let is_there = |id: FamilyId| now.stored_families().any(|family| family.id == id);
        had.stored_families().all(|family| is_there(family.id))
    }

    /// A table of which these versions may be read: what a backup takes, what is disabled is in it too.
    pub fn table_for<'c>(
        &self,
        catalogue: &'c Catalogue,
        name: &TableName,
        which: Versions,
    ) -> Result<&'c TableSchema> {
        match which {
            Versions::LiveAndKept => known_table(catalogue, name),
            Versions::Live => self.table(catalogue, name),
        }
    }

    /// A table that takes reads.
    pub fn table<'c>(&self, catalogue: &'c Catalogue, name: &TableName) -> Result<&'c TableSchema> {
        let table = known_table(catalogue, name)?;
        // A snapshot is for backups, which take what is disabled too.
        if table.state == TableState::Disabled && self.clock.stopped_at().is_none() {
            let text = format!("table {name} is disabled. Enable it first: enable '{name}'");
            return Err(Error::new(ErrorKind::TableDisabled, text));
        }
        Ok(table)
    }
}

/// A declared table.
pub fn known_table<'c>(catalogue: &'c Catalogue, name: &TableName) -> Result<&'c TableSchema> {
    catalogue.tables.get(name).ok_or_else(|| {
        if !catalogue.namespaces.contains_key(&*name.namespace) {
            return Error::new(ErrorKind::NoSuchNamespace, format!("namespace {} does not exist", name.namespace));
        }
        Error::new(ErrorKind::NoSuchTable, format!("table {name} does not exist"))
    })
}

/// A declared family.
pub fn family<'c>(table: &'c TableSchema, name: &str) -> Result<&'c FamilySchema> {
    table.families.get(name).ok_or_else(|| {
        let text = format!(
            "Column family {name} does not exist in table {}. Declare it: alter '{}', {{NAME => '{name}'}}, or make the \
             directory .schema/{name} of the table",
            table.name, table.name
        );
        Error::new(ErrorKind::NoSuchFamily, text)
    })
}
