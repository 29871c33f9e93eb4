//! Keys of shortened names that are looked for in the store.

use super::escape::{Level, NAME_MAX, STEM_MAX, Spelling};
use super::keys::{column_entry, row_entry};
use crate::Result;
use crate::backend::{HistoryFrom, RowListing, Versions};
use crate::model::{Qualifier, RowKey, TableName, TimeRange};
use crate::tree::base::Tree;
use crate::tree::place::FamilyPlace;

/// Keys fetched at once when a shortened name is looked for.
const PAGE: usize = 1000;

/// The row key of a shortened name; `None` where no row of the table, stored or made, has it.
pub(in crate::tree) fn find_row(
    tree: &Tree,
    spelling: Spelling,
    table: &TableName,
    prefixes: &[Vec<u8>],
    name: &[u8],
) -> Result<Option<RowKey>> {
    let entry = row_entry(table, name);
    if let Some(row) = tree.keys.recent(&entry) {
        return Ok(Some(row));
    }
    if let Some(row) = tree.keys.written_row(table, name)? {
        return Ok(Some(row));
    }
    for prefix in prefixes {
        let named = |row: &RowKey| spelling.file_name(Level::Row, row, NAME_MAX) == name;
        if let Some(row) = search_rows(tree, table, prefix, named)? {
            tree.keys.note_row(entry, name, &row);
            return Ok(Some(row));
        }
    }
    Ok(tree.keys.met(name).filter(|row| spelling.file_name(Level::Row, row, NAME_MAX) == name))
}

fn search_rows(
    tree: &Tree,
    table: &TableName,
    prefix: &[u8],
    named: impl Fn(&RowKey) -> bool,
) -> Result<Option<RowKey>> {
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
        let page = tree.backend.list_rows(&listing)?;
        let last = page.last().filter(|_| page.len() == PAGE).map(<[u8]>::to_vec);
        let mut page: Vec<RowKey> = page.iter().map(<[u8]>::to_vec).collect();
        let until = last.as_deref().or(Some(before.as_slice()).filter(|before| !before.is_empty()));
        for made in [&tree.uncommitted.dirs, &tree.restored] {
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
pub(in crate::tree) fn find_qualifier(
    tree: &Tree,
    spelling: Spelling,
    family: &FamilyPlace,
    (prefixes, stem): (&[Vec<u8>], &[u8]),
    limit: usize,
) -> Result<Option<Qualifier>> {
    if let Some(qualifier) = tree.keys.recent(&column_entry(family, stem)) {
        return Ok(Some(qualifier));
    }
    if let Some(qualifier) = tree.keys.written_column(family, stem)? {
        return Ok(Some(qualifier));
    }
    // A suffix may stand behind the name that is shown.
    let limit = if stem.len() > STEM_MAX { NAME_MAX } else { limit };
    let named = |q: &Qualifier| spelling.file_name(Level::Qualifier, q, limit) == stem;
    let made = tree.uncommitted.cells(family, None, usize::MAX);
    let found = match made.into_iter().find(named) {
        Some(qualifier) => Some(qualifier),
        None => {
            let mut found = None;
            for prefix in prefixes {
                found = found.map_or_else(|| search_columns(tree, family, prefix, &named), |f| Ok(Some(f)))?;
            }
            found
        }
    };
    if let Some(qualifier) = &found {
        tree.keys.note_column(family, stem, qualifier);
    }
    Ok(found.or_else(|| tree.keys.met(stem).filter(named)))
}

fn search_columns(
    tree: &Tree,
    family: &FamilyPlace,
    prefix: &[u8],
    named: &dyn Fn(&Qualifier) -> bool,
) -> Result<Option<Qualifier>> {
    let mut from = HistoryFrom { qualifier: prefix.to_vec(), before: None };
    loop {
        let page = tree.backend.list_history(&family.table, &family.row, &family.family, Some(&from), PAGE)?;
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
