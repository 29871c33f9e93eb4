//! An open store: its parts, and what all operations ask of them.

pub mod background;
pub mod changes;
pub mod clock;
pub mod disk_room;
pub mod edits;
pub mod histories;
pub mod proving;
pub mod row_locks;
pub mod sizes;
pub mod tracks;
pub mod uploads;
pub mod values;
pub mod views;

use std::sync::Arc;

use crate::env::sync::Mutex;
use arc_swap::ArcSwap;

use self::background::backlog::Backlog;
use self::background::chores::Chores;
use self::background::hurry::Hurry;
use self::background::pace::Pace;
use self::background::signals::{SignalState, Signals};
use self::background::turns::Turns;
use self::changes::followers::Followers;
use self::changes::subscribers::Subscribers;
use self::clock::Clock;
use self::disk_room::DiskRoom;
use self::histories::Histories;
use self::proving::Proving;
use self::row_locks::{RowLocks, ValueLocks};
use self::sizes::Sizes;
use self::tracks::Tracks;
use self::uploads::Uploads;
use self::values::Values;
use self::views::Views;
use super::cursor::view::ReadView;
use super::cursor::walk::Cursor;
use super::health::damage::Met;
use super::health::progress::Progress;
use super::health::said::Said;
use super::layout::runs::Layout;
use super::layout::structure::Structure;
use super::memory::memtable::Memtables;
use super::options::StoreOptions;
use crate::backend::Versions;
use crate::blob::Blobs;
use crate::format::key;
use crate::log::Log;
use crate::model::{Catalogue, FamilyId, FamilySchema, TableName, TableSchema, TableState, Timestamp};
use crate::{Error, ErrorKind, Result};

/// See the module. Lock order: `values.judged`, turns (`index`), `proving`, turns (`snapshot`, `alter`, `declare`), row locks, `unique`,
/// `backlog`, turns (`flush`, `compact`), `disk.restoring`, the structure's, the log's; leaves: those within the other parts.
pub struct Engine {
    pub options: StoreOptions,
    pub hash_key: [u8; 16],
    pub log: Log,
    pub values: Values,
    /// Of the store that a snapshot is of, for that too.
    pub structure: Arc<Structure>,
    pub progress: Arc<Progress>,
    pub catalogue: ArcSwap<Catalogue>,
    pub views: Views,
    pub tracks: Tracks,
    pub histories: Histories,
    pub row_locks: RowLocks,
    pub unique: ValueLocks,
    pub proving: Proving,
    pub turns: Turns,
    pub hurry: Hurry,
    pub backlog: Backlog,
    pub chores: Chores<Engine>,
    pub signals: Signals,
    pub clock: Clock,
    pub met: Arc<Met>,
    pub said: Said,
    pub disk: DiskRoom,
    pub subscribers: Subscribers,
    pub followers: Followers,
    pub uploads: Uploads,
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
    pub views: Views,
    /// None where nothing is written.
    pub row_locks: RowLocks,
    pub unique: ValueLocks,
    pub chores: Chores<Engine>,
    pub state: SignalState,
    pub clock: Clock,
}

impl Engine {
    /// Nothing goes on yet, and nobody is told.
    pub fn new(given: Given) -> Self {
        let engine = Self {
            options: given.options,
            hash_key: given.hash_key,
            log: given.log,
            values: Values::new(given.blobs),
            structure: given.structure,
            progress: given.progress,
            catalogue: ArcSwap::new(given.catalogue),
            views: given.views,
            tracks: Tracks::default(),
            histories: Histories::default(),
            row_locks: given.row_locks,
            unique: given.unique,
            proving: Proving::default(),
            turns: Turns::default(),
            hurry: Hurry::default(),
            backlog: Backlog::default(),
            chores: given.chores,
            signals: Signals { state: Mutex::new(given.state), ..Signals::default() },
            clock: given.clock,
            met: given.met,
            said: Said::default(),
            disk: DiskRoom::new(given.sizes),
            subscribers: Subscribers::default(),
            followers: Followers::default(),
            uploads: Uploads::default(),
        };
        engine.tracks.take_runs(&engine.layout());
        engine.tracks.take_memory(&engine.tables());
        engine
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
    pub fn view(&self) -> ReadView {
        self.views.open()
    }

    /// The memtables of now.
    pub fn tables(&self) -> Arc<Memtables> {
        Arc::clone(&self.views.now().tables)
    }

    /// What is flushed now.
    pub fn layout(&self) -> Arc<Layout> {
        Arc::clone(&self.views.now().layout)
    }

    /// A cursor over the row of a family.
    pub fn row_cursor(&self, view: &ReadView, family: FamilyId, prefix: &[u8], first: usize) -> Result<Cursor> {
        Cursor::new(view, family, prefix, key::prefix_end(prefix), first)
    }

    /// Another layout, and other memtables with it, in one step.
    pub fn show(&self, layout: &Arc<Layout>, tables: impl FnOnce(&Memtables) -> Option<Memtables>) {
        self.log.pause(|| self.views.show(layout, tables));
    }

    /// Reads from other memtables from now on.
    pub fn take_memory(&self, tables: Memtables) {
        self.tracks.take_memory(&tables);
        self.views.take_memory(tables);
    }

    /// Changes what the background threads look at and wakes them.
    pub fn wake(&self, change: impl FnOnce(&mut SignalState)) {
        change(&mut self.signals.state.lock());
        self.signals.changed.notify_all();
    }

    /// For long work, between its steps. `Overtaken` once the store is closed.
    pub fn go_on(&self) -> Result<()> {
        self.log.check_poison()?;
        match self.signals.state.lock().stop {
            true => Err(Error::new(ErrorKind::Overtaken, "the store is closed")),
            false => Ok(()),
        }
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
