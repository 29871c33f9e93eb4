//! SQLite with the values in one table by key.

use std::path::Path;
use std::sync::Mutex;

use rusqlite::Connection;

use super::Subject;
use crate::cells;

pub struct Sqlite {
    connection: Mutex<Connection>,
    /// Puts since the last commit.
    pending: Mutex<u64>,
}

/// Puts of a transaction where nobody waits for the disk.
const BATCH: u64 = 10_000;

impl Sqlite {
    pub fn create(dir: &Path) -> Self {
        std::fs::create_dir_all(dir).expect("make a directory");
        let sqlite = Self::open(dir);
        let setup = "PRAGMA synchronous=NORMAL;
            CREATE TABLE cells(k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID;";
        sqlite.connection.lock().expect("lock").execute_batch(setup).expect("set up");
        sqlite
    }

    pub fn open(dir: &Path) -> Self {
        let connection = Connection::open(dir.join("db")).expect("open");
        let setup = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-32768;";
        connection.execute_batch(setup).expect("set up");
        Self { connection: Mutex::new(connection), pending: Mutex::new(0) }
    }

    fn insert(connection: &Connection, cell: u64, value: &[u8]) {
        let mut insert = connection.prepare_cached("INSERT OR REPLACE INTO cells VALUES(?1, ?2)").expect("prepare");
        insert.execute((cells::key(cell), value)).expect("insert");
    }

    fn count(select: &mut rusqlite::Statement<'_>, params: impl rusqlite::Params) -> u64 {
        let mut rows = select.query(params).expect("query");
        let mut count = 0;
        while let Some(row) = rows.next().expect("step") {
            let key: Vec<u8> = row.get(0).expect("a key");
            let value: Vec<u8> = row.get(1).expect("a value");
            count += u64::from(key.len() + value.len() == cells::KEY + *cells::VALUE);
        }
        count
    }
}

impl Subject for Sqlite {
    fn put(&self, cell: u64) {
        let connection = self.connection.lock().expect("lock");
        let mut pending = self.pending.lock().expect("lock");
        if *pending == 0 {
            connection.execute_batch("BEGIN").expect("begin");
        }
        Self::insert(&connection, cell, &cells::value(cell));
        *pending = (*pending + 1) % BATCH;
        if *pending == 0 {
            connection.execute_batch("COMMIT").expect("commit");
        }
    }

    fn flush(&self) {
        let connection = self.connection.lock().expect("lock");
        let mut pending = self.pending.lock().expect("lock");
        if std::mem::take(&mut *pending) > 0 {
            connection.execute_batch("COMMIT").expect("commit");
        }
        connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA synchronous=FULL;").expect("checkpoint");
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn put_durably(&self, cell: u64) {
        Self::insert(&self.connection.lock().expect("lock"), cell, &cells::value(!cell));
    }

    fn newest(&self, cell: u64) -> usize {
        let connection = self.connection.lock().expect("lock");
        let mut select = connection.prepare_cached("SELECT v FROM cells WHERE k = ?1").expect("prepare");
        let value: Vec<u8> = select.query_row([cells::key(cell)], |row| row.get(0)).expect("a row");
        value.len()
    }

    fn scan(&self) -> u64 {
        let connection = self.connection.lock().expect("lock");
        let mut select = connection.prepare("SELECT k, v FROM cells ORDER BY k").expect("prepare");
        Self::count(&mut select, [])
    }

    fn first_row(&self, cell: u64) -> u64 {
        let connection = self.connection.lock().expect("lock");
        let sql = "SELECT k, v FROM cells WHERE k >= ?1 ORDER BY k LIMIT ?2";
        let mut select = connection.prepare_cached(sql).expect("prepare");
        Self::count(&mut select, (cells::row(cell), cells::COLUMNS as i64))
    }

    fn compact(&self) {
        self.connection.lock().expect("lock").execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").expect("vacuum");
    }
}
