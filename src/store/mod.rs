//! The embedded store on sorted segments: log, memtable, journal, segments and blobs as one
//! [`crate::backend::Backend`].
//!
//! Must not know of mounts, printing or SQLite.

mod catalogue;
mod check;
mod cursor;
mod engine;
mod extents;
mod feed;
mod health;
mod jobs;
mod layout;
mod memory;
mod open;
mod options;
mod plan;
mod read;
mod recover;
mod scan;
mod secondary;
mod serve;
mod snapshot;
mod space;
mod system;
mod write;

#[cfg(test)]
mod tests;

use crate::store::extents::flush;
use crate::store::recover::rescue;
use crate::store::snapshot::snapshots;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use crate::env::sync::Mutex;
use arc_swap::ArcSwap;
use lru::LruCache;

use crate::env::{Env, LockGuard, RealEnv};
use crate::model::{Catalogue, CheckEvent, CheckSummary};
use crate::{Error, ErrorKind, Result};

pub use check::Repaired;
pub use open::reading::NoChanges;
#[cfg(test)]
pub use options::Broken;
pub use options::{Background, OnFullDisk, StoreOptions};

use engine::Engine;
use jobs::worker::Workers;
use open::{identity, lock, opening, reading};
use space::reserve;
use system::System;

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
        match opening::open(options.clone()) {
            Ok((engine, lock)) => {
                let engine = Arc::new(engine);
                reserve::begin_reserve(&engine);
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
        let (engine, lock) = opening::open(options)?;
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
        let engine = snapshots::open_kept(&self.engine, name)?;
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

    /// Whether a store is on a filesystem that takes no changes: it is opened for reading alone.
    pub fn is_read_only(directory: &Path) -> Result<bool> {
        let env: Arc<dyn Env> = Arc::new(RealEnv::default());
        reading::over_read_only(&env, directory).map(|over| over.is_some())
    }

    /// Why the store takes no changes where it is; `None`: it takes them.
    pub fn no_changes(&self) -> Option<NoChanges> {
        match self.access {
            Access::Reading(why) => Some(why),
            Access::Full | Access::Snapshot(_) => None,
        }
    }

    /// Removes a store in which nothing was ever declared, directory and all. Kind `NotEmpty` if something was, `Locked`
    /// while a process has it.
    pub fn remove_unused(directory: &Path) -> Result<()> {
        let env = RealEnv::default();
        let _lock = lock::take(&env, directory)?;
        if opening::was_used(&env, directory)? {
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
            self.engine.log.trim();
        }
        rescue::sync_log(&self.engine)
    }

    /// The file of large values that is written gets its table; without one, as on a full disk, it is read through by the
    /// next open. What has to be on the disk is synced all the same.
    fn seal_at_end(&self) -> Result<()> {
        match reserve::with_reserve(&self.engine, || self.engine.values.blobs.seal()) {
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
        if let Err(e) = flush::flush(&self.engine) {
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
            self.engine.log.trim();
        }
        // Without `close` nobody waits for the answer.
        if let Err(e) = rescue::sync_log(&self.engine) {
            log::error!("the last sync of the store: {e}");
        }
    }
}
