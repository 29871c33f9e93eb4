//! The index without a change to it: for a check of a store that nobody has open.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags};

use super::db::{Index, sql};
use super::state::{check_of, condemned_path};
use super::{Meta, Witness};
use crate::wal::StoreId;
use crate::{Error, ErrorKind, Result};

const FILES: [&str; 4] = ["db", "db-wal", "db-shm", "damaged"];

impl Index {
    /// Opens `dir/index.db` for reading; an error says why it could not be used.
    pub fn look(dir: &Path, store: &StoreId, seen: &Arc<Witness>) -> Result<(Self, Meta)> {
        let dir = dir.canonicalize().map_err(|e| Error::io(format!("open {}", dir.display()), &e))?;
        let path = dir.join("index.db");
        let corrupt = |text: &str| Error::new(ErrorKind::Corrupt, text);
        if !path.exists() {
            return Err(corrupt("it is absent"));
        }
        if condemned_path(&path).exists() {
            return Err(corrupt("it was found to be damaged"));
        }
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let reader = Connection::open_with_flags(&path, flags).map_err(sql("open"))?;
        let meta = check_of(&reader, store, seen)?;
        Ok((Self::with(&path, reader, 8 << 20, Arc::clone(seen)), meta))
    }
}

/// Where a repair puts the index.
pub(super) const ASIDE: &str = "aside";

/// Moves the files of the index in `dir` into `dir/aside`, in place of those that an earlier call has put there; the
/// next start makes it anew. `None`: there are none.
pub fn set_index_aside(dir: &Path) -> Result<Option<PathBuf>> {
    let path = dir.join("index.db");
    if path.exists() { set_aside_as(&path, ASIDE).map(Some) } else { Ok(None) }
}

/// Moves the files of the index at `path` into a directory beside it; the directory.
pub(super) fn set_aside_as(path: &Path, name: &str) -> Result<PathBuf> {
    let aside = path.with_file_name(name);
    let io = |e: std::io::Error| Error::io(format!("set the index {} aside", path.display()), &e);
    if aside.exists() {
        std::fs::remove_dir_all(&aside).map_err(io)?;
    }
    std::fs::create_dir(&aside).map_err(io)?;
    for file in FILES.map(|extension| path.with_extension(extension)) {
        if let Some(name) = file.file_name().filter(|_| file.exists()) {
            std::fs::rename(&file, aside.join(name)).map_err(io)?;
        }
    }
    Ok(aside)
}
