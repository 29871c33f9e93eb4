//! What is stored of a table, from what is counted as it is written; the memtables are counted when asked.

use super::engine::{Engine, known_table};
use super::memtable::Memtable;
use crate::Result;
use crate::backend::{ColumnNumbers, FamilyColumns, FamilyNumbers};
use crate::index::{COLUMNS_MAX, ColumnChanges, ColumnsKept, FamilyStats, key, same_row};
use crate::model::{FamilySchema, TableName};

impl Engine {
    /// Numbers of each family of a table, in the order of their names.
    pub fn table_numbers(&self, name: &TableName) -> Result<Vec<FamilyNumbers>> {
        let catalogue = self.catalogue.load();
        Ok(known_table(&catalogue, name)?.families.values().map(|family| self.family_numbers(family)).collect())
    }

    fn family_numbers(&self, family: &FamilySchema) -> FamilyNumbers {
        let (stats, tables) = {
            // Order: no flush in between, or its cells would count twice or not at all.
            let _alone = self.maintenance.lock();
            (self.meta.lock().families.get(&family.id).cloned(), self.tables.load_full())
        };
        let FamilyStats { cells, layers, .. } = stats.unwrap_or_default();
        let mut numbers = FamilyNumbers {
            name: family.name.clone(),
            cells,
            unflushed: 0,
            bytes: layers.iter().map(|layer| layer.bytes).sum(),
            least_rows: layers.iter().map(|layer| layer.rows).max().unwrap_or(0),
            most_rows: layers.iter().map(|layer| layer.rows).sum(),
            layers: layers.len() as u64,
        };
        for table in tables.all() {
            add_unflushed(&mut numbers, family, table);
        }
        numbers.least_rows = numbers.least_rows.min(numbers.cells);
        numbers.most_rows = numbers.most_rows.min(numbers.cells);
        numbers
    }

    /// What is stored under each qualifier of the families of a table.
    pub fn table_columns(&self, name: &TableName) -> Result<Vec<FamilyColumns>> {
        let catalogue = self.catalogue.load();
        let families = known_table(&catalogue, name)?.families.values();
        families
            .map(|family| Ok(FamilyColumns { family: family.name.clone(), columns: self.family_columns(family)? }))
            .collect()
    }

    /// `None`: there are too many.
    fn family_columns(&self, family: &FamilySchema) -> Result<Option<Vec<ColumnNumbers>>> {
        let (kept, indexed, tables) = {
            // Order: as above.
            let _alone = self.maintenance.lock();
            let kept = self.meta.lock().families.get(&family.id).map_or(ColumnsKept::default(), |stats| stats.columns);
            (kept, self.index.columns(family.id)?, self.tables.load_full())
        };
        let mut unflushed = ColumnChanges::default();
        for table in tables.all() {
            let (from, end) = (key::family_prefix(family.id), key::family_end(family.id));
            table.page(&from, &end, usize::MAX, &mut |key, cell| {
                unflushed.add(key, key::row_prefix_len(key).unwrap_or(0), &cell.to_row())
            });
        }
        let (ColumnsKept::All(_), Some(unflushed)) = (kept, unflushed.of_family(family.id)) else { return Ok(None) };
        let mut all: std::collections::BTreeMap<_, _> = indexed.into_iter().collect();
        for (qualifier, stats) in unflushed {
            all.entry(qualifier).and_modify(|sum: &mut crate::index::ColumnStats| sum.add(&stats)).or_insert(stats);
        }
        let numbers = |(qualifier, stats): (_, crate::index::ColumnStats)| ColumnNumbers {
            qualifier,
            cells: stats.cells.cast_unsigned(),
            bytes: stats.bytes.cast_unsigned(),
            oldest: stats.oldest,
            newest: stats.newest,
        };
        Ok((all.len() <= COLUMNS_MAX).then(|| all.into_iter().map(numbers).collect()))
    }
}

fn add_unflushed(numbers: &mut FamilyNumbers, family: &FamilySchema, table: &Memtable) {
    let (from, end) = (key::family_prefix(family.id), key::family_end(family.id));
    let (mut last, mut rows) = (Vec::new(), 0);
    let cells = table.page(&from, &end, usize::MAX, &mut |key, cell| {
        rows += u64::from(!same_row(&last, key));
        last.clear();
        last.extend_from_slice(key);
        numbers.bytes += cell.stored_bytes();
    });
    numbers.cells += cells as u64;
    numbers.unflushed += cells as u64;
    numbers.least_rows = numbers.least_rows.max(rows);
    numbers.most_rows += rows;
}
