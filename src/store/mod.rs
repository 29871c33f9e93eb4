//! The embedded store on sorted segments: log, memtable, journal, segments and blobs as one
//! [`crate::backend::Backend`].
//!
//! Must not know of mounts, printing or SQLite.

mod apply;
mod attribute_times;
mod batch;
mod blob_names;
mod boot;
mod bring_back;
mod bulk_load;
mod catalogue;
mod changed;
mod check;
mod collect;
mod columns;
mod compact;
mod complete;
mod count;
mod cursor;
mod damage;
mod draft;
mod draw;
mod dropped;
mod engine;
mod expire;
mod feed;
mod flush;
mod gathered;
mod give_back;
mod history;
mod identity;
mod judged;
mod layout;
mod lean;
mod lock;
mod lookup;
mod lost;
mod many;
mod memtable;
mod merge;
mod merge_room;
mod open;
mod pace;
mod plain;
mod plan;
mod policy;
mod prefetch;
mod progress;
mod purge_deleted;
mod read;
mod reading;
mod recent;
mod reckon;
mod recover;
mod relocate;
mod rename;
mod rescue;
mod reserve;
mod restore;
mod room;
mod scan;
mod secondary;
mod serve;
mod snapshots;
mod stats;
mod structure;
mod system;
mod twofold;
mod values;
mod worker;
mod write_again;
mod writing;

#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::env::sync::Mutex;
use arc_swap::ArcSwap;
use lru::LruCache;

use crate::env::{Env, LockGuard, RealEnv};
use crate::model::{Catalogue, CheckEvent, CheckSummary, Durability};
use crate::{Error, ErrorKind, Result};

pub use check::Repaired;
pub use reading::NoChanges;

use engine::Engine;
use system::System;
use worker::Workers;

/// Whether the store flushes, syncs and compacts by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    /// Threads do it.
    On,
    /// Only when asked, or when the memtable is full.
    Off,
}

/// What opening a store comes to on a disk that has not even room for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFullDisk {
    /// An error.
    Refuse,
    /// It is read as it is.
    Read,
}

/// A rule that a store breaks: the negative control of the simulation, which must notice.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A file counts as garbage that only a snapshot has.
    ForgetsSnapshots,
    /// The log goes before the edit is made that covers it.
    FreesLogFirst,
    /// A change of the catalogue whose outcome is not known goes unsaid.
    ForgetsUnknown,
    /// Writes go on under a name that has gone to another table.
    WritesUndeclared,
    /// A snapshot does not wait for a change of the catalogue, nor that for it.
    SnapshotsBesideChanges,
    /// Puts write no entries of secondary indexes.
    WritesNoEntries,
    /// A compaction drops entries of values that are stored.
    DropsEntries,
    /// Runs leave before what is in them has expired.
    ExpiresEarly,
    /// Reads of a family with a TTL go by a clock that is late.
    ShowsExpired,
}

/// How a store is opened.
#[derive(Clone)]
pub struct StoreOptions {
    pub path: PathBuf,
    pub env: Arc<dyn Env>,
    /// Longest value, in bytes; `None`: what the store's settings say.
    pub value_limit: Option<u64>,
    /// The memtable is flushed when it reaches this size.
    pub memtable_bytes: u64,
    /// A segment that has so many bytes is ended; a compaction goes in slices of so many.
    pub segment_bytes: u64,
    /// SYNC_WAL and ASYNC_WAL writes are on the disk after at most this time.
    pub sync_interval: Duration,
    /// Memory for blocks, their indexes and filters.
    pub reader_cache_bytes: u64,
    pub background: Background,
    /// Percent of the time in which the background may compact while nobody waits for it.
    pub background_share: u32,
    pub on_full_disk: OnFullDisk,
    /// How many records the recovery has read; others watch it.
    pub recovered: Arc<AtomicU64>,
    /// For writes to tables without DURABILITY.
    pub durability: Durability,
    #[cfg(test)]
    pub broken: Option<Broken>,
}

