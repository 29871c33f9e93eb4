//! Gets: one row. What of it is in the answer is `query`'s.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::lookup::read_reference;
use crate::Result;
use crate::env::sync::Mutex;
use crate::format::key;
use crate::model::{
    FamilyId, FamilySchema, Get, ReadSpec, RowKey, StoredCell, TableSchema, TakePiece, TimeRange, check_row,
};
use crate::query::{RowKeyVerdict, RowQuery, RowRequest, ValueLoader};
use crate::store::cursor::row_cells::SharedRow;
use crate::store::cursor::view::ReadView;
use crate::store::cursor::walk::Cursor;
use crate::store::engine::{Engine, family};

/// Reads values for `query`.
pub struct Loader<'s>(pub &'s Engine, pub &'s ReadView);

impl ValueLoader for Loader<'_> {
    fn load(&mut self, cell: &StoredCell) -> Result<Vec<u8>> {
        self.load_part(cell, 0, cell.value.len() as usize)
    }

    fn load_part(&mut self, cell: &StoredCell, offset: u64, len: usize) -> Result<Vec<u8>> {
        read_reference(self.0, self.1, &cell.value, offset, len)
    }
}

/// One row, in pieces; none if nothing of it is visible.
pub fn get_pieces(engine: &Engine, get: &Get, take: TakePiece<'_>) -> Result<()> {
    check_row(&get.row)?;
    let catalogue = engine.catalogue.load();
    let table = engine.table(&catalogue, &get.table)?;
    get_in(engine, &engine.view(), table, (&get.row, &get.read), take)
}

/// As [`get_pieces`], as a view has it.
pub fn get_in(
    engine: &Engine,
    view: &ReadView,
    table: &TableSchema,
    (row, read): (&[u8], &ReadSpec),
    emit: TakePiece<'_>,
) -> Result<()> {
    let without_doubt;
    let mut view = view;
    if view.doubt.is_some() {
        without_doubt = settled(view, table, (row, read))?;
        view = &without_doubt;
    }
    let mut query = RowQuery::get(read, table, engine.now())?;
    if query.enter(row) != RowKeyVerdict::Read {
        return Ok(());
    }
    let mut open = |family: &FamilySchema| {
        let prefix = key::row_prefix(row);
        let cursor = Arc::new(Mutex::new(engine.row_cursor(view, family.id, &prefix, 16)?));
        Ok(SharedRow::new(&cursor, prefix))
    };
    query.read_row(RowRequest { row, open: &mut open, loader: &mut Loader(engine, view), emit })?;
    Ok(())
}

/// While it is not known what the log has lost: the newest versions of named columns can be read that were written since.
fn settled(view: &ReadView, table: &TableSchema, (row, read): (&[u8], &ReadSpec)) -> Result<ReadView> {
    let ReadSpec { columns, time_range, family_time_ranges, max_versions, filter, raw, .. } = read;
    let is_newest = *time_range == TimeRange::ALL && family_time_ranges.is_empty() && *max_versions == 1;
    if !is_newest || filter.is_some() || *raw || columns.is_empty() {
        view.check_doubt()?;
    }
    let prefix = key::row_prefix(row);
    for (name, qualifiers) in columns {
        let Some(qualifiers) = qualifiers else {
            view.check_doubt()?;
            continue;
        };
        let family = family(table, name)?;
        for qualifier in qualifiers {
            Cursor::first_of(view, family.id, &prefix, &key::column_prefix(&prefix, qualifier))?;
        }
    }
    Ok(view.without_doubt())
}

/// The greatest row of a family in `[from, end)` of keys.
pub fn last_row(view: &ReadView, family: FamilyId, from: &[u8], end: &[u8]) -> Result<Option<RowKey>> {
    Ok(last_key(view, family, from, end)?.as_deref().and_then(key::row_of))
}

/// The greatest key of a family in `[from, end)`.
pub fn last_key(view: &ReadView, family: FamilyId, from: &[u8], end: &[u8]) -> Result<Option<Vec<u8>>> {
    view.looks.fetch_add(1, Ordering::Relaxed);
    let mut last = None;
    for run in view.layout.runs(family).iter().flat_map(|runs| &runs.runs) {
        last = last.max(run.last_before(from, end)?);
    }
    for table in view.tables.of(family) {
        last = last.max(table.last_key(from, Some(end)));
    }
    Ok(last)
}
