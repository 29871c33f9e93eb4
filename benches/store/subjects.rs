//! The stores that are compared: this one, SQLite as it comes, and fjall.

use std::path::Path;
use std::sync::Mutex;

use cellfs::backend::{Backend, CompactionKind, RenameCell, RenameMode, RowListing, Versions};
use cellfs::model::*;
use cellfs::store::{Store, StoreOptions};
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use rusqlite::Connection;

use super::cells;

/// A store under test.
pub trait Subject: Send + Sync {
    /// Writes a cell; on the disk within about a second.
    fn put(&self, cell: u64);
    /// Returns when what was written has found its place and nothing goes on behind.
    fn settle(&self);
    /// Writes a cell, with a value that it does not have yet; on the disk when this returns.
    fn put_durably(&self, cell: u64);
    /// Length of the value of a cell's newest version.
    fn newest(&self, cell: u64) -> usize;
    /// Cells of a walk over everything, values included.
    fn scan(&self) -> u64;
    /// Rows that a listing finds; `None` where there are no rows.
    fn rows(&self) -> Option<u64>;
    /// A major compaction.
    fn compact(&self);
}

/// The embedded store.
pub struct Cellfs(Store);

fn table() -> TableName {
    TableName::parse("bench").expect("a name")
}

impl Cellfs {
    pub fn create(dir: &Path) -> Self {
        let subject = Self::open(dir);
        let rules = [("VERSIONS", "10"), ("NEW_VERSION_BEHAVIOR", "true"), ("KEEP_DELETED_CELLS", "TRUE")];
        let family = FamilySchema::new("f", rules.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        let schema = TableSchema::new(table(), [family]);
        subject.0.alter(CatalogueChange::CreateTable(schema), Origin(0)).expect("make the table");
        subject
    }

    pub fn open(dir: &Path) -> Self {
        Self(Store::open(StoreOptions::new(dir)).expect("open the store"))
    }

    pub fn column(cell: u64) -> ColumnKey {
        ColumnKey { table: table(), row: cells::row(cell), family: "f".into(), qualifier: cells::qualifier(cell) }
    }

    fn mutate(&self, cell: u64, mutation: Mutation, durability: Durability) {
        let mutations = RowMutations {
            table: table(),
            row: cells::row(cell),
            mutations: vec![mutation],
            durability: Some(durability),
            origin: Origin(0),
        };
        assert!(self.0.mutate(mutations, None).expect("write").applied);
    }

    fn write(&self, cell: u64, value: Vec<u8>, durability: Durability) {
        let put = PutCell::new("f", cells::qualifier(cell), Time::AfterNewest, value);
        self.mutate(cell, Mutation::Put(vec![put]), durability);
    }

    /// As `rm` in a mount: look, then a tombstone.
    pub fn unlink(&self, cell: u64) {
        assert!(self.0.newest(&Self::column(cell), TimeRange::ALL).expect("read").is_some());
        let kind = DeleteKind::Column { family: "f".into(), qualifier: cells::qualifier(cell) };
        let marker = DeleteMarker { kind, time: Time::AfterNewest, erases: false };
        self.mutate(cell, Mutation::Delete(vec![marker]), Durability::SyncWal);
    }

    /// As `mv` in a mount, to another name in the row.
    pub fn rename(&self, cell: u64) {
        let from = Self::column(cell);
        let mut to = from.clone();
        to.qualifier.extend_from_slice(b"-moved");
        let rename = RenameCell::newest(from, to, RenameMode::Replace);
        self.0.rename_cell(&rename).expect("rename");
    }

    /// As `stat` in a mount.
    pub fn stat(&self, cell: u64) -> u64 {
        let info = self.0.newest(&Self::column(cell), TimeRange::ALL).expect("read");
        info.map_or(0, |info| info.len())
    }
}

impl Subject for Cellfs {
    fn put(&self, cell: u64) {
        self.write(cell, cells::value(cell), Durability::SyncWal);
    }

    fn settle(&self) {
        self.0.flush(None).expect("flush");
    }

    fn put_durably(&self, cell: u64) {
        self.write(cell, cells::value(!cell), Durability::FsyncWal);
    }

    fn newest(&self, cell: u64) -> usize {
        let info = self.0.newest(&Self::column(cell), TimeRange::ALL).expect("read").expect("a version");
        self.0.read_value(&info, 0, usize::MAX).expect("read the value").len()
    }

