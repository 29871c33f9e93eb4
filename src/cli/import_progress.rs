//! How far an import has come, kept beside its file: a run that was stopped goes on there.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use crate::bulk::{Array, Columns, Format, Import, Position, Tally};
use crate::model::{TableName, Timestamp};
use crate::{Error, ErrorKind, Result};

/// What is kept, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    /// Of what is kept here.
    pub version: u32,
    /// What tells the store from others.
    pub store: u64,
    pub format: String,
    pub columns: Option<Columns>,
    pub keep_empty: bool,
    /// Rows are given by the fields of the table's recipe.
    #[serde(default)]
    pub key: bool,
    /// What tells the types of a schema file from others.
    #[serde(default)]
    pub types: Option<u64>,
    /// Of what says no timestamp: the same when it is written again.
    pub timestamp: i64,
    /// What of the file is in the table. Of Parquet: rows, and about what they would be as text.
    pub bytes: u64,
    pub lines: u64,
    /// What of an array is in there.
    #[serde(default)]
    pub array: Array,
    /// Of these bytes: whether the file is still the same. Of Parquet: of its length and its end.
    pub digest: u64,
    pub rows: u64,
    pub cells: u64,
    pub bad: u64,
    /// Rows of these may be counted more than once.
    #[serde(default)]
    pub comes_back: bool,
    /// The file that takes bad lines, and what it has of them and of before.
    pub rejects: Option<(String, u64)>,
}

const VERSION: u32 = 1;
/// What is looked at of a Parquet file: its footer says where all the rest is, and what it has.
const END: u64 = 64 << 10;

/// The file beside the input, and the bytes of that which were given to the import and are not in the table yet.
pub struct Keeper {
    path: PathBuf,
    pub kept: Kept,
    /// Of the bytes before this place; of Parquet, whose bytes are not given, of its length and its end.
    digest: Xxh3,
    digested: u64,
    /// Those behind it: what the import holds of the file.
    given: Vec<u8>,
    /// Bytes that were given since it was kept last.
    unkept: usize,
    /// What was done before this run.
    before: Tally,
    /// Lines behind which what is kept goes on.
    behind: Option<u64>,
}

/// What tells a store from others, without its secret.
pub fn store_mark(hash_key: &[u8; 16]) -> u64 {
    xxh3_64(hash_key)
}

/// Where the progress of an import of a file into a table is kept.
pub fn place_of(file: &Path, table: &TableName) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(format!(".{}.{}.cellfs-import", table.namespace, table.name));
    name.into()
}

impl Kept {
    /// It is Parquet, which is read by its rows and not from the beginning to the end.
    fn is_of_rows(&self) -> bool {
        self.format == Format::Parquet.name()
    }
}

/// A digest of the length of a file and of its end.
fn of_end(file: &mut File, name: &Path) -> Result<Xxh3> {
    let mut digest = Xxh3::new();
    let mut read = || {
        let len = file.seek(SeekFrom::End(0))?;
        file.seek(SeekFrom::Start(len.saturating_sub(END)))?;
        let mut end = Vec::new();
        file.take(END).read_to_end(&mut end)?;
        digest.update(&len.to_le_bytes());
        digest.update(&end);
        file.rewind()
    };
    read().map_err(|e| Error::io(format!("read {}", name.display()), &e))?;
    Ok(digest)
}

impl Keeper {
    /// Of an import of a file that begins.
    pub fn new(path: PathBuf, kept: Kept, (file, name): (&mut File, &Path)) -> Result<Self> {
        let kept = Kept { version: VERSION, ..kept };
        let digest = if kept.is_of_rows() { of_end(file, name)? } else { Xxh3::new() };
        Ok(Self {
            path,
            kept,
            digest,
            digested: 0,
            given: Vec::new(),
            unkept: 0,
            before: Tally::default(),
            behind: None,
        })
    }

