//! How a store is opened.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::env::{Env, RealEnv};
use crate::model::Durability;

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
