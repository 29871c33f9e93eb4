//! What exists in a mount without a stored cell: directories made by `mkdir` or emptied and not removed
//! since, and files that were created and are not committed yet.
//!
//! Forgotten at unmount. Bounded: past [`MADE_MAX`] entries the caller is told to prune those that hold
//! cells by now, and `mkdir` is refused when that does not help.

use std::collections::BTreeSet;
use std::ops::Bound;

use parking_lot::Mutex;

use super::place::{FamilyPlace, RowPlace};
use crate::model::{ColumnKey, Qualifier, TableName};
use crate::{Error, ErrorKind, Result};

/// Most directories that are remembered (about 150 bytes each).
pub const MADE_MAX: usize = 200_000;

/// What one mount shows beyond the store.
#[derive(Debug, Default)]
pub struct Uncommitted {
    sets: Mutex<Sets>,
}

#[derive(Debug, Default)]
struct Sets {
    rows: BTreeSet<RowPlace>,
    families: BTreeSet<FamilyPlace>,
    /// Bounded by the number of open handles.
    cells: BTreeSet<ColumnKey>,
}

impl Uncommitted {
    /// Remembers a created file until it is committed.
    pub fn add_cell(&self, column: &ColumnKey) {
        self.sets.lock().cells.insert(column.clone());
    }

    /// Forgets a created file: it was committed or unlinked.
    pub fn remove_cell(&self, column: &ColumnKey) {
        self.sets.lock().cells.remove(column);
    }

    /// Created files of a family after `after`, ascending.
    pub fn cells(&self, family: &FamilyPlace, after: Option<&[u8]>, limit: usize) -> Vec<Qualifier> {
        let sets = self.sets.lock();
        let from = match after {
            None => Bound::Included(family.column(Vec::new())),
            Some(qualifier) => Bound::Excluded(family.column(qualifier.to_vec())),
        };
        let of_family = |c: &&ColumnKey| c.table == family.table && c.row == family.row && c.family == family.family;
        let names = sets.cells.range((from, Bound::Unbounded)).take_while(of_family).map(|c| c.qualifier.clone());
        names.take(limit).collect()
    }

    /// Remembers a row's directory.
    pub fn add_row(&self, place: &RowPlace) -> Result<()> {
        let mut sets = self.sets.lock();
        if !sets.rows.contains(place) {
            sets.check_room()?;
            sets.rows.insert(place.clone());
        }
        Ok(())
    }

    /// Remembers a family's directory.
    pub fn add_family(&self, place: &FamilyPlace) -> Result<()> {
        let mut sets = self.sets.lock();
        if !sets.families.contains(place) {
            sets.check_room()?;
            sets.families.insert(place.clone());
        }
        Ok(())
    }

    pub fn has_row(&self, place: &RowPlace) -> bool {
        let sets = self.sets.lock();
        sets.rows.contains(place) || sets.first_family(place).is_some()
    }

    pub fn has_family(&self, place: &FamilyPlace) -> bool {
        self.sets.lock().families.contains(place)
    }

    /// Forgets a row's directory; true if it was remembered.
    pub fn remove_row(&self, place: &RowPlace) -> bool {
        self.sets.lock().rows.remove(place)
    }

    /// Forgets a family's directory; true if it was remembered.
    pub fn remove_family(&self, place: &FamilyPlace) -> bool {
        self.sets.lock().families.remove(place)
    }

    /// Forgets everything of a table.
    pub fn remove_table(&self, table: &TableName) {
        let mut sets = self.sets.lock();
        sets.rows.retain(|place| place.table != *table);
        sets.families.retain(|place| place.table != *table);
    }

    /// Rows of a table after `after`, ascending.
    pub fn rows(&self, table: &TableName, after: Option<&[u8]>, limit: usize) -> Vec<Vec<u8>> {
        let sets = self.sets.lock();
        let place = |row: &[u8]| RowPlace { table: table.clone(), row: row.to_vec() };
        let from = after.map_or(Bound::Included(place(b"")), |row| Bound::Excluded(place(row)));
        let rows = sets.rows.range((from, Bound::Unbounded)).take_while(|p| p.table == *table).map(|p| p.row.clone());
        rows.take(limit).collect()
    }

    /// Families of a row, ascending.
    pub fn families(&self, row: &RowPlace) -> Vec<String> {
        let sets = self.sets.lock();
        sets.families_of(row).map(|place| place.family.clone()).collect()
    }

    /// All remembered places, to find out which hold cells by now.
    pub fn snapshot(&self) -> (Vec<RowPlace>, Vec<FamilyPlace>) {
        let sets = self.sets.lock();
        (sets.rows.iter().cloned().collect(), sets.families.iter().cloned().collect())
    }

    /// Whether an add would be refused.
    pub fn is_full(&self) -> bool {
        self.sets.lock().check_room().is_err()
    }
}

impl Sets {
    fn check_room(&self) -> Result<()> {
        if self.rows.len() + self.families.len() >= MADE_MAX {
            let text =
                format!("{MADE_MAX} empty directories are the most that a mount keeps; fill or remove some first");
            return Err(Error::new(ErrorKind::TooMany, text));
        }
        Ok(())
    }

    fn families_of(&self, row: &RowPlace) -> impl Iterator<Item = &FamilyPlace> {
        let from = FamilyPlace { table: row.table.clone(), row: row.row.clone(), family: String::new() };
        let of = (row.table.clone(), row.row.clone());
        self.families.range(from..).take_while(move |place| place.table == of.0 && place.row == of.1)
    }

    fn first_family(&self, row: &RowPlace) -> Option<&FamilyPlace> {
        self.families_of(row).next()
    }
}
