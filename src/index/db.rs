//! The database file: opening, a pool of read connections, pages of rows, and transactions.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::env::sync::{self, Mutex};
use rusqlite::Connection;

use super::columns::{self, ColumnStats};
use super::connect::connect;
use super::former;
use super::look::odd_file;
use super::meta::{Meta, Sums};
use super::readers::Readers;
use super::row::IndexRow;
use super::shares;
use super::state::{condemned_path, encode_meta, open_existing, put_meta};
use super::verify::Walks;
use super::witness::Witness;
use crate::env::HeldDir;
use crate::model::{FamilyId, Qualifier, SegmentId};
use crate::wal::StoreId;
use crate::{Error, ErrorKind, Result};

/// Older ones can damage a database in WAL mode (fixed in 3.51.3).
const LEAST_SQLITE: i32 = 3_051_003;

/// How often a sync waits for readers, and how long.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(50);

/// Which way a page of rows is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Ascending,
    Descending,
}

/// A change of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    Put(Vec<u8>, IndexRow),
    Delete(Vec<u8>),
}

/// Takes a key and its row as it is stored.
pub type PackedSink<'f> = dyn FnMut(&[u8], &[u8]) -> Result<()> + 'f;

/// What [`Index::open`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opened {
    Ready(Box<Meta>),
    /// Absent, damaged, unfinished or of another store: it is empty now and must be filled from the log.
    Empty {
        reason: String,
    },
}

/// See the module.
pub struct Index {
    path: PathBuf,
    pub(super) writer: Mutex<Connection>,
    pub(super) readers: Readers,
    witness: Arc<Witness>,
    walks: Walks,
    /// Checkpoints of this process that were committed, and the one of them that is known to be on the disk.
    covered: AtomicU64,
    covered_durably: AtomicU64,
    /// Whether damage was found.
    condemned: AtomicBool,
    /// Order: let go after the last connection, which removes a file by its path.
    dir: HeldDir,
}

pub(super) fn sql(what: &str) -> impl Fn(rusqlite::Error) -> Error + '_ {
    move |e| Error::new(kind_of(&e), format!("{what} the index: {e}"))
}

fn kind_of(e: &rusqlite::Error) -> ErrorKind {
    use rusqlite::ErrorCode;
    match e.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => ErrorKind::NoSpace,
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => ErrorKind::Corrupt,
        // A statement does not fit the tables, or a value its column: all are fixed, so the file is not as it was made.
        Some(ErrorCode::Unknown | ErrorCode::TypeMismatch | ErrorCode::ConstraintViolation) | None => {
            ErrorKind::Corrupt
        }
        _ => ErrorKind::Io,
    }
}

pub(super) fn damaged_row() -> Error {
    let text = "a row of the index does not match its checksum; the index is rebuilt when the store is opened again";
    Error::new(ErrorKind::Corrupt, text)
}

