//! Read connections. Between writes each keeps its transaction open: taking SQLite's locks anew for every
//! read costs more than the read.
//!
//! Must not know what is read.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::env::sync::Mutex;
use rusqlite::Connection;

use super::connect::connect_reader;
use super::db::sql;
use crate::Result;

/// Read connections that are kept open.
const IDLE: usize = 4;

/// See the module.
pub struct Readers {
    path: PathBuf,
    cache_kib: i64,
    idle: Mutex<Vec<Reader>>,
    /// Writes that began and writes that ended: odd while one is under way.
    writes: AtomicU64,
}

/// A connection, taken by one thread.
pub struct Reader {
    pub connection: Connection,
    /// What [`Readers::writes`] was before its transaction began; `None`: each statement has its own.
    since: Option<u64>,
}

/// While it lives no idle connection has a transaction, and none begins one that is kept.
pub struct Pause<'r>(&'r Readers);

impl Drop for Pause<'_> {
    fn drop(&mut self) {
        self.0.writes.fetch_add(1, Ordering::AcqRel);
    }
}

impl Reader {
    fn end(&mut self) -> Result<()> {
        match self.since.take() {
            Some(_) => self.connection.execute_batch("COMMIT").map_err(sql("end a read of")),
            None => Ok(()),
        }
    }
}

impl Readers {
    /// Connections to the database at `path`; `cache_bytes` of pages for all together.
    pub fn new(path: &Path, cache_bytes: u64) -> Self {
        let cache_kib = (cache_bytes / 1024 / IDLE as u64).max(64) as i64;
        Self { path: path.to_owned(), cache_kib, idle: Mutex::default(), writes: AtomicU64::new(0) }
    }

    /// A connection that sees everything committed before the call.
    pub fn take(&self) -> Result<Reader> {
        let idle = self.idle.lock().pop();
        let mut reader = match idle {
            Some(reader) => reader,
            None => Reader { connection: self.connect()?, since: None },
        };
        // Order: counted before the transaction begins, which may then see more but never less.
        let writes = self.writes.load(Ordering::Acquire);
        if reader.since != Some(writes) {
            reader.end()?;
            if writes.is_multiple_of(2) {
                reader.connection.execute_batch("BEGIN").map_err(sql("read"))?;
                reader.since = Some(writes);
            }
        }
        Ok(reader)
    }

    /// Keeps a connection for the next one.
    pub fn put_back(&self, mut reader: Reader) {
        let mut idle = self.idle.lock();
        // Order: looked at under the lock that a write takes after it was counted.
        let stale = reader.since.is_some_and(|since| since != self.writes.load(Ordering::Acquire));
        if idle.len() < IDLE && (!stale || reader.end().is_ok()) {
            idle.push(reader);
        }
    }

    /// Ends what is kept, for a write: an old transaction would keep SQLite's own log from being reused. The
    /// caller lets only one live at a time.
    pub fn pause(&self) -> Pause<'_> {
        self.writes.fetch_add(1, Ordering::AcqRel);
        self.idle.lock().retain_mut(|reader| reader.end().is_ok());
        Pause(self)
    }

    /// One more connection.
    pub(super) fn connect(&self) -> Result<Connection> {
        connect_reader(&self.path, self.cache_kib)
    }
}
