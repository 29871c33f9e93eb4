//! The blob files: the one that is written, and all others; where their chunks lie.
//!
//! Chunks are written one at a time under one lock, each whole. A file that is full is closed with its table; it counts
//! as sealed once it is synced. Must not know values.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use lru::LruCache;

use super::cache::Cache;
use super::chunk::{Chunk, Packed};
use super::header::{FILE_HEADER, check_file_header, file_header};
use super::table::{FOOTER, Footer, Place, Table};
use super::walk::Walk;
use crate::blob::settings::{BlobState, Naming, Options};
use crate::blob::shares::Shares;
use crate::env::sync::{Condvar, Mutex, RwLock};
use crate::env::{Env, EnvFile};
use crate::format::StoreId;
use crate::{Error, ErrorKind, Result};

/// Between what is damaged and what to do.
const RUN: &str = ". Run: ";
/// Open files at most, beside those that are written or not synced.
const OPEN_FILES: usize = 128;
/// Bytes of tables in memory; that of a full blob has about 64 KiB.
const TABLES: usize = 8 << 20;

/// What is known of a file.
pub(in crate::blob) struct Blob {
    pub number: u64,
    /// Up to the end of what was written.
    pub bytes: AtomicU64,
    /// Known to be on the disk.
    pub synced: AtomicU64,
    pub chunks: AtomicU32,
    pub punched: AtomicU64,
    pub is_sealed: AtomicBool,
    /// Of a file that is not sealed.
    pub table: RwLock<Option<Table>>,
}

/// The file that is written.
pub(in crate::blob) struct Active {
    pub blob: Arc<Blob>,
    pub file: Arc<dyn EnvFile>,
}

/// A file that is closed and not synced yet.
pub(in crate::blob) struct Closed {
    pub blob: Arc<Blob>,
    pub file: Arc<dyn EnvFile>,
}

/// Who syncs, and how far it got.
#[derive(Default)]
pub(in crate::blob) struct SyncState {
    pub is_running: bool,
    /// Of the chunks ever written.
    pub synced: u64,
    /// By which failed sync.
    pub poisoned: Option<String>,
}

/// What is written to, under one lock.
#[derive(Default)]
pub(in crate::blob) struct Writing {
    pub active: Option<Active>,
    pub closed: Vec<Closed>,
    /// Named, but not made yet.
    named: Option<u64>,
    /// Chunks ever written by this process.
    pub written: u64,
}

/// See the module.
pub(in crate::blob) struct Files {
    pub env: Arc<dyn Env>,
    pub dir: PathBuf,
    pub store: StoreId,
    pub naming: Arc<dyn Naming>,
    pub options: Options,
    pub known: RwLock<BTreeMap<u64, Arc<Blob>>>,
    pub writing: Mutex<Writing>,
    pub shares: Arc<Shares>,
    pub syncing: Mutex<SyncState>,
    pub synced: Condvar,
    pub cannot_punch: AtomicBool,
    /// Damaged chunks that a repair has told of.
    pub lost: RwLock<BTreeSet<(u64, u32)>>,
    /// Files that are not known in full, as they could not be read, and why: what is not found in them may be there.
    pub unread: RwLock<BTreeMap<u64, Error>>,
    tables: Cache<u64, Table>,
    open: Mutex<LruCache<u64, Arc<dyn EnvFile>>>,
}

impl Blob {
    pub(in crate::blob) fn new(state: &BlobState, is_sealed: bool, table: Option<Table>) -> Self {
        Self {
            number: state.number,
            bytes: AtomicU64::new(state.bytes),
            synced: AtomicU64::new(state.bytes),
            chunks: AtomicU32::new(state.chunks),
            punched: AtomicU64::new(0),
            is_sealed: AtomicBool::new(is_sealed),
            table: RwLock::new(table),
        }
    }
}