impl Index {
    /// Opens or makes `dir/index.db`. What cannot be trusted is set aside; see [`Index::former`].
    pub fn open(dir: &HeldDir, store: &StoreId, cache_bytes: u64, witness: Arc<Witness>) -> Result<(Self, Opened)> {
        if rusqlite::version_number() < LEAST_SQLITE {
            let text = format!("SQLite {} is too old: 3.51.3 or newer is needed", rusqlite::version());
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        let path = dir.join("index.db");
        let condemned = condemned_path(&path).exists();
        let odd = odd_file(dir);
        let reason = match path.exists() {
            _ if odd.is_some() => odd.unwrap_or_default(),
            false => "it was absent".to_owned(),
            true if condemned => "it was found to be damaged".to_owned(),
            true => match open_existing(&path, store, cache_bytes, &witness) {
                Ok((writer, meta)) => {
                    let index = Self::with(dir, writer, cache_bytes, witness);
                    return Ok((index, Opened::Ready(Box::new(meta))));
                }
                // A full disk says nothing about the index, and nothing does who else has it open.
                Err(e) if matches!(e.kind, ErrorKind::NoSpace | ErrorKind::Busy) => return Err(e),
                Err(e) => e.message,
            },
        };
        former::retire(dir, store)?;
        Ok((Self::create(dir, store, cache_bytes, witness)?, Opened::Empty { reason }))
    }

    /// Makes one that is empty and unfinished.
    fn create(dir: &HeldDir, store: &StoreId, cache_bytes: u64, witness: Arc<Witness>) -> Result<Self> {
        let mut writer = connect(&dir.join("index.db"), cache_bytes)?;
        // Order: what SQLite makes beside it later belongs to whom it belongs.
        dir.give("index.db").map_err(|e| Error::io(format!("make {}", dir.shown().display()), &e))?;
        let tx = writer.transaction().map_err(sql("make"))?;
        let setup = "
            CREATE TABLE cells(k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID;
            CREATE TABLE meta(name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;";
        tx.execute_batch(&[setup, columns::SETUP, shares::SETUP].concat()).map_err(sql("make"))?;
        put_meta(&tx, "store", store)?;
        put_meta(&tx, "format", &super::state::FORMAT.to_le_bytes())?;
        tx.commit().map_err(sql("make"))?;
        Ok(Self::with(dir, writer, cache_bytes, witness))
    }

    pub(super) fn with(dir: &HeldDir, writer: Connection, cache_bytes: u64, witness: Arc<Witness>) -> Self {
        let path = dir.join("index.db");
        let (writer, readers) = (Mutex::new(writer), Readers::new(&path, cache_bytes));
        // A checkpoint of an earlier process counts as one that is not on the disk.
        let (covered, covered_durably) = (AtomicU64::new(1), AtomicU64::new(0));
        let (dir, walks, condemned) = (dir.clone(), Walks::default(), AtomicBool::new(false));
        Self { dir, path, writer, readers, witness, walks, covered, covered_durably, condemned }
    }

    pub(super) fn dir(&self) -> &HeldDir {
        &self.dir
    }

    pub(super) fn witness(&self) -> &Witness {
        &self.witness
    }

    pub(super) fn walks(&self) -> &Walks {
        &self.walks
    }

    /// A connection for one long read.
    pub(super) fn own_reader(&self) -> Result<Connection> {
        self.readers.connect()
    }

    /// Lets the next [`Index::open`] throw the index away.
    pub fn condemn(&self) {
        let mark = condemned_path(&self.path);
        if mark.exists() {
            return;
        }
        // Once: on a disk that is gone every read comes here.
        let is_first = !self.condemned.swap(true, Ordering::AcqRel);
        if is_first {
            let shown = self.dir.shown().display();
            log::error!("the index in {shown} is damaged; it is made anew from the log at the next start");
        }
        let mut new = std::fs::File::options();
        let made = new.write(true).create_new(true).open(mark).and_then(|mut file| file.write_all(b"rebuild me\n"));
        if let Err(e) = made
            && is_first
        {
            log::error!("mark the damaged index in {}: {e}", self.dir.shown().display());
        }
    }

    /// Bytes of the database's files.
    pub fn bytes(&self) -> u64 {
        let names = ["db", "db-wal", "db-shm"].map(|extension| self.path.with_extension(extension));
        names.iter().filter_map(|name| name.metadata().ok()).map(|m| m.len()).sum()
    }

    /// Calls `row` for the rows of `[from, to)`, at most `limit`, in the given direction; how many there were.
    pub fn page(
        &self,
        from: &[u8],
        to: &[u8],
        limit: usize,
        direction: Direction,
        row: &mut dyn FnMut(&[u8], IndexRow) -> Result<()>,
    ) -> Result<usize> {
        let mut unpack = |key: &[u8], packed: &[u8]| row(key, self.unpack(key, packed)?);
        self.packed_page(from, to, limit, direction, &mut unpack)
    }

    /// As [`Index::page`], for [`Index::unpack`]: what is passed by needs no check.
    pub fn packed_page(
        &self,
        from: &[u8],
        to: &[u8],
        limit: usize,
        direction: Direction,
        row: &mut PackedSink<'_>,
    ) -> Result<usize> {
        let reader = self.readers.take()?;
        let result = read_page(&reader.connection, from, to, limit, direction, row);
        self.readers.put_back(reader);
        self.condemn_if_damaged(result)
    }

    pub(super) fn condemn_if_damaged<T>(&self, result: Result<T>) -> Result<T> {
        if result.as_ref().is_err_and(|e| e.kind == ErrorKind::Corrupt) {
            self.condemn();
        }
        result
    }

    /// The row of a key, if neither is damaged.
    pub fn unpack(&self, key: &[u8], packed: &[u8]) -> Result<IndexRow> {
        IndexRow::decode(key, packed).ok_or_else(|| {
            self.condemn();
            damaged_row()
        })
    }

    /// Applies changes, then the new state and the sums that `state` gives after them, in one transaction; nothing of it holds after an error. The state as it was stored.
    pub fn write(
        &self,
        changes: &mut dyn Iterator<Item = Result<Change>>,
        state: impl FnOnce() -> (Meta, Sums),
    ) -> Result<Meta> {
        let mut writer = self.writer.lock();
        let _paused = self.readers.pause();
        let tx = writer.transaction().map_err(sql("write"))?;
        apply(&tx, changes)?;
        let (mut meta, sums) = state();
        columns::apply(&tx, &sums.columns, &mut meta)?;
        shares::apply(&tx, &sums.shares, &mut meta)?;
        self.put_state(&tx, &mut meta)?;
        tx.commit().map_err(sql("commit to"))?;
        self.witness.note_commit(meta.commits, meta.checkpoint.seq);
        self.covered.fetch_max(meta.checkpoint.seq.0, Ordering::AcqRel);
        Ok(meta)
    }

    /// Takes bytes out of the state that were thought to be shared and are not; `pending`: whether unflushed rows
    /// may share values of a segment. The state as it was stored.
    pub fn settle_shares(&self, mut meta: Meta, pending: &dyn Fn(SegmentId) -> bool) -> Result<Meta> {
        self.in_transaction(|tx| {
            let any = shares::settle(tx, &mut meta, pending)?;
            if any { self.put_state(tx, &mut meta) } else { Ok(()) }
        })?;
        self.witness.note_commit(meta.commits, meta.checkpoint.seq);
        Ok(meta)
    }

    fn put_state(&self, connection: &Connection, meta: &mut Meta) -> Result<()> {
        meta.commits = meta.commits.max(self.witness.commits_seen().unwrap_or_default()) + 1;
        put_meta(connection, "state", &encode_meta(meta)?)
    }

    /// Rebuild: counts shares, as if none had an entry with a row of its own.
    pub fn fill_shares(&self, sums: &Sums, meta: &mut Meta) -> Result<()> {
        self.in_transaction(|tx| shares::apply(tx, &sums.shares, meta))
    }

    /// Rebuild: these rows have their own entries.
    pub fn mark_originals(&self, rows: &[IndexRow]) -> Result<()> {
        self.in_transaction(|tx| shares::mark_originals(tx, rows))
    }

    /// Rebuild: counts the bytes of the rest.
    pub fn count_orphans(&self, meta: &mut Meta) -> Result<()> {
        self.in_transaction(|tx| shares::count_orphans(tx, meta))
    }

    fn in_transaction(&self, action: impl FnOnce(&Connection) -> Result<()>) -> Result<()> {
        let mut writer = self.writer.lock();
        let _paused = self.readers.pause();
        let tx = writer.transaction().map_err(sql("write"))?;
        action(&tx)?;
        tx.commit().map_err(sql("commit to"))
    }

    /// What is indexed under each qualifier of a family.
    pub fn columns(&self, family: FamilyId) -> Result<Vec<(Qualifier, ColumnStats)>> {
        let reader = self.readers.take()?;
        let result = columns::read(&reader.connection, family);
        self.readers.put_back(reader);
        self.condemn_if_damaged(result)
    }

    /// Applies changes in one transaction and leaves the state as it is.
    pub fn fill(&self, changes: &mut dyn Iterator<Item = Result<Change>>) -> Result<()> {
        self.in_transaction(|tx| apply(tx, changes))
    }

    /// The last checkpoint, and the rows it covers, are on the disk when this returns.
    pub fn make_checkpoint_durable(&self) -> Result<()> {
        let covered = self.covered.load(Ordering::Acquire);
        if self.covered_durably.load(Ordering::Acquire) >= covered {
            return Ok(());
        }
        self.make_durable()?;
        self.covered_durably.fetch_max(covered, Ordering::AcqRel);
        Ok(())
    }

    /// Everything that was committed is on the disk when this returns.
    pub fn make_durable(&self) -> Result<()> {
        for _ in 0..TRIES {
            if !self.try_make_durable()? {
                self.witness.note_index_synced();
                return Ok(());
            }
            // With no lock held, so that those who read can end.
            sync::sleep(PAUSE);
        }
        Err(Error::new(ErrorKind::Busy, "the index is being read; its sync is tried again"))
    }

    /// Whether readers kept it from being done.
    fn try_make_durable(&self) -> Result<bool> {
        let writer = self.writer.lock();
        let _paused = self.readers.pause();
        // Order: a long walk ends first, it would be waited for.
        self.walks.stop();
        let busy = checkpoint(&writer);
        self.walks.allow();
        busy
    }
}

/// Whether readers kept it from being done.
fn checkpoint(writer: &Connection) -> Result<bool> {
    // FULL waits for readers, then syncs the database's own log before and its file after the move.
    let busy: i64 = writer.query_row("PRAGMA wal_checkpoint(FULL)", [], |row| row.get(0)).map_err(sql("sync"))?;
    Ok(busy != 0)
}

fn apply(connection: &Connection, changes: &mut dyn Iterator<Item = Result<Change>>) -> Result<()> {
    let prepare = |text| connection.prepare_cached(text).map_err(sql("write"));
    let mut put = prepare("INSERT OR REPLACE INTO cells(k, v) VALUES(?1, ?2)")?;
    let mut delete = prepare("DELETE FROM cells WHERE k = ?1")?;
    let mut bytes = Vec::new();
    for change in changes {
        match change? {
            Change::Put(key, row) => {
                bytes.clear();
                row.encode(&key, &mut bytes);
                put.execute((&key, &bytes)).map_err(sql("write"))?;
            }
            Change::Delete(key) => {
                delete.execute([&key]).map_err(sql("write"))?;
            }
        }
    }
    Ok(())
}

pub(super) fn read_page(
    connection: &Connection,
    from: &[u8],
    to: &[u8],
    limit: usize,
    direction: Direction,
    row: &mut PackedSink<'_>,
) -> Result<usize> {
    let text = match direction {
        Direction::Ascending => "SELECT k, v FROM cells WHERE k >= ?1 AND k < ?2 ORDER BY k LIMIT ?3",
        Direction::Descending => "SELECT k, v FROM cells WHERE k >= ?1 AND k < ?2 ORDER BY k DESC LIMIT ?3",
    };
    let mut statement = connection.prepare_cached(text).map_err(sql("read"))?;
    let mut rows = statement.query((from, to, limit as i64)).map_err(sql("read"))?;
    let mut count = 0;
    while let Some(found) = rows.next().map_err(sql("read"))? {
        let blob = |at| found.get_ref(at).map_err(sql("read"))?.as_blob().map_err(|_| damaged_row());
        row(blob(0)?, blob(1)?)?;
        count += 1;
    }
    Ok(count)
}
