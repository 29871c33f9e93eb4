//! Shortened names: from the name to the key.
//!
//! Keys that were written as key files are remembered until unmount, those of cells lie in the store. A name
//! stands for one key for ever, so what was met once stays true.

use std::num::NonZeroUsize;
use std::path::Path;

use crate::env::sync::Mutex;
use lru::LruCache;

use super::escape::{At, Bytes, Level, NAME_MAX, STEM_MAX, Spelling, is_shortened};
use super::place::{FamilyPlace, Place, RowPlace, family_of};
use super::resolve::Tree;
use crate::backend::{HistoryFrom, RowListing, Versions};
use crate::model::{Qualifier, RowKey, TableName, TimeRange};
use crate::spill::{SpillMap, join_key};
use crate::{Error, ErrorKind, Result};

/// Keys fetched at once when a shortened name is looked for.
const PAGE: usize = 1000;
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
    fn met(&self, name: &[u8]) -> Option<Vec<u8>> {
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
            let stem = spelling.file_name(Level::Qualifier, qualifier, STEM_MAX);
            self.written.insert(column_entry(family, &stem), qualifier.to_vec())?;
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

fn row_entry(table: &TableName, name: &[u8]) -> Vec<u8> {
    join_key(&[b"row", table.namespace.as_bytes(), table.name.as_bytes(), name])
}

/// A name stands for one key, whatever it is the name of.
fn anywhere(name: &[u8]) -> Vec<u8> {
    join_key(&[b"met", name])
}

fn column_entry(family: &FamilyPlace, stem: &[u8]) -> Vec<u8> {
    let (table, name) = (&family.table, family.family.as_bytes());
    join_key(&[b"column", table.namespace.as_bytes(), table.name.as_bytes(), &family.row, name, stem])
}

impl Tree {
    /// The row key of a shortened name; `None` where no row of the table, stored or made, has it.
    pub(super) fn find_row(
        &self,
        spelling: Spelling,
        table: &TableName,
        prefixes: &[Vec<u8>],
        name: &[u8],
    ) -> Result<Option<RowKey>> {
        let entry = row_entry(table, name);
        if let Some(row) = self.keys.recent.lock().get(&entry) {
            return Ok(Some(row.clone()));
        }
        if let Some(row) = self.keys.written_row(table, name)? {
            return Ok(Some(row));
        }
        for prefix in prefixes {
            let named = |row: &RowKey| spelling.file_name(Level::Row, row, NAME_MAX) == name;
            if let Some(row) = self.search_rows(table, prefix, named)? {
                let mut recent = self.keys.recent.lock();
                recent.put(entry, row.clone());
                recent.put(anywhere(name), row.clone());
                return Ok(Some(row));
            }
        }
        Ok(self.keys.met(name).filter(|row| spelling.file_name(Level::Row, row, NAME_MAX) == name))
    }

    fn search_rows(&self, table: &TableName, prefix: &[u8], named: impl Fn(&RowKey) -> bool) -> Result<Option<RowKey>> {
        let before = crate::model::after_prefix(prefix);
        let mut after = prefix.to_vec();
        loop {
            let listing = RowListing {
                table: table.clone(),
                after: Some(after.clone()),
                before: before.clone(),
                time_range: TimeRange::ALL,
                which: Versions::LiveAndKept,
                limit: PAGE,
            };
            let page = self.backend.list_rows(&listing)?;
            let last = page.last().filter(|_| page.len() == PAGE).map(<[u8]>::to_vec);
            let mut page: Vec<RowKey> = page.iter().map(<[u8]>::to_vec).collect();
            let until = last.as_deref().or(Some(before.as_slice()).filter(|before| !before.is_empty()));
            for made in [&self.uncommitted.dirs, &self.restored] {
                page.extend(made.rows(table, Some(&after), until, usize::MAX)?);
            }
            if let Some(row) = page.into_iter().find(&named) {
                return Ok(Some(row));
            }
            match last {
                Some(last) => after = last,
                None => return Ok(None),
            }
        }
    }

    /// The qualifier of a shortened stem of at most `limit` bytes; `None` where no column of the family,
    /// stored or being made, has it.
    pub(super) fn find_qualifier(
        &self,
        spelling: Spelling,
        family: &FamilyPlace,
        (prefixes, stem): (&[Vec<u8>], &[u8]),
        limit: usize,
    ) -> Result<Option<Qualifier>> {
        if let Some(qualifier) = self.keys.recent.lock().get(&column_entry(family, stem)) {
            return Ok(Some(qualifier.clone()));
        }
        if let Some(qualifier) = self.keys.written_column(family, stem)? {
            return Ok(Some(qualifier));
        }
        // A suffix may stand behind the name that is shown.
        let limit = if stem.len() > STEM_MAX { NAME_MAX } else { limit };
        let named = |q: &Qualifier| spelling.file_name(Level::Qualifier, q, limit) == stem;
        let made = self.uncommitted.cells(family, None, usize::MAX);
        let found = match made.into_iter().find(named) {
            Some(qualifier) => Some(qualifier),
            None => {
                let mut found = None;
                for prefix in prefixes {
                    found = found.map_or_else(|| self.search_columns(family, prefix, &named), |f| Ok(Some(f)))?;
                }
                found
            }
        };
        if let Some(qualifier) = &found {
            self.keys.note_column(family, stem, qualifier);
        }
        Ok(found.or_else(|| self.keys.met(stem).filter(named)))
    }

    fn search_columns(
        &self,
        family: &FamilyPlace,
        prefix: &[u8],
        named: &dyn Fn(&Qualifier) -> bool,
    ) -> Result<Option<Qualifier>> {
        let mut from = HistoryFrom { qualifier: prefix.to_vec(), before: None };
        loop {
            let page = self.backend.list_history(&family.table, &family.row, &family.family, Some(&from), PAGE)?;
            for (qualifier, _) in &page {
                if !qualifier.starts_with(prefix) {
                    return Ok(None);
                }
                if named(qualifier) {
                    return Ok(Some(qualifier.clone()));
                }
            }
            match page.last() {
                // The first column behind this one: its other versions do not matter.
                Some((last, _)) if page.len() == PAGE => from.qualifier = [last.as_slice(), &[0]].concat(),
                _ => return Ok(None),
            }
        }
    }
}

/// The refusal of a shortened name of no key.
pub(super) fn no_short_name(name: &[u8]) -> Error {
    let name = String::from_utf8_lossy(name).into_owned();
    Error::new(ErrorKind::NotFound, format!("no key has the shortened name `{name}`; write the key into its key file"))
}
