//! Shortened names: from the name to the key.
//!
//! Keys that were written as key files are remembered until unmount, those of cells lie in the store. A name
//! stands for one key for ever, so what was met once stays true.

use std::num::NonZeroUsize;
use std::path::Path;

use crate::env::sync::Mutex;
use lru::LruCache;

use super::escape::{At, Bytes, Level, NAME_MAX, STEM_MAX, Spelling, is_shortened};
use crate::model::{Qualifier, RowKey, TableName};
use crate::spill::{SpillMap, join_key};
use crate::tree::place::{FamilyPlace, Place, RowPlace, family_of};
use crate::{Error, ErrorKind, Result};

/// Of any mount.
const SPELLINGS: [Spelling; 4] = [
    Spelling { bytes: Bytes::Text, at: At::Version },
    Spelling { bytes: Bytes::Text, at: At::Plain },
    Spelling { bytes: Bytes::Raw, at: At::Version },
    Spelling { bytes: Bytes::Raw, at: At::Plain },
];
/// Names that are remembered.
const RECENT: usize = 1000;
/// Memory that written keys may take before they are spilled, bytes.
const MEMORY_MAX: usize = 1 << 20;

/// Keys that are known without asking the store.
pub struct KnownKeys {
    recent: Mutex<LruCache<Vec<u8>, Vec<u8>>>,
    /// Keys that were written as key files.
    written: SpillMap,
}

impl KnownKeys {
    pub fn new(spill_dir: &Path) -> Self {
        let recent = LruCache::new(NonZeroUsize::new(RECENT).unwrap_or(NonZeroUsize::MIN));
        Self { recent: recent.into(), written: SpillMap::new(spill_dir, MEMORY_MAX) }
    }

    /// The key of an entry that was met lately.
    pub fn recent(&self, entry: &[u8]) -> Option<Vec<u8>> {
        self.recent.lock().get(entry).cloned()
    }

    /// Remembers the shortened name of a row that was met.
    pub fn note_row(&self, entry: Vec<u8>, name: &[u8], row: &[u8]) {
        let mut recent = self.recent.lock();
        recent.put(entry, row.to_vec());
        recent.put(anywhere(name), row.to_vec());
    }

    /// Remembers the shortened name of a column that was met.
    pub fn note_column(&self, family: &FamilyPlace, stem: &[u8], qualifier: &[u8]) {
        let mut recent = self.recent.lock();
        recent.put(column_entry(family, stem), qualifier.to_vec());
        recent.put(anywhere(stem), qualifier.to_vec());
    }

    /// Remembers the key of a name that was shown, if that is a shortened one.
    pub fn note_name(&self, name: &[u8], key: &[u8]) {
        if is_shortened(name) {
            self.recent.lock().put(anywhere(name), key.to_vec());
        }
    }

    /// The key of a shortened name that was met lately wherever: who copies a file there makes its name here.
    pub fn met(&self, name: &[u8]) -> Option<Vec<u8>> {
        self.recent.lock().get(&anywhere(name)).cloned()
    }

    /// A key file of a row was written.
    pub fn write_row(&self, row: &RowPlace) -> Result<()> {
        for spelling in SPELLINGS {
            let name = spelling.file_name(Level::Row, &row.row, NAME_MAX);
            self.written.insert(row_entry(&row.table, &name), row.row.clone())?;
        }
        Ok(())
    }

    /// A key file of a column was written.
    pub fn write_column(&self, family: &FamilyPlace, qualifier: &[u8]) -> Result<()> {
        for spelling in SPELLINGS {
            for limit in [STEM_MAX, NAME_MAX] {
                let name = spelling.file_name(Level::Qualifier, qualifier, limit);
                self.written.insert(column_entry(family, &name), qualifier.to_vec())?;
            }
        }
        Ok(())
    }

    /// A key file was unlinked: it is not shown until it is written again.
    pub fn hide(&self, place: &Place) -> Result<()> {
        match entry_of(place) {
            Some(entry) => self.written.insert(entry, Vec::new()),
            None => Ok(()),
        }
    }

    /// What became of the key file at a place.
    pub fn key_file(&self, place: &Place) -> Result<KeyFileState> {
        let entry = entry_of(place).filter(|_| !self.written.is_untouched());
        let found = entry.map_or(Ok(None), |entry| self.written.get(&entry))?;
        Ok(match found {
            None => KeyFileState::Untouched,
            // No key that has a shortened name is empty.
            Some(key) if key.is_empty() => KeyFileState::Unlinked,
            Some(_) => KeyFileState::Written,
        })
    }

    /// The row key whose key file was written under this name.
    pub fn written_row(&self, table: &TableName, name: &[u8]) -> Result<Option<RowKey>> {
        self.written_key(&row_entry(table, name))
    }

    /// The qualifier whose key file was written under this stem.
    pub fn written_column(&self, family: &FamilyPlace, stem: &[u8]) -> Result<Option<Qualifier>> {
        self.written_key(&column_entry(family, stem))
    }

    fn written_key(&self, entry: &[u8]) -> Result<Option<Vec<u8>>> {
        if self.written.is_untouched() {
            return Ok(None);
        }
        Ok(self.written.get(entry)?.filter(|key| !key.is_empty()))
    }
}

/// What a mount knows of a key file beside the cells in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFileState {
    /// It is there with the cells of its key.
    Untouched,
    Written,
    Unlinked,
}

fn entry_of(place: &Place) -> Option<Vec<u8>> {
    match place {
        Place::RowKey(row) => {
            Some(row_entry(&row.table, &Spelling::default().file_name(Level::Row, &row.row, NAME_MAX)))
        }
        Place::KeyFile(column) => {
            let stem = Spelling::default().file_name(Level::Qualifier, &column.qualifier, STEM_MAX);
            Some(column_entry(&family_of(column), &stem))
        }
        _ => None,
    }
}

pub(in crate::tree) fn row_entry(table: &TableName, name: &[u8]) -> Vec<u8> {
    join_key(&[b"row", table.namespace.as_bytes(), table.name.as_bytes(), name])
}

/// A name stands for one key, whatever it is the name of.
fn anywhere(name: &[u8]) -> Vec<u8> {
    join_key(&[b"met", name])
}

pub(in crate::tree) fn column_entry(family: &FamilyPlace, stem: &[u8]) -> Vec<u8> {
    let (table, name) = (&family.table, family.family.as_bytes());
    join_key(&[b"column", table.namespace.as_bytes(), table.name.as_bytes(), &family.row, name, stem])
}

/// The refusal of a shortened name of no key.
pub(in crate::tree) fn no_short_name(name: &[u8]) -> Error {
    let name = String::from_utf8_lossy(name).into_owned();
    Error::new(ErrorKind::NotFound, format!("no key has the shortened name `{name}`; write the key into its key file"))
}
