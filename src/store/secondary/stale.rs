//! Which entries a compaction may drop: those of values that no put in their row has any more.

use super::entry::{CUT, cut, decode};
use crate::Result;
use crate::format::key;
use crate::model::{Catalogue, FamilyId, FamilySchema, Qualifier};
use crate::store::cursor::view::ReadView;
use crate::store::cursor::walk::Cursor;
use crate::store::engine::Engine;
use crate::store::read::lookup::read_reference;

/// Judges the entries of one index.
pub struct Stale<'e> {
    engine: &'e Engine,
    /// Of the indexed column.
    family: FamilySchema,
    qualifier: Qualifier,
}

impl<'e> Stale<'e> {
    /// For what a family holds; `None`: it holds no entries, or the family of the indexed column is not there now (what
    /// is dropped may come back, and finds its entries).
    pub fn of(engine: &'e Engine, catalogue: &Catalogue, entries: FamilyId) -> Option<Self> {
        let mut all = catalogue.tables.values().flat_map(|table| table.indexes.values().map(move |of| (table, of)));
        let (table, index) = all.find(|(_, index)| index.entries.id == entries)?;
        let column = index.columns.first()?;
        let family = table.families.get(&column.family)?.clone();
        Some(Self { engine, family, qualifier: column.qualifier.clone() })
    }

    /// Whether an entry, which is in an extent, is needed by nobody who does not hold that extent.
    ///
    /// Order: the view that is looked at is taken after the extents that are merged were chosen. A put that came
    /// before it is found in it, as long as it is stored at all. A put that comes after it has an entry of its own, of a
    /// greater number, in memory or in a later extent, and that one is not judged here. What is not stored any more at
    /// the view does not come back but with its own extents: a view, a snapshot of the store and what is restored of
    /// it hold those of the entries with them, as of the same edit.
    pub fn is_stale(&self, key: &[u8]) -> Result<bool> {
        let Some((value, row)) = decode(key) else { return Ok(false) };
        let view = self.engine.view();
        let mut is_needed = false;
        #[cfg(test)]
        if self.engine.breaks(crate::store::options::Broken::DropsEntries) {
            return Ok(true);
        }
        each_first_bytes(self.engine, &view, &self.family, (&row, &self.qualifier), &mut |other| {
            is_needed = cut(other) == value;
            !is_needed
        })?;
        Ok(!is_needed)
    }
}

/// Calls `each` with what entries have of the value of each put of a column that is stored in any form, while it
/// answers true.
pub fn each_first_bytes(
    engine: &Engine,
    view: &ReadView,
    family: &FamilySchema,
    (row, qualifier): (&[u8], &Qualifier),
    each: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<()> {
    let prefix = key::row_prefix(row);
    let column = key::column_prefix(&prefix, qualifier);
    let mut cursor = Cursor::new(view, family.id, &column, key::prefix_end(&column), 16)?;
    each_first_bytes_at(engine, view, &mut cursor, (&column, prefix.len()), each)
}

/// As [`each_first_bytes`], of the column at whose beginning a cursor stands, if it has cells; `row_len`: of
/// the part of its keys that names the row.
pub fn each_first_bytes_at(
    engine: &Engine,
    view: &ReadView,
    cursor: &mut Cursor,
    (column, row_len): (&[u8], usize),
    each: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<()> {
    let mut bytes = Vec::new();
    while let Some(key) = cursor.key().filter(|key| key.starts_with(column)) {
        if key::decode_suffix(key).is_some_and(|(_, kind, _)| kind.is_put()) {
            if cursor.cell().is_some_and(|cell| !cell.is_root() && !cell.is_damaged()) {
                cursor.load_value(&mut bytes)?;
            } else if let Some(cell) = cursor.stored(row_len) {
                bytes = read_reference(engine, view, &cell.value, 0, CUT)?;
            }
            if !each(&bytes) {
                break;
            }
        }
        cursor.advance()?;
    }
    Ok(())
}
