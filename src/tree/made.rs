//! What exists in a mount without a stored cell: directories made by `mkdir` or emptied and not removed
//! since, and files that were created and are not committed yet.
//!
//! Forgotten at unmount. Many directories are spilled to disk, so that memory stays bounded.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::Path;

use super::place::{FamilyPlace, RowPlace};
use crate::Result;
use crate::env::sync::Mutex;
use crate::model::{ColumnKey, Qualifier, TableName};
use crate::spill::{SpillMap, first_part, join_key, past_key};

/// Memory that directories may take before they are spilled, bytes.
const MEMORY_MAX: usize = 4 << 20;
/// Entries that are looked at together.
const PAGE: usize = 256;

/// What one mount shows beyond the store.
pub struct Uncommitted {
    pub dirs: MadeDirs,
    /// Bounded by the number of open handles.
    cells: Mutex<BTreeSet<ColumnKey>>,
}

impl Uncommitted {
    pub fn new(spill_dir: &Path) -> Self {
        Self { dirs: MadeDirs::new(spill_dir), cells: Mutex::default() }
    }

    /// Remembers a created file until it is committed.
    pub fn add_cell(&self, column: &ColumnKey) {
        self.cells.lock().insert(column.clone());
    }

    /// Forgets a created file: it was committed or unlinked.
    pub fn remove_cell(&self, column: &ColumnKey) {
        self.cells.lock().remove(column);
    }

    /// Whether a file was created and is not committed.
    pub fn has_cell(&self, family: &FamilyPlace, qualifier: &[u8]) -> bool {
        self.cells.lock().contains(&family.column(qualifier.to_vec()))
    }

    /// Created files of a family after `after`, ascending.
    pub fn cells(&self, family: &FamilyPlace, after: Option<&[u8]>, limit: usize) -> Vec<Qualifier> {
        let cells = self.cells.lock();
        let from = match after {
            None => Bound::Included(family.column(Vec::new())),
            Some(qualifier) => Bound::Excluded(family.column(qualifier.to_vec())),
        };
        let of_family = |c: &&ColumnKey| c.table == family.table && c.row == family.row && c.family == family.family;
        let names = cells.range((from, Bound::Unbounded)).take_while(of_family).map(|c| c.qualifier.clone());
        names.take(limit).collect()
    }
}

/// Directories of rows and of their families, ordered as the tree lists them.
pub struct MadeDirs {
    /// Key of a table, a row, then nothing (the row itself) or the family.
    map: SpillMap,
}

impl MadeDirs {
    pub fn new(spill_dir: &Path) -> Self {
        Self { map: SpillMap::new(spill_dir, MEMORY_MAX) }
    }

    /// Remembers a row's directory.
    pub fn add_row(&self, place: &RowPlace) -> Result<()> {
        self.map.insert(row_key(place), Vec::new())
    }

    /// Remembers a family's directory.
    pub fn add_family(&self, place: &FamilyPlace) -> Result<()> {
        self.map.insert(family_key(place), Vec::new())
    }

    /// As [`MadeDirs::add_family`], of a column's.
    pub fn add_family_of(&self, column: &ColumnKey) -> Result<()> {
        self.map.insert(key_of((&column.table, &column.row, &column.family)), Vec::new())
    }

    /// Whether a row's directory, or one of a family in it, is remembered.
    pub fn has_row(&self, place: &RowPlace) -> Result<bool> {
        let key = row_key(place);
        Ok(!self.map.is_untouched() && !self.map.range(&key, &past_key(&key), 1)?.is_empty())
    }

    /// Whether a row's directory itself is remembered.
    pub fn has_made_row(&self, place: &RowPlace) -> Result<bool> {
        Ok(!self.map.is_untouched() && self.map.get(&row_key(place))?.is_some())
    }

    pub fn has_family(&self, place: &FamilyPlace) -> Result<bool> {
        Ok(!self.map.is_untouched() && self.map.get(&family_key(place))?.is_some())
    }

    /// Forgets a row's directory; true if it was remembered.
    pub fn remove_row(&self, place: &RowPlace) -> Result<bool> {
        self.map.remove(&row_key(place))
    }

    /// Forgets a family's directory; true if it was remembered.
    pub fn remove_family(&self, place: &FamilyPlace) -> Result<bool> {
        self.map.remove(&family_key(place))
    }

    /// Forgets everything of a table.
    pub fn remove_table(&self, table: &TableName) -> Result<()> {
        let key = table_key(table);
        self.map.remove_range(&key, &past_key(&key))
    }

    /// What is remembered of a table is remembered of another.
    pub fn rename_table(&self, from: &TableName, to: &TableName) -> Result<()> {
        if self.map.is_untouched() {
            return Ok(());
        }
        let (key, new) = (table_key(from), table_key(to));
        let end = past_key(&key);
        let mut at = key.clone();
        loop {
            let page = self.map.range(&at, &end, PAGE)?;
            for (entry, _) in &page {
                self.map.insert([new.as_slice(), &entry[key.len()..]].concat(), Vec::new())?;
            }
            match page.last() {
                Some((last, _)) if page.len() == PAGE => at = [last.as_slice(), &[0]].concat(),
                _ => return self.map.remove_range(&key, &end),
            }
        }
    }

