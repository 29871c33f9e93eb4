//! The embedded store: the log, the memtable and the index as one [`crate::backend::Backend`].
//!
//! Must not know of mounts, printing or SQLite.

mod apply;
mod attribute_times;
mod catalogue;
mod check;
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
mod memtable;
mod open;
mod pace;
mod page;
mod plan;
mod policy;
mod purge;
mod purge_deleted;
mod read;
mod recent;
mod recovery;
mod relocate;
mod rename;
mod reserve;
mod restore;
mod scan;
mod serve;
mod stats;
mod sweep;
mod tail;
mod twofold;
mod worker;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::Result;
use crate::env::{Env, LockGuard, RealEnv};
use crate::model::{CheckEvent, CheckSummary};

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
}

impl StoreOptions {
    /// The defaults for a store in `path` on the real machine.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            env: Arc::new(RealEnv),
            value_limit: 64 << 20,
            memtable_bytes: 64 << 20,
            segment_bytes: 64 << 20,
            sync_interval: Duration::from_secs(1),
            reader_cache_bytes: 32 << 20,
            background: Background::On,
            background_share: 50,
            compaction_cells: 32_768,
        }
    }
}

/// An open store; see [`crate::backend::Backend`] for what it does.
pub struct Store {
    engine: Arc<Engine>,
    workers: Workers,
    /// Order: dropped last, after everything that writes.
    _lock: Box<dyn LockGuard>,
}

impl Store {
    /// Opens the store, makes it if the directory is absent or empty, and recovers it if needed.
    pub fn open(options: StoreOptions) -> Result<Self> {
        let (engine, lock) = open::open(options)?;
        let engine = Arc::new(engine);
        engine.restore_reserve()?;
        let workers = Workers::start(&engine);
        Ok(Self { engine, workers, _lock: lock })
    }

    /// Refuses a path that is neither a store nor an empty or absent directory; leaves nothing there.
    pub fn admit(directory: &Path) -> Result<()> {
        identity::admit(&RealEnv, directory)
    }

    /// Whether a directory holds a store.
    pub fn exists(directory: &Path) -> bool {
        identity::is_present(directory)
    }

    /// Checks a store that nobody has open, and changes nothing.
    pub fn check(directory: &Path, tell: &mut dyn FnMut(CheckEvent) -> Result<()>) -> Result<CheckSummary> {
        let env: Arc<dyn Env> = Arc::new(RealEnv);
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
        // Without `close` nobody waits for the answer.
        if let Err(e) = self.engine.sync_log() {
            log::error!("the last sync of the store: {e}");
        }
    }
}
