//! The embedded store: the log, the memtable and the index as one [`crate::backend::Backend`].
//!
//! Must not know of mounts, printing or SQLite.

mod apply;
mod attribute_times;
mod carry;
mod catalogue;
mod changed;
mod check;
mod clone;
mod compact;
mod cursor;
mod damage;
mod doomed;
mod dropped;
mod engine;
mod expire;
mod flush;
mod history;
mod identity;
mod lock;
mod lost;
mod memtable;
mod moved;
mod open;
mod pace;
mod page;
mod plan;
mod policy;
mod purge;
mod purge_deleted;
mod read;
mod reads;
mod rebuild;
mod recent;
mod recovery;
mod relocate;
mod rename;
mod repeated;
mod reserve;
mod restore;
mod room;
mod scan;
mod serve;
mod settle;
mod snapshots;
mod staged;
mod stats;
mod sweep;
mod tail;
mod twofold;
mod worker;

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

use engine::Engine;
use worker::Workers;

/// Whether the store flushes, syncs and compacts by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    /// Threads do it.
    On,
    /// Only when asked, or when the memtable is full.
    Off,
}

/// A rule that a store breaks: the negative control of the simulation, which must notice.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A compaction takes segments that are being filled.
    TakesFilling,
    /// A change of the catalogue whose outcome is not known goes unsaid.
    ForgetsUnknown,
    /// A check looks at segments whose cells are not indexed yet.
    ChecksFilling,
    /// Writes go on under a name that has gone to another table.
    WritesUndeclared,
    /// A snapshot links what is written after its moment.
    LinksLater,
}

/// How a store is opened.
#[derive(Clone)]
pub struct StoreOptions {
    pub path: PathBuf,
    pub env: Arc<dyn Env>,
    /// Longest value, in bytes.
    pub value_limit: u64,
    /// The memtable is flushed when it reaches this size.
    pub memtable_bytes: u64,
    pub segment_bytes: u64,
    /// SYNC_WAL and ASYNC_WAL writes are on the disk after at most this time.
    pub sync_interval: Duration,
    /// Memory for pages of the index, all read connections together.
    pub reader_cache_bytes: u64,
    pub background: Background,
    /// Percent of the time in which the background may compact while nobody waits for it.
    pub background_share: u32,
    /// Cells that a compaction holds in memory, each some 200 bytes, several times over.
    pub compaction_cells: usize,
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
            value_limit: 64 << 20,
            memtable_bytes: 64 << 20,
            segment_bytes: 64 << 20,
            sync_interval: Duration::from_secs(1),
            reader_cache_bytes: 32 << 20,
            background: Background::On,
            background_share: 50,
            compaction_cells: 32_768,
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
}

/// Snapshots that stay open.
const KEPT_OPEN: NonZeroUsize = NonZeroUsize::MIN.saturating_add(3);

impl Store {
    /// Opens the store, makes it if the directory is absent or empty, and recovers it if needed.
    pub fn open(options: StoreOptions) -> Result<Self> {
        let (engine, lock) = open::open(options)?;
        let engine = Arc::new(engine);
        engine.begin_reserve();
        Ok(Self::with(engine, Access::Full, Some(lock)))
    }

    fn with(engine: Arc<Engine>, access: Access, lock: Option<Box<dyn LockGuard>>) -> Self {
        let workers = Workers::start(&engine);
        // Of no store: the first question fills it.
        let durable = ArcSwap::from_pointee((Arc::default(), true));
        Self { engine, workers, kept: Mutex::new(LruCache::new(KEPT_OPEN)), access, durable, _lock: lock }
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

    /// Removes a store in which nothing was ever declared, directory and all. Kind `NotEmpty` if something was, `Locked`
    /// while a process has it.
    pub fn remove_unused(directory: &Path) -> Result<()> {
        let env = RealEnv::default();
        let _lock = lock::take(&env, directory)?;
        let declared = catalogue::load(&env, &directory.join("catalogue"))?;
        if declared.is_some_and(|declared| declared != catalogue::initial()) {
            let text = format!("the store {} was used", directory.display());
            return Err(Error::new(ErrorKind::NotEmpty, text));
        }
        env.remove_tree(directory).map_err(|e| Error::io(format!("remove {}", directory.display()), &e))
    }

    /// Checks a store that nobody has open, and changes nothing.
    pub fn check(directory: &Path, tell: &mut dyn FnMut(CheckEvent) -> Result<()>) -> Result<CheckSummary> {
        let env: Arc<dyn Env> = Arc::new(RealEnv::default());
        check::check(&env, directory, tell)
    }

    /// Checks a store that nobody has open, and makes its index anew from the segments if anything is wrong.
    pub fn repair(options: StoreOptions, tell: &mut dyn FnMut(CheckEvent) -> Result<()>) -> Result<Repaired> {
        check::repair(options, tell)
    }

    /// Stops the threads and makes everything durable. The memtable is not flushed: flushes have effects
    /// that users see, and the log has it all.
    pub fn close(mut self) -> Result<()> {
        self.workers.stop();
        self.engine.sync_log()
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.workers.stop();
        if self.access != Access::Full {
            return;
        }
        // Without `close` nobody waits for the answer.
        if let Err(e) = self.engine.sync_log() {
            log::error!("the last sync of the store: {e}");
        }
    }
}