    fn scan(&self) -> u64 {
        let scan = Scan::all(table());
        let mut count = 0;
        let mut take = |piece: &Piece| {
            if let Piece::Cell(cell) = piece {
                count += u64::from(!cell.qualifier.is_empty() && cell.value.len() == *cells::VALUE);
            }
            Ok(())
        };
        self.0.scan_pieces(&scan, &mut take).expect("scan");
        count
    }

    fn rows(&self) -> Option<u64> {
        let mut listing = RowListing {
            table: table(),
            after: None,
            before: Vec::new(),
            time_range: TimeRange::ALL,
            which: Versions::Live,
            limit: 4096,
        };
        let mut rows = 0;
        loop {
            let page = self.0.list_rows(&listing).expect("list");
            rows += page.len() as u64;
            if page.len() < listing.limit {
                return Some(rows);
            }
            listing.after = page.last().cloned();
        }
    }

    fn compact(&self) {
        self.0.compact(&table(), None, CompactionKind::Major).expect("compact");
    }
}

/// SQLite with the values in one table by key.
pub struct Sqlite {
    connection: Mutex<Connection>,
    /// Puts since the last commit.
    pending: Mutex<u64>,
}

/// Puts of a transaction where nobody waits for the disk.
const SQLITE_BATCH: u64 = 10_000;

impl Sqlite {
    pub fn create(dir: &Path) -> Self {
        std::fs::create_dir_all(dir).expect("make a directory");
        let connection = Connection::open(dir.join("db")).expect("open");
        let setup = "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-32768;
            CREATE TABLE IF NOT EXISTS cells(k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID;";
        connection.execute_batch(setup).expect("set up");
        Self { connection: Mutex::new(connection), pending: Mutex::new(0) }
    }

    fn insert(connection: &Connection, cell: u64, value: &[u8]) {
        let mut insert = connection.prepare_cached("INSERT OR REPLACE INTO cells VALUES(?1, ?2)").expect("prepare");
        insert.execute((cells::key(cell), value)).expect("insert");
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
        *pending = (*pending + 1) % SQLITE_BATCH;
        if *pending == 0 {
            connection.execute_batch("COMMIT").expect("commit");
        }
    }

    fn settle(&self) {
        let connection = self.connection.lock().expect("lock");
        let mut pending = self.pending.lock().expect("lock");
        if std::mem::take(&mut *pending) > 0 {
            connection.execute_batch("COMMIT").expect("commit");
        }
        connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA synchronous=FULL;").expect("checkpoint");
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
        let mut rows = select.query([]).expect("query");
        let mut count = 0;
        while let Some(row) = rows.next().expect("step") {
            let key: Vec<u8> = row.get(0).expect("a key");
            let value: Vec<u8> = row.get(1).expect("a value");
            count += u64::from(key.len() + value.len() == cells::KEY + *cells::VALUE);
        }
        count
    }

    fn rows(&self) -> Option<u64> {
        None
    }

    fn compact(&self) {
        self.connection.lock().expect("lock").execute_batch("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)").expect("vacuum");
    }
}

/// An LSM tree in Rust.
pub struct Fjall {
    database: Database,
    keyspace: Keyspace,
}

impl Fjall {
    pub fn create(dir: &Path) -> Self {
        let database = Database::builder(dir).cache_size(32 << 20).open().expect("open");
        let keyspace = database.keyspace("cells", KeyspaceCreateOptions::default).expect("make a keyspace");
        Self { database, keyspace }
    }
}

impl Subject for Fjall {
    fn put(&self, cell: u64) {
        self.keyspace.insert(cells::key(cell), cells::value(cell)).expect("insert");
    }

    fn settle(&self) {
        self.keyspace.rotate_memtable_and_wait().expect("flush");
        self.database.persist(PersistMode::SyncAll).expect("persist");
    }

    fn put_durably(&self, cell: u64) {
        self.keyspace.insert(cells::key(cell), cells::value(!cell)).expect("insert");
        self.database.persist(PersistMode::SyncData).expect("persist");
    }

    fn newest(&self, cell: u64) -> usize {
        self.keyspace.get(cells::key(cell)).expect("read").expect("a value").len()
    }

    fn scan(&self) -> u64 {
        let pairs = self.keyspace.iter().map(|guard| guard.into_inner().expect("a pair"));
        pairs.filter(|(key, value)| key.len() + value.len() == cells::KEY + *cells::VALUE).count() as u64
    }

    fn rows(&self) -> Option<u64> {
        None
    }

    fn compact(&self) {
        self.keyspace.major_compact().expect("compact");
    }
}