impl Files {
    pub(in crate::blob) fn new(
        env: Arc<dyn Env>,
        dir: PathBuf,
        store: StoreId,
        sealed: Vec<BlobState>,
        naming: Arc<dyn Naming>,
        options: Options,
    ) -> Self {
        let last = sealed.iter().map(|state| state.number).max().unwrap_or(0);
        let shares = Arc::new(Shares::new(options.hints, (last, u32::MAX)));
        let mut known = BTreeMap::new();
        for state in sealed {
            shares.set_dead(state.number, &state.dead);
            known.insert(state.number, Arc::new(Blob::new(&state, true, None)));
        }
        Self {
            env,
            dir,
            store,
            naming,
            options,
            known: RwLock::new(known),
            writing: Mutex::default(),
            shares,
            syncing: Mutex::default(),
            synced: Condvar::new(),
            cannot_punch: AtomicBool::new(false),
            lost: RwLock::default(),
            unread: RwLock::default(),
            tables: Cache::new(TABLES),
            open: Mutex::new(LruCache::new(NonZeroUsize::new(OPEN_FILES).unwrap_or(NonZeroUsize::MIN))),
        }
    }

    /// Where a file lies.
    pub(in crate::blob) fn path(&self, number: u64) -> PathBuf {
        self.dir.join(format!("{number:08}.blob"))
    }

    /// Damage at a place of a file, with what to do about it.
    pub(in crate::blob) fn corrupt(&self, number: u64, offset: Option<u64>, what: &str) -> Error {
        let at = offset.map_or(String::new(), |offset| format!(" at byte {offset}"));
        let store = self.dir.parent().unwrap_or(&self.dir);
        let path = self.path(number);
        let text = format!("{}: {what}{at}{RUN}cellfs check --repair {}", path.display(), store.display());
        Error::new(ErrorKind::Corrupt, text)
    }

    /// Damage of a chunk, with the way out if a repair has told of it already.
    pub(in crate::blob) fn told_of(&self, error: Error, number: u64, chunk: u32) -> Error {
        if error.kind != ErrorKind::Corrupt || !self.lost.read().contains(&(number, chunk)) {
            return error;
        }
        let what = error.message.split(RUN).next().unwrap_or(&error.message);
        let text = format!(
            "{what}: this part of the value is lost, as a repair has told. Write the cell again, restore it from a \
             backup, or delete it"
        );
        Error::new(ErrorKind::Corrupt, text)
    }

    pub(in crate::blob) fn io(&self, doing: &str, number: u64, e: &std::io::Error) -> Error {
        Error::io(format!("{doing} {}", self.path(number).display()), e)
    }

