//! Connections to the database: how SQLite is to treat its files.
//!
//! This process is the only one that has a store open, so SQLite keeps the state of its own log in ordinary memory
//! (its VFS `unix-excl`) and not in a file `index.db-shm` that it would map: under a mapped file a disk that goes away
//! ends the process by SIGBUS. It takes the database's lock once, and its connections ask the kernel for none after
//! that.

use std::path::Path;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::db::sql;
#[cfg(test)]
use super::pages::page_size;
use crate::env::sync;
use crate::{Error, ErrorKind, Result};

/// One file for all connections of this process, and for those of no other.
fn open_alone(path: &Path, flags: OpenFlags) -> Result<Connection> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    Connection::open_with_flags_and_vfs(path, flags, c"unix-excl").map_err(sql("open"))
}

/// How long SQLite waits for other connections. In a simulation they do not go on meanwhile.
fn busy_ms() -> u32 {
    if sync::is_scheduled() { 0 } else { 100 }
}

/// The connection that writes; it makes the file. `Busy`: another program has it open.
pub(super) fn connect(path: &Path, cache_bytes: u64) -> Result<Connection> {
    let connection = open_alone(path, OpenFlags::default())?;
    let cache = (cache_bytes / 1024).max(64);
    let setup = format!(
        "{}PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout={}; PRAGMA cache_size=-{cache};
         PRAGMA journal_size_limit=67108864; PRAGMA wal_autocheckpoint=4000;",
        page_size(),
        busy_ms()
    );
    connection.execute_batch(&setup).map_err(|e| match e.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => in_use(path),
        _ => sql("set up")(e),
    })?;
    keep_plans(&connection)?;
    Ok(connection)
}

/// A connection that reads, beside the one that writes; `cache_kib` of pages.
pub(super) fn connect_reader(path: &Path, cache_kib: i64) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = open_alone(path, flags)?;
    let cache = format!("PRAGMA cache_size=-{cache_kib}; PRAGMA busy_timeout={};", busy_ms());
    connection.execute_batch(&cache).map_err(sql("set up"))?;
    keep_plans(&connection)?;
    Ok(connection)
}

fn in_use(path: &Path) -> Error {
    let text = format!("{} is open in another program, such as sqlite3; close it there and try again", path.display());
    Error::new(ErrorKind::Busy, text)
}

#[cfg(not(test))]
const fn page_size() -> &'static str {
    ""
}

/// Without it every new range makes SQLite plan the statement again, which costs more than the lookup.
pub(super) fn keep_plans(connection: &Connection) -> Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(|_| ()).map_err(sql("set up"))
}
