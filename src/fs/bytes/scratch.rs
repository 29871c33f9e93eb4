//! Files of the history that are no versions: temporary files of programs, and versions that wait for the
//! key of their shortened name. Gone at unmount; many or large ones lie on disk.

use std::path::Path;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::env::sync::Mutex;
use crate::fs::bytes::content::{Content, SpillFile};
use crate::model::{FileChange, FileTime};
use crate::spill::{SpillMap, join_key, past_key};
use crate::tree::place::{ScratchDir, ScratchPlace};
use crate::{Error, ErrorKind, Result};

/// Memory that they may take before they are spilled, bytes.
const MEMORY_MAX: usize = 8 << 20;
/// Files too large for memory; each holds a descriptor.
const LARGE_MAX: usize = 1000;

/// What is known of a scratch file beside its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::fs) struct Meta {
    pub len: u64,
    /// What was set on it, its mtime at least.
    pub file: FileChange,
    pub ttl_ms: Option<u64>,
}

impl Meta {
    pub(in crate::fs) fn mtime(&self) -> FileTime {
        self.file.mtime.unwrap_or_default()
    }
}

/// See the module.
pub(in crate::fs) struct ScratchFiles {
    /// Keys of descriptions start with `m`, of bytes with `b`.
    entries: SpillMap,
    large: Mutex<FxHashMap<Vec<u8>, SpillFile>>,
}

fn key(kind: &[u8], place: &ScratchPlace) -> Vec<u8> {
    [dir_key(kind, &place.dir), place.name.clone()].concat()
}

fn dir_key(kind: &[u8], dir: &ScratchDir) -> Vec<u8> {
    let table = dir.table();
    let (namespace, name) = (table.namespace.as_bytes(), table.name.as_bytes());
    match dir {
        ScratchDir::Row(row) => join_key(&[kind, namespace, name, b"row", &row.row]),
        ScratchDir::Family(f) => join_key(&[kind, namespace, name, b"family", &f.row, f.family.as_bytes()]),
        ScratchDir::Waiting(w) => {
            let family = w.family.as_deref().unwrap_or_default();
            join_key(&[kind, namespace, name, b"waiting", &w.name, family.as_bytes()])
        }
    }
}

impl ScratchFiles {
    pub(in crate::fs) fn new(spill_dir: &Path) -> Self {
        Self { entries: SpillMap::new(spill_dir, MEMORY_MAX), large: Mutex::default() }
    }

    /// What is known of a file; `None` if there is none.
    pub(in crate::fs) fn meta(&self, place: &ScratchPlace) -> Result<Option<Meta>> {
        if self.entries.is_untouched() {
            return Ok(None);
        }
        let bytes = self.entries.get(&key(b"m", place))?;
        let broken = |_| Error::new(ErrorKind::Corrupt, "a scratch file's description is damaged");
        bytes.map(|bytes| postcard::from_bytes(&bytes).map_err(broken)).transpose()
    }

    fn set_meta(&self, place: &ScratchPlace, meta: &Meta) -> Result<()> {
        let failed = |e| Error::new(ErrorKind::Io, format!("describe a scratch file: {e}"));
        self.entries.insert(key(b"m", place), postcard::to_stdvec(meta).map_err(failed)?)
    }

    /// A file with its bytes.
    pub(in crate::fs) fn read(&self, place: &ScratchPlace) -> Result<Option<(Meta, Content)>> {
        let Some(meta) = self.meta(place)? else { return Ok(None) };
        let large = self.large.lock().get(&key(b"m", place)).cloned();
        let content = match large {
            Some(file) => Content::Spilled { file, len: meta.len },
            None => Content::of(self.entries.get(&key(b"b", place))?.unwrap_or_default()),
        };
        Ok(Some((meta, content)))
    }

    /// Makes a file, or replaces its bytes.
    pub(in crate::fs) fn write(&self, place: &ScratchPlace, content: &Content, meta: &Meta) -> Result<()> {
        let key_of_meta = key(b"m", place);
        match content {
            Content::Memory(bytes) => {
                self.large.lock().remove(&key_of_meta);
                self.entries.insert(key(b"b", place), bytes.to_vec())?;
            }
            Content::Spilled { file, .. } => {
                let mut large = self.large.lock();
                if large.len() >= LARGE_MAX && !large.contains_key(&key_of_meta) {
                    let text =
                        format!("{LARGE_MAX} large scratch files wait below .history; write their key files first");
                    return Err(Error::new(ErrorKind::TooMany, text));
                }
                large.insert(key_of_meta, Arc::clone(file));
                self.entries.remove(&key(b"b", place))?;
            }
            // They are of no family yet.
            Content::Drafted(_) => return Err(Error::new(ErrorKind::Io, "a scratch file lies with the store")),
        }
        self.set_meta(place, &Meta { len: content.len(), ..meta.clone() })
    }

