//! The index of before a rebuild, as far as it can be read: it names cells whose records are damaged.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::db::{Index, damaged_row, sql};
use super::look::{odd_file, remove_files, set_aside_as};
use super::state::{FORMAT, get_meta, read_meta};
use super::{IndexRow, Meta, Witness};
use crate::env::HeldDir;
use crate::wal::StoreId;
use crate::{Error, Result};

/// Where an index is until another one has been made in its place.
const FORMER: &str = "former";

/// See the module.
pub struct FormerIndex {
    /// Order: dropped before the directory is let go.
    connection: Connection,
    _dir: HeldDir,
    /// Its state, if that can be read.
    pub meta: Option<Meta>,
    /// Whether it is the last that the store has had.
    pub is_latest: bool,
}

/// Takes a key and its row; an error ends the walk.
type EachRow<'f> = dyn FnMut(&[u8], IndexRow) -> Result<()> + 'f;

/// What opens an index file that is never written to.
fn read_only(path: &Path) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    Connection::open_with_flags(path, flags).map_err(sql("open"))
}

/// Whether it is a finished index of this store, damaged or not.
fn is_of_store(connection: &Connection, store: &StoreId) -> bool {
    let format = get_meta(connection, "format").ok().flatten();
    let of = get_meta(connection, "store").ok().flatten();
    let unfinished = matches!(get_meta(connection, "state"), Ok(None));
    format.as_deref() == Some(&FORMAT.to_le_bytes()) && of.as_deref() == Some(store) && !unfinished
}

/// Sets an index aside that cannot be trusted, or throws it away if nothing of it can help.
pub(super) fn retire(dir: &HeldDir, store: &StoreId) -> Result<()> {
    let path = dir.join("index.db");
    if odd_file(dir).is_none() && read_only(&path).is_ok_and(|connection| is_of_store(&connection, store)) {
        set_aside_as(dir, FORMER)?;
    }
    remove_files(&path)
}

impl Index {
    /// The index of before this one: what was set aside when this one was begun, or by a repair.
    pub fn former(&self, store: &StoreId, witness: &Witness) -> Option<FormerIndex> {
        [FORMER, super::look::ASIDE].iter().find_map(|name| {
            let dir = self.dir().below(name.as_ref()).ok()?;
            if odd_file(&dir).is_some() {
                return None;
            }
            let connection = read_only(&dir.join("index.db")).ok()?;
            if !is_of_store(&connection, store) {
                return None;
            }
            let (seen, meta) = (witness.commits_seen(), read_meta(&connection).ok());
            let is_latest = meta.as_ref().is_some_and(|meta| seen.is_some_and(|seen| seen <= meta.commits));
            Some(FormerIndex { connection, meta, is_latest, _dir: dir })
        })
    }

    /// Removes the index of before, for which there is no need any more; whether there was one.
    pub fn forget_former(&self) -> Result<bool> {
        let dir = self.dir().join(FORMER);
        match std::fs::remove_dir_all(&dir) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(Error::io(format!("remove {}", self.dir().shown().join(FORMER).display()), &e)),
        }
    }
}

impl FormerIndex {
    /// Rows that are as they were written: all that can be reached from either end.
    pub fn rows(&self, each: &mut EachRow<'_>) -> Result<()> {
        let mut last = Vec::new();
        if self.walk("SELECT k, v FROM cells ORDER BY k", &mut last, &|_| true, each)? {
            return Ok(());
        }
        let before = last.clone();
        self.walk("SELECT k, v FROM cells ORDER BY k DESC", &mut last, &|key| key > before.as_slice(), each)?;
        Ok(())
    }

    /// Whether the end was reached, of a walk while `wanted`; `last`: the last key that was.
    fn walk(
        &self,
        text: &str,
        last: &mut Vec<u8>,
        wanted: &dyn Fn(&[u8]) -> bool,
        each: &mut EachRow<'_>,
    ) -> Result<bool> {
        let Ok(mut statement) = self.connection.prepare(text) else { return Ok(false) };
        let Ok(mut rows) = statement.query([]) else { return Ok(false) };
        loop {
            let Ok(next) = rows.next() else { return Ok(false) };
            let Some(row) = next else { return Ok(true) };
            let blob = |at| row.get_ref(at).ok().and_then(|value| value.as_blob().ok()).ok_or_else(damaged_row);
            let (Ok(key), Ok(packed)) = (blob(0), blob(1)) else { continue };
            if !wanted(key) {
                return Ok(true);
            }
            if let Some(row) = IndexRow::decode(key, packed) {
                last.clear();
                last.extend_from_slice(key);
                each(key, row)?;
            }
        }
    }
}
