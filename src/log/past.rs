//! Files of the log that are covered and stay for those who follow changes: `log/NNNNNNNN.past`.
//!
//! Nothing else reads them: recovery, check and repair see files of the log by their other name.

use std::path::{Path, PathBuf};

use super::form::bytes::Bytes;
use super::form::file::{FileHeader, HEADER, list, path_of};
use crate::env::{Env, EnvFile};
use crate::format::StoreId;
use crate::model::SeqNo;
use crate::{Error, Result};

/// Where a file of the past is.
pub fn past_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:08}.past"))
}

/// Numbers of the files of the past, ascending.
pub fn list_past(env: &dyn Env, dir: &Path) -> Result<Vec<u64>> {
    let names = env.list(dir).map_err(|e| Error::io(format!("list {}", dir.display()), &e))?;
    let number = |name: &String| name.strip_suffix(".past")?.parse().ok();
    let mut found: Vec<u64> = names.iter().filter_map(number).collect();
    found.sort_unstable();
    Ok(found)
}

/// What becomes of a covered file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Becomes {
    Gone,
    /// It stays for those who follow changes.
    Past,
    /// It could not be read as a whole, and another day or another program may: it gets a name by which no store finds
    /// it, `NNNNNNNN.log.damaged`.
    Aside,
}

/// A covered file goes, or has another name from now on. After a power cut it may be what it was before.
pub fn retire(env: &dyn Env, dir: &Path, number: u64, becomes: Becomes) -> std::io::Result<()> {
    let path = path_of(dir, number);
    match becomes {
        // Order: what is kept is on the disk before. What was flushed from it is there without it, but nobody could tell
        // of it.
        Becomes::Past if env.open(&path).and_then(|file| file.sync()).is_ok() => {
            env.rename(&path, &past_path(dir, number))
        }
        Becomes::Past | Becomes::Gone => env.remove(&path),
        Becomes::Aside => {
            let aside = path.with_extension("log.damaged");
            log::warn!("{} cannot be read as a whole; it is kept as {}", path.display(), aside.display());
            env.rename(&path, &aside)
        }
    }
}

/// Removes the oldest files of the past until the rest takes at most so many bytes.
pub fn prune(env: &dyn Env, dir: &Path, most: u64) -> Result<()> {
    let mut left = 0;
    for number in list_past(env, dir)?.into_iter().rev() {
        let path = past_path(dir, number);
        let len = env.open(&path).and_then(|file| file.len()).unwrap_or(0);
        left += len;
        if left > most {
            env.remove(&path).map_err(|e| Error::io(format!("remove {}", path.display()), &e))?;
        }
    }
    Ok(())
}

/// The files of a log, ascending, each with the number up to which it counts: later ones take over behind that.
pub fn counting(env: &dyn Env, dir: &Path, store: &StoreId) -> Result<Vec<(u64, SeqNo)>> {
    let mut upto = SeqNo(u64::MAX);
    let mut found = Vec::new();
    for number in list(env, dir)?.into_iter().rev() {
        found.push((number, upto));
        // One that cannot be opened or read takes nothing over.
        let header = match env.open(&path_of(dir, number)).ok().map(|file| header_of(&*file, number, store)) {
            Some(Err(e)) if e.kind == crate::ErrorKind::Io => None,
            header => header.transpose()?.flatten(),
        };
        upto = upto.min(header.map_or(upto, |header| header.before));
    }
    found.reverse();
    Ok(found)
}

/// What the headers of a log tell of the rest of its store.
pub struct Headers {
    /// The greatest number of an edit that a file names: it was on the disk when the file was begun.
    pub edit: u64,
    /// The number of the last record before all files; `None`: the first one does not say.
    pub before: Option<SeqNo>,
}

/// Reads the headers of a log.
pub fn headers(env: &dyn Env, dir: &Path, store: &StoreId) -> Result<Headers> {
    let header = |number| header_of(&*env.open(&path_of(dir, number)).ok()?, number, store).ok()?;
    let found: Vec<Option<FileHeader>> = list(env, dir)?.into_iter().map(header).collect();
    // A file that was removed may be back after a power cut, without those in front of it that were removed as well: what it
    // needs is in the one for which they were.
    let least = found.iter().flatten().map(|header| header.before).min();
    let before = least.filter(|_| found.first().is_some_and(Option::is_some));
    Ok(Headers { edit: found.iter().flatten().map(|header| header.edit).max().unwrap_or_default(), before })
}

/// The store that the header of a log file names, if one is whole.
pub fn store_of(env: &dyn Env, dir: &Path) -> Result<Option<StoreId>> {
    for number in list(env, dir)? {
        let bytes = Bytes::of(env, dir, number)?;
        let bytes = bytes.all();
        let store = bytes.get(20..36).and_then(|id| StoreId::try_from(id).ok());
        if let Some(store) = store
            && FileHeader::decode(bytes, number, &store)?.is_some()
        {
            return Ok(Some(store));
        }
    }
    Ok(None)
}

/// The header of a file; `None`: it has none that is whole.
pub fn header_of(file: &dyn EnvFile, number: u64, store: &StoreId) -> Result<Option<FileHeader>> {
    let mut bytes = [0; HEADER as usize];
    match file.read_at(&mut bytes, 0) {
        Ok(()) => FileHeader::decode(&bytes, number, store),
        Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Ok(None),
        Err(e) => Err(Error::io(format!("read log file {number}"), &e)),
    }
}
