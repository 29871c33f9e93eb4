//! What is stored of a table, from what its extents say; the memtables are counted when asked.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::backend::{COLUMNS_PAGE, ColumnNumbers, ColumnsPage, FamilyColumns, FamilyNumbers};
use crate::format::key;
use crate::model::{FamilyId, FamilySchema, Qualifier, TableName, Timestamp};
use crate::store::cursor::lent::Lent;
use crate::store::cursor::walk::Cursor;
use crate::store::engine::{Engine, family, known_table};
use crate::store::layout::far::FAR;
use crate::store::layout::runs::Layout;
use crate::store::memory::memtable::{FamilyTable, MemCell, Memtables};
use crate::{Error, ErrorKind, Result};

/// Qualifiers of a family that are told one by one.
const COLUMNS_MAX: usize = 10_000;
/// Cells after which a walk takes a new view, so that memtables and files can go.
const PAGE_CELLS: usize = 100_000;

/// Numbers of each family of a table, in the order of their names.
pub fn table_numbers(engine: &Engine, name: &TableName) -> Result<Vec<FamilyNumbers>> {
    let catalogue = engine.catalogue.load();
    Ok(known_table(&catalogue, name)?.families.values().map(|family| family_numbers(engine, family)).collect())
}

fn family_numbers(engine: &Engine, family: &FamilySchema) -> FamilyNumbers {
    let view = engine.view();
    let runs = view.layout.runs(family.id).map(|runs| runs.runs.as_slice()).unwrap_or_default();
    let rows = |run: &std::sync::Arc<crate::store::layout::runs::Run>| run.sum(|facts| facts.rows);
    let mut numbers = FamilyNumbers {
        name: family.name.clone(),
        cells: runs.iter().map(|run| run.sum(|facts| facts.cells)).sum(),
        unflushed: 0,
        bytes: runs.iter().map(|run| run.sum(|facts| facts.key_bytes + facts.value_bytes)).sum(),
        least_rows: runs.iter().map(rows).max().unwrap_or(0),
        most_rows: runs.iter().map(rows).sum(),
        layers: runs.len() as u64,
    };
    for table in view.tables.of(family.id) {
        add_unflushed(&mut numbers, &table);
    }
    numbers.least_rows = numbers.least_rows.min(numbers.cells);
    numbers.most_rows = numbers.most_rows.min(numbers.cells);
    numbers
}

/// What is stored under each qualifier of the families of a table.
pub fn table_columns(engine: &Engine, name: &TableName) -> Result<Vec<FamilyColumns>> {
    let catalogue = engine.catalogue.load();
    let families = known_table(&catalogue, name)?.families.values();
    families
        .map(|family| Ok(FamilyColumns { family: family.name.clone(), columns: family_columns(engine, family)? }))
        .collect()
}

/// `None`: there are too many.
pub fn family_columns(engine: &Engine, family: &FamilySchema) -> Result<Option<Vec<ColumnNumbers>>> {
    let view = engine.view();
    let mut all: BTreeMap<Qualifier, ColumnNumbers> = BTreeMap::new();
    let mut add = |numbers: ColumnNumbers| match all.get_mut(&numbers.qualifier) {
        Some(sum) => {
            sum.cells += numbers.cells;
            sum.bytes += numbers.bytes;
            sum.oldest = sum.oldest.min(numbers.oldest);
            sum.newest = sum.newest.max(numbers.newest);
        }
        None => drop(all.insert(numbers.qualifier.clone(), numbers)),
    };
    for extent in view.layout.runs(family.id).iter().flat_map(|runs| &runs.runs).flat_map(|run| &run.extents) {
        // Until a compaction is through, what it has copied counts twice.
        let Some(columns) = extent.readable()?.columns()? else { return Ok(None) };
        for column in columns {
            let crate::segment::ColumnFacts { qualifier, cells, bytes, oldest, newest, .. } = column;
            add(ColumnNumbers { qualifier, cells, bytes, oldest, newest });
        }
    }
    for table in view.tables.of(family.id) {
        let counted: std::result::Result<(), ()> = table.all(|cell| {
            if let Some(numbers) = of_cell(cell) {
                add(numbers);
            }
            Ok(())
        });
        debug_assert!(counted.is_ok());
    }
    Ok((all.len() <= COLUMNS_MAX).then(|| all.into_values().collect()))
}