    /// Changes what is known of a file that is there.
    pub(in crate::fs) fn change(&self, place: &ScratchPlace, change: impl FnOnce(&mut Meta)) -> Result<()> {
        let gone = || Error::new(ErrorKind::NotFound, "the scratch file is not there any more");
        let mut meta = self.meta(place)?.ok_or_else(gone)?;
        change(&mut meta);
        self.set_meta(place, &meta)
    }

    /// Removes a file; whether it was there.
    pub(in crate::fs) fn remove(&self, place: &ScratchPlace) -> Result<bool> {
        let key_of_meta = key(b"m", place);
        self.large.lock().remove(&key_of_meta);
        self.entries.remove(&key(b"b", place))?;
        self.entries.remove(&key_of_meta)
    }

    /// Names of files in a directory after `after`, ascending.
    pub(in crate::fs) fn names(&self, dir: &ScratchDir, after: Option<&[u8]>, limit: usize) -> Result<Vec<Vec<u8>>> {
        if self.entries.is_untouched() {
            return Ok(Vec::new());
        }
        let prefix = dir_key(b"m", dir);
        let from = after.map_or_else(|| prefix.clone(), |name| [prefix.as_slice(), name, &[0]].concat());
        let found = self.entries.range(&from, &past_key(&prefix), limit)?;
        Ok(found.into_iter().map(|(key, _)| key[prefix.len()..].to_vec()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TableName;
    use crate::tree::place::RowPlace;

    fn place(row: &[u8], name: &[u8]) -> ScratchPlace {
        let row = RowPlace { table: TableName::parse("t").unwrap(), row: row.to_vec() };
        ScratchPlace { dir: ScratchDir::Row(row), name: name.to_vec() }
    }

    #[test]
    fn files_are_kept_by_directory_and_name() {
        let directory = tempfile::tempdir().unwrap();
        let files = ScratchFiles::new(directory.path());
        let meta =
            Meta { len: 0, file: FileChange::of_time(Some(FileTime { seconds: -1, nanos: 5 })), ttl_ms: Some(7) };
        for (row, name) in [(b"r", b"b"), (b"r", b"a"), (b"s", b"c")] {
            files.write(&place(row, name), &Content::of(name.to_vec()), &meta).unwrap();
        }
        assert_eq!(files.names(&place(b"r", b"").dir, None, 10).unwrap(), [b"a", b"b"]);
        assert_eq!(files.names(&place(b"r", b"").dir, Some(b"a"), 10).unwrap(), [b"b"]);
        let (read, mut content) = files.read(&place(b"s", b"c")).unwrap().unwrap();
        assert_eq!((read, content.read(0, 9).unwrap()), (Meta { len: 1, ..meta.clone() }, b"c".to_vec()));
        files.change(&place(b"s", b"c"), |meta| meta.ttl_ms = None).unwrap();
        assert_eq!(files.meta(&place(b"s", b"c")).unwrap().unwrap().ttl_ms, None);
        assert!(files.remove(&place(b"s", b"c")).unwrap());
        assert!(files.read(&place(b"s", b"c")).unwrap().is_none());
    }

    #[test]
    fn large_files_keep_their_file() {
        let directory = tempfile::tempdir().unwrap();
        let files = ScratchFiles::new(directory.path());
        let mut content = Content::empty();
        let beyond = crate::fs::bytes::content::Beyond::spilled(directory.path());
        content.write(crate::fs::bytes::content::MEMORY_MAX, b"end", &beyond).unwrap();
        let meta = Meta { len: 0, file: FileChange::default(), ttl_ms: None };
        files.write(&place(b"r", b"a"), &content, &meta).unwrap();
        let (meta, mut read) = files.read(&place(b"r", b"a")).unwrap().unwrap();
        assert_eq!(meta.len, content.len());
        assert_eq!(read.read(crate::fs::bytes::content::MEMORY_MAX, 9).unwrap(), b"end");
    }
}
