//! Pieces of listings: entries that are few, behind a cursor.

use std::sync::Arc;

use super::entry::Entry;
use crate::Result;
use crate::tree::base::Tree;
use crate::tree::names::escape::{Level, Spelling};
use crate::tree::place::{FamilyPlace, NodeKey, Place, RowPlace};

pub(in crate::tree) fn page_namespaces(
    tree: &Tree,
    dir: &NodeKey,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<Vec<Entry>> {
    let catalogue = tree.backend.catalogue()?;
    let names = catalogue.namespaces.keys().filter(|name| *name != "hbase");
    let entries = names.map(|name| plain(name.clone(), dir.sibling(Place::Namespace(name.as_str().into()))));
    Ok(after_cursor(entries, after, limit))
}

pub(in crate::tree) fn page_tables(
    tree: &Tree,
    dir: &NodeKey,
    namespace: &str,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<Vec<Entry>> {
    let catalogue = tree.backend.catalogue()?;
    let tables = catalogue.tables.keys().filter(|table| *table.namespace == *namespace);
    let entries = tables.map(|table| plain(table.name.to_string(), dir.sibling(Place::Table(Arc::new(table.clone())))));
    Ok(after_cursor(entries, after, limit))
}

pub(in crate::tree) fn plain(name: String, key: NodeKey) -> Entry {
    Entry::new(name.clone().into_bytes(), key, name.into_bytes())
}

pub(in crate::tree) fn after_cursor(
    entries: impl Iterator<Item = Entry>,
    after: Option<&[u8]>,
    limit: usize,
) -> Vec<Entry> {
    entries.filter(|e| after.is_none_or(|after| e.cursor.as_slice() > after)).take(limit).collect()
}

/// A family of a row.
pub(in crate::tree) fn family(dir: &NodeKey, row: &RowPlace, family: String) -> Entry {
    let place = FamilyPlace { table: row.table.clone(), row: row.row.clone(), family: family.clone() };
    let name = Spelling::default().name(Level::Family, family.as_bytes());
    Entry::new(name, dir.sibling(Place::Family(Arc::new(place))), family.into_bytes())
}

/// Merges two ascending lists without duplicates, keeping the first `limit`.
pub(in crate::tree) fn merge_names(into: &mut Vec<Vec<u8>>, more: Vec<Vec<u8>>, limit: usize) {
    if more.is_empty() {
        return;
    }
    into.extend(more);
    into.sort();
    into.dedup();
    into.truncate(limit);
}
