//! An LSM tree in Rust.

use std::path::Path;

use fjall::{Database, Guard, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::Subject;
use crate::cells;

pub struct Fjall {
    database: Database,
    keyspace: Keyspace,
}

/// Cells of a walk that have all their bytes.
fn count(pairs: impl Iterator<Item = Guard>) -> u64 {
    let pairs = pairs.map(|guard| guard.into_inner().expect("a pair"));
    pairs.filter(|(key, value)| key.len() + value.len() == cells::KEY + *cells::VALUE).count() as u64
}

impl Fjall {
    pub fn open(dir: &Path) -> Self {
        // A worker for each processor, and two on one: one alone can wait for itself, when it tells of a memtable that it
        // has set aside and nobody else takes what it was told.
        let database = Database::builder(dir).cache_size(32 << 20).worker_threads(2).open().expect("open");
        let keyspace = database.keyspace("cells", KeyspaceCreateOptions::default).expect("make a keyspace");
        Self { database, keyspace }
    }
}

impl Subject for Fjall {
    fn put(&self, cell: u64) {
        self.keyspace.insert(cells::key(cell), cells::value(cell)).expect("insert");
    }

    fn flush(&self) {
        self.keyspace.rotate_memtable_and_wait().expect("flush");
        self.database.persist(PersistMode::SyncAll).expect("persist");
    }

    fn is_idle(&self) -> bool {
        self.database.outstanding_flushes() == 0 && self.database.active_compactions() == 0
    }

    fn put_durably(&self, cell: u64) {
        self.keyspace.insert(cells::key(cell), cells::value(!cell)).expect("insert");
        self.database.persist(PersistMode::SyncData).expect("persist");
    }

    fn newest(&self, cell: u64) -> usize {
        self.keyspace.get(cells::key(cell)).expect("read").expect("a value").len()
    }

    fn scan(&self) -> u64 {
        count(self.keyspace.iter())
    }

    fn first_row(&self, cell: u64) -> u64 {
        count(self.keyspace.range(cells::row(cell)..).take(cells::COLUMNS as usize))
    }

    fn compact(&self) {
        self.keyspace.major_compact().expect("compact");
    }
}