    /// Rows of a table after `after` and, if given, up to and including `until`, ascending.
    pub fn rows(
        &self,
        table: &TableName,
        after: Option<&[u8]>,
        until: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let mut rows: Vec<Vec<u8>> = Vec::new();
        if self.map.is_untouched() {
            return Ok(rows);
        }
        let table_key = table_key(table);
        let end_of = |row: &[u8]| past_key(&[table_key.as_slice(), &join_key(&[row])].concat());
        let mut from = after.map_or_else(|| table_key.clone(), end_of);
        let end = until.map_or_else(|| past_key(&table_key), end_of);
        loop {
            let page = self.map.range(&from, &end, PAGE)?;
            for row in page.iter().filter_map(|(key, _)| first_part(&key[table_key.len()..])) {
                if rows.last() != Some(&row) {
                    if rows.len() == limit {
                        return Ok(rows);
                    }
                    rows.push(row);
                }
            }
            match rows.last() {
                Some(last) if page.len() == PAGE => from = end_of(last),
                _ => return Ok(rows),
            }
        }
    }

    /// Families of a row, ascending.
    pub fn families(&self, row: &RowPlace) -> Result<Vec<String>> {
        if self.map.is_untouched() {
            return Ok(Vec::new());
        }
        let key = row_key(row);
        // A row has no more of them than its table.
        let entries = self.map.range(&key, &past_key(&key), usize::MAX >> 1)?;
        let name = |entry: Vec<u8>| String::from_utf8(entry[key.len()..].to_vec()).ok();
        Ok(entries.into_iter().filter_map(|(entry, _)| name(entry)).filter(|name| !name.is_empty()).collect())
    }
}

fn table_key(table: &TableName) -> Vec<u8> {
    join_key(&[table.namespace.as_bytes(), table.name.as_bytes()])
}

fn row_key(place: &RowPlace) -> Vec<u8> {
    join_key(&[place.table.namespace.as_bytes(), place.table.name.as_bytes(), &place.row])
}

fn family_key(place: &FamilyPlace) -> Vec<u8> {
    key_of((&place.table, &place.row, &place.family))
}

fn key_of((table, row, family): (&TableName, &[u8], &str)) -> Vec<u8> {
    let mut key = join_key(&[table.namespace.as_bytes(), table.name.as_bytes(), row]);
    key.extend_from_slice(family.as_bytes());
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(row: &[u8]) -> RowPlace {
        RowPlace { table: TableName::parse("t").unwrap(), row: row.to_vec() }
    }

    fn family(of: &[u8], family: &str) -> FamilyPlace {
        FamilyPlace { table: TableName::parse("t").unwrap(), row: of.to_vec(), family: family.to_owned() }
    }

    #[test]
    fn rows_are_listed_once_and_in_order_whatever_their_bytes() {
        let directory = tempfile::tempdir().unwrap();
        let made = MadeDirs::new(directory.path());
        let mut names: Vec<Vec<u8>> = (0..=255).map(|b| vec![b]).collect();
        names.extend([vec![0, 0], vec![0, 1], vec![0, 255], vec![1, 0], b"row".to_vec()]);
        for name in &names {
            made.add_row(&row(name)).unwrap();
            made.add_family(&family(name, "f")).unwrap();
            made.add_family(&family(name, "g")).unwrap();
        }
        let table = row(b"").table;
        names.sort();
        assert_eq!(made.rows(&table, None, None, 1000).unwrap(), names);
        assert_eq!(made.rows(&table, Some(&[0]), None, 3).unwrap(), names[1..4]);
        assert_eq!(made.rows(&table, Some(&[0, 1]), Some(&[1, 0]), 1000).unwrap(), [vec![0, 255], vec![1], vec![1, 0]]);
        assert_eq!(made.families(&row(&[0, 1])).unwrap(), ["f", "g"]);
        assert!(made.remove_row(&row(b"row")).unwrap());
        assert!(made.has_row(&row(b"row")).unwrap(), "its families are there");
        made.remove_family(&family(b"row", "f")).unwrap();
        made.remove_family(&family(b"row", "g")).unwrap();
        assert!(!made.has_row(&row(b"row")).unwrap());
        names.retain(|name| name != b"row");
        let other = TableName::parse("other").unwrap();
        made.rename_table(&table, &other).unwrap();
        assert!(made.rows(&table, None, None, 1).unwrap().is_empty());
        assert_eq!(made.rows(&other, None, None, 1000).unwrap(), names);
        made.rename_table(&other, &table).unwrap();
        assert_eq!(made.families(&row(&[0, 1])).unwrap(), ["f", "g"]);
        made.remove_table(&table).unwrap();
        assert!(made.rows(&table, None, None, 1).unwrap().is_empty());
    }
}
