//! The index without a change to it: for a check of a store that nobody has open.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, OpenFlags};

use super::db::{Index, sql};
use super::state::{check_of, condemned_path};
use super::{Meta, Witness};
use crate::env::HeldDir;
use crate::wal::StoreId;
use crate::{Error, ErrorKind, Result};

const FILES: [&str; 4] = ["db", "db-wal", "db-shm", "damaged"];

impl Index {
    /// Opens `dir/index.db` for reading; an error says why it could not be used.
    pub fn look(dir: &HeldDir, store: &StoreId, seen: &Arc<Witness>) -> Result<(Self, Meta)> {
        let path = dir.join("index.db");
        let corrupt = |text: &str| Error::new(ErrorKind::Corrupt, text);
        if let Some(odd) = odd_file(dir) {
            return Err(corrupt(&odd));
        }
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
        Ok((Self::with(dir, reader, 8 << 20, Arc::clone(seen)), meta))
    }
}

/// What is wrong with the index's files, if one of them is no regular file: nothing may open it then.
pub(super) fn odd_file(dir: &Path) -> Option<String> {
    ["index.db", "index.db-wal", "index.db-journal", "index.db-shm", "index.damaged"].iter().find_map(|name| {
        let kind = dir.join(name).symlink_metadata().ok()?.file_type();
        (!kind.is_file()).then(|| format!("its {name} is no regular file"))
    })
}

pub(super) fn remove_files(path: &Path) -> Result<()> {
    for extension in ["db", "db-wal", "db-shm", "db-journal", "damaged"] {
        let file = path.with_extension(extension);
        match std::fs::remove_file(&file) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io(format!("remove {}", file.display()), &e));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Where a repair puts the index.
pub(super) const ASIDE: &str = "aside";

/// Moves the files of the index in `dir` into `dir/aside`, in place of those that an earlier call has put there; the
/// next start makes it anew. `None`: there are none.
pub fn set_index_aside(dir: &HeldDir) -> Result<Option<PathBuf>> {
    let path = dir.join("index.db");
    if !path.exists() {
        return Ok(None);
    }
    set_aside_as(dir, ASIDE)?;
    Ok(Some(dir.shown().join(ASIDE)))
}

/// Moves the files of the index in `dir` into a directory there.
pub(super) fn set_aside_as(dir: &HeldDir, name: &str) -> Result<()> {
    let path = dir.join(name);
    let io = |e: std::io::Error| Error::io(format!("set the index in {} aside", dir.shown().display()), &e);
    if path.exists() {
        std::fs::remove_dir_all(&path).map_err(io)?;
    }
    std::fs::create_dir(&path).and_then(|()| dir.give(name)).map_err(io)?;
    let aside = dir.below(name.as_ref()).map_err(io)?;
    for file in FILES.map(|extension| format!("index.{extension}")) {
        if dir.join(&file).exists() {
            std::fs::rename(dir.join(&file), aside.join(&file)).map_err(io)?;
        }
    }
    Ok(())
}
