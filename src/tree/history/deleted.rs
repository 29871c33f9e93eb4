//! Deleted versions that can be brought back: which one of each column, a page of columns at a time.
//!
//! The search runs where the store is: over a connection it would be several requests a row.

use crate::Result;
use crate::backend::{Backend, DeletedPage, DeletedQuery, Gone, HistoryFrom, RowListing, Versions};
use crate::model::{CellInfo, ColumnKey, Qualifier, TimeRange, Timestamp};

/// Columns that are looked at for a page.
const COLUMNS: usize = 4096;
/// Bytes of what a page has found.
const BYTES: usize = 1 << 20;
/// Rows that are listed at once.
const ROWS: usize = 256;
/// Versions of a family that are listed at once.
const VERSIONS: usize = 64;
/// Versions that are looked through of a column of which all is deleted.
const KEPT: usize = 1000;

/// The next page, of whoever can give one.
pub fn page(backend: &dyn Backend, query: &DeletedQuery) -> Result<DeletedPage> {
    match backend.list_deleted(query)? {
        Some(page) => Ok(page),
        None => search(backend, query),
    }
}

/// The version of a column that comes back, if one does.
pub fn of_column(backend: &dyn Backend, column: &ColumnKey, at: Option<Timestamp>) -> Result<Option<Gone>> {
    let newest = backend.newest(column, TimeRange::ALL)?;
    let wanted = match at {
        Some(at) => backend.newest(column, TimeRange::as_of(at))?,
        None => newest_deleted(backend, column, newest.as_ref())?,
    };
    let shown = newest.map(|is| (is.timestamp, is.seq));
    Ok(wanted.filter(|cell| shown != Some((cell.timestamp, cell.seq))).map(|cell| Gone { cell, shown }))
}

/// What a column had that has no newest version, or behind whose newest one a later was deleted by itself.
fn newest_deleted(backend: &dyn Backend, column: &ColumnKey, newest: Option<&CellInfo>) -> Result<Option<CellInfo>> {
    let first = backend.list_versions(column, Versions::LiveAndKept, None, 1)?.into_iter().next();
    if newest.is_some() || first.is_none() {
        return Ok(first.filter(|cell| is_gone_alone(cell, newest, backend.now())));
    }
    // What a delete of the column ended last, not what was deleted by itself before that.
    let versions = backend.list_versions(column, Versions::LiveAndKept, None, KEPT)?;
    Ok(versions.into_iter().max_by_key(|cell| (cell.deleted_at, cell.timestamp)))
}

/// Whether a version was deleted by a tombstone of its own, and not before the one was written that shows now.
///
/// What was written later and shows has a later time, except where it was put at a time of its own, as a version is
/// that comes back: such a one says nothing about when the other was deleted. Nor is it known of a version of a time
/// that is yet to come, behind which everything is written.
pub fn is_gone_alone(cell: &CellInfo, shown: Option<&CellInfo>, now: Timestamp) -> bool {
    let Some(shown) = shown else { return cell.deleted_at == Some(cell.timestamp) };
    let was_later = (cell.timestamp, cell.seq) > (shown.timestamp, shown.seq);
    let was_beside = cell.seq > shown.seq || cell.timestamp < now;
    cell.deleted_at == Some(cell.timestamp) && was_later && was_beside
}

fn search(backend: &dyn Backend, query: &DeletedQuery) -> Result<DeletedPage> {
    let mut search = Search { backend, query, page: DeletedPage::default(), columns: 0, bytes: 0 };
    match &query.row {
        Some(row) => search.row(row)?,
        None => search.rows()?,
    };
    Ok(search.page)
}

/// Whether there is room on the page for more; else it says where the next one begins.
type HasRoom = bool;

struct Search<'a> {
    backend: &'a dyn Backend,
    query: &'a DeletedQuery,
    page: DeletedPage,
    /// Columns that were looked at, and bytes that were found.
    columns: usize,
    bytes: usize,
}

impl Search<'_> {
    fn rows(&mut self) -> Result<HasRoom> {
        // The page before may have ended within that row.
        let mut after = self.query.after.as_ref().map(|column| column.row.clone());
        if let Some(row) = &after
            && !self.row(row)?
        {
            return Ok(false);
        }
        loop {
            let (time_range, which) = (TimeRange::ALL, Versions::LiveAndKept);
            let (table, before) = (self.query.table.clone(), Vec::new());
            let listing = RowListing { table, after, before, time_range, which, limit: ROWS };
            let rows = self.backend.list_rows(&listing)?;
            for row in rows.iter() {
                if !self.row(row)? {
                    return Ok(false);
                }
            }
            if rows.len() < ROWS {
                return Ok(true);
            }
            after = rows.last().map(<[u8]>::to_vec);
        }
    }

    fn row(&mut self, row: &[u8]) -> Result<HasRoom> {
        let after = self.query.after.as_ref().filter(|column| column.row == row);
        for family in self.families(row)? {
            let of_family = after.filter(|column| column.family == family);
            let is_behind = after.is_none_or(|column| family >= column.family);
            if is_behind && !self.family(row, &family, of_family.map(|column| &column.qualifier))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The families of a row that may have something, ascending.
    fn families(&self, row: &[u8]) -> Result<Vec<String>> {
        match &self.query.family {
            Some(family) => Ok(vec![family.clone()]),
            None => self.backend.list_families(&self.query.table, row, TimeRange::ALL, Versions::LiveAndKept),
        }
    }

    fn family(&mut self, row: &[u8], family: &str, after: Option<&Qualifier>) -> Result<HasRoom> {
        let qualifier = after.map(next).unwrap_or_default();
        let mut from = HistoryFrom { qualifier, before: None };
        loop {
            let versions = self.backend.list_history(&self.query.table, row, family, Some(&from), VERSIONS)?;
            let is_all = versions.len() < VERSIONS;
            let mut last = None;
            for (qualifier, cell) in versions {
                if last.as_ref() == Some(&qualifier) {
                    // An older version of the same.
                    continue;
                }
                let column = || ColumnKey {
                    table: self.query.table.clone(),
                    row: row.to_vec(),
                    family: family.to_owned(),
                    qualifier: qualifier.clone(),
                };
                // Where the newest one shows, nothing is deleted.
                if self.query.at.is_some() || cell.deleted_at.is_some() {
                    self.look(column())?;
                }
                self.columns += 1;
                if self.columns >= COLUMNS || self.bytes >= BYTES {
                    self.page.next = Some(column());
                    return Ok(false);
                }
                last = Some(qualifier);
            }
            match last {
                Some(last) if !is_all => from.qualifier = next(&last),
                _ => return Ok(true),
            }
        }
    }

    fn look(&mut self, column: ColumnKey) -> Result<()> {
        let Some(gone) = of_column(self.backend, &column, self.query.at)? else { return Ok(()) };
        self.bytes += gone.cell.held() + size_of_val(&column) + column.row.len() + column.qualifier.len();
        self.page.cells.push((column, gone));
        Ok(())
    }
}

/// The first qualifier after one.
fn next(qualifier: &Qualifier) -> Qualifier {
    [qualifier.as_slice(), &[0]].concat()
}