impl StoreOptions {
    /// The defaults for a store in `path` on the real machine.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            env: Arc::new(RealEnv::default()),
            value_limit: None,
            memtable_bytes: 32 << 20,
            segment_bytes: 256 << 20,
            sync_interval: Duration::from_secs(1),
            reader_cache_bytes: 32 << 20,
            background: Background::On,
            background_share: 50,
            on_full_disk: OnFullDisk::Refuse,
            recovered: Arc::default(),
            durability: Durability::SyncWal,
            #[cfg(test)]
            broken: None,
        }
    }
}

/// An open store; see [`crate::backend::Backend`] for what it does.
pub struct Store {
    engine: Arc<Engine>,
    workers: Workers,
    /// Snapshots that were read last, opened; their number is bounded.
    kept: Mutex<LruCache<String, Arc<Store>>>,
    access: Access,
    system: System,
    /// A catalogue, and whether changes of some table of it wait for the disk.
    durable: ArcSwap<(Arc<Catalogue>, bool)>,
    /// Order: dropped last, after everything that writes.
    _lock: Option<Box<dyn LockGuard>>,
}

/// What a store lets its users do.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Access {
    Full,
    /// Reads: it is what the snapshot of this name holds.
    Snapshot(String),
    /// Reads: where it is nothing can be changed.
    Reading(NoChanges),
}

/// Bytes in memory that are flushed when a store is closed.
const FLUSHED_AT_END: u64 = 256 << 10;
/// Snapshots that stay open.
const KEPT_OPEN: NonZeroUsize = NonZeroUsize::MIN.saturating_add(3);

impl Store {
    /// Opens the store, makes it if the directory is absent or empty, and recovers it if needed.
    ///
    /// On a filesystem that takes no changes it is opened for reading; what a recovery makes then stays in memory. On a
    /// disk that has not even room for opening it, that is so as the options say.
    pub fn open(options: StoreOptions) -> Result<Self> {
        if let Some(env) = reading::over_read_only(&options.env, &options.path)? {
            return Self::open_reading(options, env, NoChanges::ReadOnly);
        }
        let reads = options.on_full_disk == OnFullDisk::Read && Self::exists(&options.path);
        let over = options.env.in_memory_over().filter(|_| reads);
        if let Some(env) = &over
            && reserve::is_used_up(&*options.env, &options.path)
        {
            return Self::open_reading(options, Arc::clone(env), NoChanges::FullDisk);
        }
        match open::open(options.clone()) {
            Ok((engine, lock)) => {
                let engine = Arc::new(engine);
                engine.begin_reserve();
                Ok(Self::with(engine, Access::Full, Some(lock)))
            }
            Err(e) if e.kind != ErrorKind::NoSpace => Err(e),
            Err(e) => match over {
                Some(env) => Self::open_reading(options, env, NoChanges::FullDisk),
                None => Err(reading::no_room(&e, &options.path)),
            },
        }
    }

    /// Opens it to be read, every change in memory.
    fn open_reading(mut options: StoreOptions, env: Arc<dyn Env>, why: NoChanges) -> Result<Self> {
        (options.env, options.background) = (env, Background::Off);
        let (engine, lock) = open::open(options)?;
        engine.signals.state.lock().activity = why.activity().to_owned();
        Ok(Self::with(Arc::new(engine), Access::Reading(why), Some(lock)))
    }

    fn with(engine: Arc<Engine>, access: Access, lock: Option<Box<dyn LockGuard>>) -> Self {
        let workers = Workers::start(&engine);
        // Of no store: the first question fills it.
        let durable = ArcSwap::from_pointee((Arc::default(), true));
        let system = System::new(&engine);
        Self { engine, workers, system, kept: Mutex::new(LruCache::new(KEPT_OPEN)), access, durable, _lock: lock }
    }

    /// The store as a snapshot holds it.
    fn kept(&self, name: &str) -> Result<Arc<Self>> {
        let mut kept = self.kept.lock();
        if let Some(store) = kept.get(name) {
            return Ok(Arc::clone(store));
        }
        let engine = self.engine.open_kept(name)?;
        let store = Arc::new(Self::with(engine, Access::Snapshot(name.to_owned()), None));
        kept.put(name.to_owned(), Arc::clone(&store));
        Ok(store)
    }

