//! Who does what alone.

use crate::env::sync::{Mutex, MutexGuard, ReadGuard, RwLock, WriteGuard};

/// See the module.
#[derive(Default)]
pub struct Turns {
    indexing: Mutex<()>,
    snapshotting: Mutex<()>,
    altering: Mutex<()>,
    declaring: RwLock<()>,
    flushing: Mutex<()>,
    compacting: Mutex<()>,
}

impl Turns {
    /// Secondary indexes are built.
    pub fn index(&self) -> MutexGuard<'_, ()> {
        self.indexing.lock()
    }

    /// A snapshot is made or deleted.
    pub fn snapshot(&self) -> MutexGuard<'_, ()> {
        self.snapshotting.lock()
    }

    /// The catalogue is changed.
    pub fn alter(&self) -> MutexGuard<'_, ()> {
        self.altering.lock()
    }

    /// What is declared stays as it is; held from the look at the catalogue to the commit.
    pub fn as_declared(&self) -> ReadGuard<'_, ()> {
        self.declaring.read()
    }

    /// Something else is declared: waits for all who write by what was.
    pub fn declare(&self) -> WriteGuard<'_, ()> {
        self.declaring.write()
    }

    /// Memtables become extents.
    pub fn flush(&self) -> MutexGuard<'_, ()> {
        self.flushing.lock()
    }

    /// Extents are merged.
    pub fn compact(&self) -> MutexGuard<'_, ()> {
        self.compacting.lock()
    }
}