/// See [`crate::backend::Backend::columns_page`]. Holds the page: of the qualifiers that are met the first ones.
pub fn columns_page(engine: &Engine, page: &ColumnsPage) -> Result<Vec<ColumnNumbers>> {
    let catalogue = engine.catalogue.load();
    let family = family(known_table(&catalogue, &page.table)?, &page.family)?;
    let limit = page.limit.clamp(1, COLUMNS_PAGE);
    let mut found: BTreeMap<Qualifier, ColumnNumbers> = BTreeMap::new();
    let mut from = Vec::new();
    loop {
        let view = engine.view();
        let mut cursor = Cursor::new(&view, family.id, &from, FAR, 1024)?;
        for _ in 0..PAGE_CELLS {
            let Some(key) = cursor.key() else { return Ok(found.into_values().collect()) };
            let place = key::row_prefix_len(key).and_then(|len| key::qualifier_of(key, len));
            let (Some(qualifier), Some((timestamp, kind, _))) = (place, key::decode_suffix(key)) else {
                return Err(Error::new(ErrorKind::Corrupt, "a stored cell has a key that is none"));
            };
            let bytes = cursor.cell().map_or(0, |cell| cell.len());
            cursor.advance()?;
            let is_behind = page.after.as_ref().is_none_or(|after| qualifier > *after);
            if !kind.is_put() || !is_behind {
                continue;
            }
            // One that was left out was behind all that are in, and stays so: none is counted in part.
            let is_left_out = found.len() == limit && found.last_key_value().is_some_and(|(last, _)| qualifier > *last);
            if is_left_out {
                continue;
            }
            let (oldest, newest) = (timestamp, timestamp);
            let none = || ColumnNumbers { qualifier: qualifier.clone(), cells: 0, bytes: 0, oldest, newest };
            let sum = found.entry(qualifier.clone()).or_insert_with(none);
            (sum.cells, sum.bytes) = (sum.cells + 1, sum.bytes + bytes);
            (sum.oldest, sum.newest) = (sum.oldest.min(timestamp), sum.newest.max(timestamp));
            if found.len() > limit {
                found.pop_last();
            }
        }
        match cursor.key() {
            Some(key) => from = key.to_vec(),
            None => return Ok(found.into_values().collect()),
        }
    }
}

/// Cells in extents and in memory, without the entries of secondary indexes.
pub fn stored_cells(engine: &Engine, layout: &Layout, tables: &Memtables) -> u64 {
    let catalogue = engine.catalogue.load();
    let entries: FxHashSet<FamilyId> = catalogue.entry_families().map(|family| family.id).collect();
    let is_cell = |id: FamilyId| !entries.contains(&id);
    let extents = layout.extents().filter(|extent| is_cell(extent.reference.family));
    let flushed: u64 = extents.filter_map(|extent| extent.facts()).map(|facts| facts.cells).sum();
    let in_memory = tables.all().flat_map(|table| table.families()).filter(|(id, _)| is_cell(*id));
    flushed + in_memory.map(|(_, family)| family.len()).sum::<u64>()
}

fn of_cell(cell: &MemCell) -> Option<ColumnNumbers> {
    let key = cell.key();
    let (timestamp, kind, _) = key::decode_suffix(key)?;
    let qualifier = key::qualifier_of(key, key::row_prefix_len(key)?)?;
    let (oldest, newest): (Timestamp, Timestamp) = (timestamp, timestamp);
    kind.is_put().then(|| ColumnNumbers { qualifier, cells: 1, bytes: Lent::Memory(cell).len(), oldest, newest })
}

fn add_unflushed(numbers: &mut FamilyNumbers, table: &FamilyTable) {
    let (mut last, mut rows, mut cells): (Vec<u8>, u64, u64) = (Vec::new(), 0, 0);
    let counted: std::result::Result<(), ()> = table.all(|cell| {
        let key = cell.key();
        if last.is_empty() || !key.starts_with(&last) {
            rows += 1;
            last.clear();
            last.extend_from_slice(&key[..key::row_prefix_len(key).unwrap_or(key.len())]);
        }
        cells += 1;
        numbers.bytes += key.len() as u64 + cell.value().value_len();
        Ok(())
    });
    debug_assert!(counted.is_ok());
    numbers.cells += cells;
    numbers.unflushed += cells;
    numbers.least_rows = numbers.least_rows.max(rows);
    numbers.most_rows += rows;
}