    /// An open file.
    pub(in crate::blob) fn file(&self, number: u64) -> Result<Arc<dyn EnvFile>> {
        if let Some(file) = self.open.lock().get(&number) {
            return Ok(file.clone());
        }
        let file = match self.env.open(&self.path(number)) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(self.corrupt(number, None, "the file is not there"));
            }
            Err(e) => return Err(self.io("open", number, &e)),
        };
        // Where its sector cannot be read, chunks are found all the same.
        if file.len().map_err(|e| self.io("read", number, &e))? < FILE_HEADER {
            return Err(self.corrupt(number, Some(0), "the header is cut off"));
        }
        self.open.lock().push(number, file.clone());
        Ok(file)
    }

    /// Checks the header of a file, which reads do not need: each chunk is bound to file and store.
    pub(in crate::blob) fn check_header(&self, number: u64) -> Result<()> {
        let mut header = [0; FILE_HEADER as usize];
        self.file(number)?.read_at(&mut header, 0).map_err(|e| self.io("read", number, &e))?;
        check_file_header(&header, &self.store, number)
            .map_err(|e| Error { kind: e.kind, ..self.corrupt(number, Some(0), &e.message) })
    }

    /// Where a chunk lies.
    pub(in crate::blob) fn place(&self, number: u64, chunk: u32) -> Result<Place> {
        let blob = self.known.read().get(&number).cloned();
        let Some(blob) = blob else { return Err(self.missing(number, "the store has no such blob file")) };
        let lost = || self.missing(number, &format!("chunk {chunk} is lost"));
        if let Some(table) = &*blob.table.read() {
            return table.get(chunk).ok_or_else(lost);
        }
        self.table(&blob)?.get(chunk).ok_or_else(lost)
    }

    /// What is not found: damage, unless it may be where nothing can be read.
    fn missing(&self, number: u64, what: &str) -> Error {
        self.unread.read().get(&number).cloned().unwrap_or_else(|| self.corrupt(number, None, what))
    }

    /// Where the chunks of a file lie.
    pub(in crate::blob) fn table(&self, blob: &Blob) -> Result<Arc<Table>> {
        if let Some(table) = &*blob.table.read() {
            return Ok(Arc::new(table.clone()));
        }
        if let Some(table) = self.tables.get(&blob.number) {
            return Ok(table);
        }
        let file = self.file(blob.number)?;
        let table = match self.read_table(blob, &*file) {
            Some(table) => table,
            // Both copies, or what leads to them, are damaged: the chunks say where they are.
            None => Walk::table(&*file, &self.store, blob.number).map_err(|e| self.io("read", blob.number, &e))?,
        };
        let weight = table.weight();
        let table = Arc::new(table);
        self.tables.put(blob.number, table.clone(), weight);
        Ok(table)
    }

    /// The table at the end of a sealed file, by its first copy or its second; `None` if neither is whole.
    fn read_table(&self, blob: &Blob, file: &dyn EnvFile) -> Option<Table> {
        let footer = self.footer(blob, file)?;
        footer.at.iter().find_map(|at| self.copy(blob, file, &footer, *at))
    }

    /// Whether the footer of a sealed file and both copies of its table are whole.
    pub(in crate::blob) fn tables_agree(&self, blob: &Blob, file: &dyn EnvFile) -> bool {
        let Some(footer) = self.footer(blob, file) else { return false };
        footer.at.iter().all(|at| self.copy(blob, file, &footer, *at).is_some())
    }

    fn footer(&self, blob: &Blob, file: &dyn EnvFile) -> Option<Footer> {
        let len = blob.bytes.load(Ordering::Acquire);
        let mut footer = [0; FOOTER];
        file.read_at(&mut footer, len.checked_sub(FOOTER as u64)?).ok()?;
        Footer::decode(&footer, len, &self.store, blob.number)
    }

    fn copy(&self, blob: &Blob, file: &dyn EnvFile, footer: &Footer, at: u32) -> Option<Table> {
        let mut body = vec![0; footer.len as usize];
        file.read_at(&mut body, u64::from(at)).ok()?;
        Table::decode(footer, &body, &self.store, blob.number)
    }

    /// Reads and checks a chunk.
    pub(in crate::blob) fn read_chunk(&self, number: u64, chunk: u32) -> Result<Chunk> {
        let place = self.place(number, chunk)?;
        let offset = u64::from(place.offset);
        let mut buffer = vec![0; place.total as usize];
        match self.file(number)?.read_at(&mut buffer, offset) {
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Err(self.corrupt(number, Some(offset), "the file is cut off"));
            }
            read => read.map_err(|e| self.io("read", number, &e))?,
        }
        let decoded = Chunk::decode(buffer, &self.store, number, chunk, offset);
        decoded.ok_or_else(|| self.corrupt(number, Some(offset), &format!("chunk {chunk} is damaged")))
    }

    /// Writes a chunk behind all others: file, number and check.
    pub(in crate::blob) fn write_chunk(&self, mut packed: Packed) -> Result<(u64, u32, u32)> {
        let total = packed.bytes.len() as u64;
        let mut writing = self.writing.lock();
        self.refuse_poisoned()?;
        self.make_room(&mut writing, total)?;
        let Some(Active { blob, file }) = &writing.active else {
            return Err(Error::new(ErrorKind::Io, "no blob file is open"));
        };
        let (offset, number) = (blob.bytes.load(Ordering::Acquire), blob.chunks.load(Ordering::Acquire));
        let check = packed.place(&self.store, blob.number, number, offset);
        file.write_at(&packed.bytes, offset).map_err(|e| self.io("write", blob.number, &e))?;
        if let Some(table) = &mut *blob.table.write() {
            table.put(number, Place { offset: offset as u32, total: total as u32 });
        }
        blob.bytes.store(offset + total, Ordering::Release);
        blob.chunks.store(number + 1, Ordering::Release);
        self.shares.advance((blob.number, number + 1));
        let at = (blob.number, number, check);
        writing.written += 1;
        Ok(at)
    }

    /// Sees to it that the file that is written has room.
    fn make_room(&self, writing: &mut Writing, total: u64) -> Result<()> {
        if let Some(active) = &writing.active {
            let bytes = active.blob.bytes.load(Ordering::Acquire);
            if bytes == FILE_HEADER || bytes + total <= self.roll() {
                return Ok(());
            }
            self.close_active(writing)?;
        }
        let active = self.begin(writing)?;
        writing.active = Some(active);
        Ok(())
    }

    /// Bytes at which a file is full.
    fn roll(&self) -> u64 {
        let small = if self.cannot_punch.load(Ordering::Relaxed) { self.options.roll_unpunched } else { u64::MAX };
        self.options.roll.min(small)
    }

    /// Ends the file that is written with its table; it counts as sealed when it is synced.
    pub(in crate::blob) fn close_active(&self, writing: &mut Writing) -> Result<()> {
        let Some(Active { blob, file }) = &writing.active else { return Ok(()) };
        let end = blob.bytes.load(Ordering::Acquire);
        let table = blob.table.read().as_ref().map(|table| table.encode(&self.store, blob.number)).unwrap_or_default();
        file.write_at(&table, end).map_err(|e| self.io("write", blob.number, &e))?;
        blob.bytes.store(end + table.len() as u64, Ordering::Release);
        if let Some(Active { blob, file }) = writing.active.take() {
            writing.closed.push(Closed { blob, file });
        }
        Ok(())
    }

    /// Makes the next file. Order: named by an edit, made, synced with its directory, before anything is in it.
    fn begin(&self, writing: &mut Writing) -> Result<Active> {
        let number = match writing.named {
            Some(number) => number,
            None => *writing.named.insert(self.naming.begin_blob()?),
        };
        if number == 0 || self.known.read().last_key_value().is_some_and(|(last, _)| number <= *last) {
            // Marks rely on it.
            return Err(Error::new(ErrorKind::Io, format!("blob file {number} is to be made after later ones")));
        }
        let path = self.path(number);
        let exists = self.env.exists(&path).map_err(|e| self.io("look for", number, &e))?;
        if exists {
            // What an attempt before this one has left.
            self.env.remove(&path).map_err(|e| self.io("remove", number, &e))?;
        }
        let file = self.env.create_new(&path).map_err(|e| self.io("make", number, &e))?;
        if file.punch(0, 4096).is_err_and(|e| e.kind() == std::io::ErrorKind::Unsupported) {
            self.cannot_punch.store(true, Ordering::Relaxed);
        }
        file.write_at(&file_header(&self.store, number), 0).map_err(|e| self.io("write", number, &e))?;
        let synced = file.sync().and_then(|()| self.env.sync_dir(&self.dir));
        synced.map_err(|e| self.poison(self.io("sync", number, &e)))?;
        let state = BlobState { number, bytes: FILE_HEADER, ..BlobState::default() };
        let blob = Arc::new(Blob::new(&state, false, Some(Table::default())));
        self.known.write().insert(number, blob.clone());
        self.open.lock().push(number, file.clone());
        writing.named = None;
        Ok(Active { blob, file })
    }

    /// Nothing of a file is needed any more.
    pub(in crate::blob) fn forget(&self, number: u64) {
        self.known.write().remove(&number);
        self.open.lock().pop(&number);
        self.tables.forget(|key| *key == number);
        self.shares.forget(number);
    }
}