    /// What an import has left; `NotFound` if there is none.
    pub fn load(path: PathBuf, file: &Path) -> Result<Self> {
        let shown = file.display();
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                let text = format!(
                    "no import of {shown} into this table was stopped: {} is not there. Begin without --resume",
                    path.display()
                );
                return Err(Error::new(ErrorKind::NotFound, text));
            }
            Err(e) => return Err(Error::io(format!("read {}", path.display()), &e)),
        };
        let kept: Kept =
            serde_json::from_slice(&text).ok().filter(|kept: &Kept| kept.version == VERSION).ok_or_else(|| {
                let text =
                    format!("{} is not what an import keeps; remove it and begin without --resume", path.display());
                Error::new(ErrorKind::Corrupt, text)
            })?;
        let before = Tally { rows: kept.rows, cells: kept.cells, bad: kept.bad, comes_back: kept.comes_back };
        let behind = Some(kept.lines);
        Ok(Self { path, kept, digest: Xxh3::new(), digested: 0, given: Vec::new(), unkept: 0, before, behind })
    }

    /// Reads the file up to where the import goes on. Refuses one that is not the same up to there.
    pub fn pass(&mut self, file: &mut File, name: &Path) -> Result<()> {
        if self.kept.is_of_rows() {
            self.digest = of_end(file, name)?;
            return if self.digest.digest() == self.kept.digest { Ok(()) } else { Err(self.has_changed(name, "rows")) };
        }
        let failed = |e: &std::io::Error| Error::io(format!("read {}", name.display()), e);
        let (mut left, mut buffer) = (self.kept.bytes, vec![0; 1 << 20]);
        while left > 0 {
            let wanted = buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let read = file.read(&mut buffer[..wanted]).map_err(|e| failed(&e))?;
            if read == 0 {
                break;
            }
            self.digest.update(&buffer[..read]);
            self.digested += read as u64;
            left -= read as u64;
        }
        let is_same = left == 0 && self.digest.digest() == self.kept.digest;
        if is_same { Ok(()) } else { Err(self.has_changed(name, "lines")) }
    }

    fn has_changed(&self, name: &Path, unit: &str) -> Error {
        let text = format!(
            "{} has changed in the {} {unit} that are imported; begin anew without --resume",
            name.display(),
            self.kept.lines
        );
        Error::new(ErrorKind::IllegalArgument, text)
    }

    /// Where the import goes on.
    pub fn position(&self) -> Position {
        Position { bytes: self.kept.bytes, lines: self.kept.lines, array: self.kept.array }
    }

    pub fn time(&self) -> Timestamp {
        Timestamp(self.kept.timestamp)
    }

    /// These bytes are given to the import, which has stored all before a place.
    pub fn give(&mut self, bytes: &[u8], done: Position) {
        self.let_go(done);
        self.given.extend_from_slice(bytes);
        self.unkept += bytes.len();
    }

    /// What is stored is not held.
    fn let_go(&mut self, done: Position) {
        let stored = usize::try_from(done.bytes.saturating_sub(self.digested)).unwrap_or(usize::MAX);
        let stored = stored.min(self.given.len());
        self.digest.update(&self.given[..stored]);
        self.given.drain(..stored);
        self.digested += stored as u64;
    }

    /// Bytes that were given since it was kept last.
    pub fn unkept(&self) -> usize {
        self.unkept
    }

    /// What this import has done in all of its runs, of which the last has done so much.
    pub fn totals(&self, tally: Tally) -> Tally {
        let Tally { rows, cells, bad, comes_back } = self.before;
        Tally {
            rows: rows + tally.rows,
            cells: cells + tally.cells,
            bad: bad + tally.bad,
            comes_back: comes_back || tally.comes_back,
        }
    }

    /// The line, or row, behind which another run would go on, in words; `None`: nothing is kept.
    pub fn behind(&self) -> Option<String> {
        let unit = if self.kept.is_of_rows() { "row" } else { "line" };
        self.behind.map(|lines| format!("{unit} {lines}"))
    }

    /// Keeps how far an import has come, whose cells are on the disk.
    pub fn keep(&mut self, import: &Import, rejects: Option<(String, u64)>) -> Result<()> {
        let done = import.done();
        self.let_go(done);
        self.unkept = 0;
        self.kept.array = done.array;
        (self.kept.bytes, self.kept.lines, self.kept.digest) = (done.bytes, done.lines, self.digest.digest());
        // What is behind that place is done again.
        let Tally { rows, cells, bad, .. } = self.totals(import.tally_done());
        self.kept.comes_back |= import.tally().comes_back;
        (self.kept.rows, self.kept.cells, self.kept.bad) = (rows, cells, bad);
        // Of Parquet they are known from the beginning.
        if let Some(columns) = import.columns() {
            self.kept.columns = Some(columns.clone());
        }
        self.kept.rejects = rejects;
        self.write().map_err(|e| Error::io(format!("write {}", self.path.display()), &e))?;
        self.behind = Some(done.lines);
        Ok(())
    }

    fn write(&self) -> std::io::Result<()> {
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::Builder::new().prefix(".cellfs-import-").tempfile_in(directory)?;
        file.write_all(&serde_json::to_vec(&self.kept)?)?;
        // Order: whole before it takes the place of the one before.
        file.as_file().sync_data()?;
        file.persist(&self.path).map(drop).map_err(|e| e.error)
    }

    /// The import is done.
    pub fn remove(&self) {
        if let Err(e) = std::fs::remove_file(&self.path) {
            log::debug!("remove {}: {e}", self.path.display());
        }
    }
}