    /// The engine, for a change.
    fn changeable(&self) -> Result<&Engine> {
        match &self.access {
            Access::Full => Ok(&self.engine),
            Access::Snapshot(name) => {
                let text = format!("snapshot {name} is read-only; `cellfs snapshot restore` brings its tables back");
                Err(Error::new(ErrorKind::ReadOnlyStore, text))
            }
            Access::Reading(why) => Err(why.refusal(&self.engine.options.path)),
        }
    }

    /// Refuses a path that is neither a store nor an empty or absent directory; leaves nothing there.
    pub fn admit(directory: &Path) -> Result<()> {
        identity::admit(&RealEnv::default(), directory)
    }

    /// Whether a directory holds a store.
    pub fn exists(directory: &Path) -> bool {
        identity::is_present(directory)
    }

    /// Makes what a daemon needs in a store's directory: with what is reserved there if there is no other room.
    pub fn with_reserve_of<T>(directory: &Path, make: impl FnMut() -> Result<T>) -> Result<T> {
        reserve::use_up(&RealEnv::default(), directory, make)
    }

    /// Removes a store in which nothing was ever declared, directory and all. Kind `NotEmpty` if something was, `Locked`
    /// while a process has it.
    pub fn remove_unused(directory: &Path) -> Result<()> {
        let env = RealEnv::default();
        let _lock = lock::take(&env, directory)?;
        if open::was_used(&env, directory)? {
            let text = format!("the store {} was used", directory.display());
            return Err(Error::new(ErrorKind::NotEmpty, text));
        }
        env.remove_tree(directory).map_err(|e| Error::io(format!("remove {}", directory.display()), &e))
    }

    /// Checks a store that nobody has open, and changes nothing.
    pub fn check(directory: &Path, tell: &mut dyn FnMut(CheckEvent) -> Result<()>) -> Result<CheckSummary> {
        let env: Arc<dyn Env> = Arc::new(RealEnv::default());
        let env = reading::over_read_only(&env, directory)?.unwrap_or(env);
        check::check(&env, directory, tell)
    }

    /// Checks a store that nobody has open, and mends what can be mended.
    pub fn repair(options: StoreOptions, tell: &mut dyn FnMut(CheckEvent) -> Result<()>) -> Result<Repaired> {
        if reading::over_read_only(&options.env, &options.path)?.is_some() {
            return Err(NoChanges::ReadOnly.refusal(&options.path));
        }
        check::repair(options, tell)
    }

    /// Stops the threads and makes everything durable.
    pub fn close(mut self) -> Result<()> {
        self.workers.stop();
        self.finish()
    }

    /// Leaves the next open little to look through, and makes everything durable; who still has the store may go on.
    pub fn finish(&self) -> Result<()> {
        if self.access == Access::Full && self.engine.log.poison().is_none() {
            self.flush_at_end();
            self.seal_at_end()?;
            self.engine.log.drop_spare();
        }
        self.engine.sync_log()
    }

    /// The file of large values that is written gets its table; without one, as on a full disk, it is read through by the
    /// next open. What has to be on the disk is synced all the same.
    fn seal_at_end(&self) -> Result<()> {
        match self.engine.with_reserve(|| self.engine.values.blobs.seal()) {
            Err(e) if e.kind != ErrorKind::Poisoned => {
                log::warn!("at the end: {e}; the next open reads through it");
                Ok(())
            }
            done => done,
        }
    }

    /// What is in memory becomes extents if it is worth a file, whoever wrote it: what a process left that was killed
    /// would be replayed by each open.
    fn flush_at_end(&self) {
        let held: u64 = self.engine.tables().all().map(|table| table.bytes()).sum();
        if held < FLUSHED_AT_END {
            return;
        }
        if let Err(e) = self.engine.flush() {
            log::warn!("flush at the end: {e}; the log has it all");
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.workers.stop();
        if self.access != Access::Full {
            return;
        }
        if self.engine.log.poison().is_none() && !std::thread::panicking() {
            self.flush_at_end();
        }
        // Without `close` nobody waits for the answer.
        if let Err(e) = self.engine.sync_log() {
            log::error!("the last sync of the store: {e}");
        }
    }
}
