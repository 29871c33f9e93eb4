//! RocksDB as the system's library has it: 32 MiB of blocks, filters of ten bits a key, all else by default.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use super::Subject;
use super::rocksdb_c::{self, Database};
use crate::cells;

pub struct RocksDb(Database);

/// What says that something goes on or is about to.
const BUSY: [&std::ffi::CStr; 4] = [
    c"rocksdb.num-running-compactions",
    c"rocksdb.compaction-pending",
    c"rocksdb.num-running-flushes",
    c"rocksdb.mem-table-flush-pending",
];

/// Why it can't be measured here.
pub fn lack() -> Option<&'static str> {
    let text = "RocksDB is not measured: its library is not installed (Debian: apt-get install librocksdb7.8)";
    (!rocksdb_c::is_there()).then_some(text)
}

impl RocksDb {
    pub fn open(dir: &Path) -> Self {
        Self(Database::open(dir))
    }

    fn count(&self, from: &[u8], most: u64) -> u64 {
        let mut count = 0;
        self.0.walk(from, |key, value| {
            count += u64::from(key.len() + value.len() == cells::KEY + *cells::VALUE);
            if count < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        count
    }
}

impl Subject for RocksDb {
    fn put(&self, cell: u64) {
        self.0.put(&cells::key(cell), &cells::value(cell));
    }

    fn flush(&self) {
        self.0.flush();
    }

    fn is_idle(&self) -> bool {
        BUSY.iter().all(|name| self.0.property(name) == Some(0))
    }

    fn put_durably(&self, cell: u64) {
        self.0.put_synced(&cells::key(cell), &cells::value(!cell));
    }

    fn newest(&self, cell: u64) -> usize {
        self.0.len_of(&cells::key(cell)).expect("a value")
    }

    fn scan(&self) -> u64 {
        self.count(b"", u64::MAX)
    }

    fn first_row(&self, cell: u64) -> u64 {
        self.count(&cells::row(cell), cells::COLUMNS)
    }

    /// As it comes: what is in the last level already may stay as it is.
    fn compact(&self) {
        self.0.compact();
    }

    fn snapshot(&self, beside: &Path) -> Option<f64> {
        let started = Instant::now();
        self.0.checkpoint(beside);
        let seconds = started.elapsed().as_secs_f64();
        std::fs::remove_dir_all(beside).expect("remove the checkpoint");
        Some(seconds)
    }
}
