//! Listings of `.history`: pages resumed by key, as all listings are.

use std::sync::Arc;

use super::places::{self, is_unmade, row_is_shortened, stem_is_shortened, version_name, version_place};
use crate::Result;
use crate::backend::{HistoryFrom, RowListing, Versions};
use crate::model::{Qualifier, RowKey, TableName, Timestamp};
use crate::spill::{first_part, join_key};
use crate::tree::base::Tree;
use crate::tree::history::places::resolved;
use crate::tree::list::entry::Entry;
use crate::tree::list::few;
use crate::tree::names::escape::{Level, NAME_MAX, STEM_MAX, Spelling};
use crate::tree::place::{FamilyPlace, NodeKey, Place, RowPlace, SchemaPlace};
use crate::tree::schema::texts as schema;
use crate::tree::stored;
use crate::tree::view::View;

/// What a column lists before its versions: its key file, or its cell.
pub(in crate::tree) const FIRST: u8 = 0;
const VERSION: u8 = 1;

/// Entries of a directory of the history.
pub(in crate::tree) fn page_history(
    tree: &Tree,
    dir: &NodeKey,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<Vec<Entry>> {
    match &dir.place {
        Place::Root => few::page_namespaces(tree, dir, after, limit),
        Place::Namespace(namespace) => {
            let mut entries = few::page_tables(tree, dir, namespace, after, limit)?;
            let schema = SchemaPlace::Namespace(namespace.to_string());
            if after.is_none() && !is_unmade(tree, &*tree.backend.catalogue()?, &schema) {
                entries.insert(0, few::plain(".schema".to_owned(), dir.sibling(Place::Schema(Arc::new(schema)))));
            }
            Ok(entries)
        }
        Place::Schema(place) => {
            let catalogue = tree.backend.catalogue()?;
            let entries = schema::list_history(&catalogue, place).into_iter();
            let entries = entries.filter(|(_, place)| !is_unmade(tree, &catalogue, place));
            let entries = entries.map(|(name, s)| few::plain(name, dir.sibling(Place::Schema(Arc::new(s)))));
            Ok(few::after_cursor(entries, after, limit))
        }
        Place::Table(table) => page_history_rows(tree, dir, table, after, limit),
        Place::Row(row) => page_history_families(tree, dir, row, after, limit),
        Place::Family(family) => page_history_versions(tree, dir, family, after, limit),
        Place::Waiting(waiting) => match resolved(tree, waiting)? {
            Some(known) => page_history(tree, &dir.sibling(known), after, limit),
            None => Ok(Vec::new()),
        },
        _ => Ok(Vec::new()),
    }
}

/// `.schema`, whose cursor is empty as no row's is, then the rows.
fn page_history_rows(
    tree: &Tree,
    dir: &NodeKey,
    table: &TableName,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    let schema = SchemaPlace::Table(table.clone());
    if after.is_none() && !is_unmade(tree, &*tree.backend.catalogue()?, &schema) {
        let key = dir.sibling(Place::Schema(Arc::new(schema)));
        entries.push(Entry::new(b".schema".to_vec(), key, Vec::new()));
    }
    let listing = RowListing {
        table: table.clone(),
        after: after.filter(|after| !after.is_empty()).map(<[u8]>::to_vec),
        before: Vec::new(),
        time_range: View::History.time_range(),
        which: Versions::LiveAndKept,
        limit,
    };
    // Order: what is not stored before what is; see `page_rows`.
    let mut made = tree.restored.rows(table, listing.after.as_deref(), None, limit)?;
    let rows = stored::existing(tree.backend.list_rows(&listing))?.unwrap_or_default();
    let mut rows: Vec<RowKey> = rows.iter().map(<[u8]>::to_vec).collect();
    if rows.len() == limit {
        made.retain(|row| Some(row) <= rows.last());
    }
    few::merge_names(&mut rows, made, limit);
    entries.extend(rows.into_iter().map(|row| {
        let name = Spelling::default().file_name(Level::Row, &row, NAME_MAX);
        let cursor = row.clone();
        Entry::new(name, dir.sibling(Place::Row(Arc::new(RowPlace { table: table.clone(), row }))), cursor)
    }));
    Ok(entries)
}

/// `.key` where the row's name is shortened, then the families.
fn page_history_families(
    tree: &Tree,
    dir: &NodeKey,
    row: &Arc<RowPlace>,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<Vec<Entry>> {
    let range = View::History.time_range();
    let stored = tree.backend.list_families(&row.table, &row.row, range, Versions::LiveAndKept);
    let mut names = stored::existing(stored)?.unwrap_or_default();
    let mut entries = Vec::new();
    if row_is_shortened(&row.row) && places::history_facts(tree, &Place::RowKey(Arc::clone(row)))?.is_some() {
        // No family's name begins so.
        entries.push(few::plain(".key".to_owned(), dir.sibling(Place::RowKey(Arc::clone(row)))));
    }
    names.extend(tree.restored.families(row)?);
    names.sort();
    names.dedup();
    entries.extend(names.into_iter().map(|family| few::family(dir, row, family)));
    Ok(few::after_cursor(entries.into_iter(), after, limit))
}

fn page_history_versions(
    tree: &Tree,
    dir: &NodeKey,
    family: &FamilyPlace,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<Vec<Entry>> {
    let from = after.and_then(position);
    let (table, row, name) = (&family.table, &family.row, &family.family);
    let found = stored::existing(tree.backend.list_history(table, row, name, from.as_ref(), limit))?;
    let mut entries: Vec<Entry> = Vec::with_capacity(limit);
    let mut column = None;
    for (qualifier, cell) in found.unwrap_or_default() {
        let same =
            column.as_ref().is_some_and(|(of, _): &(Arc<crate::model::ColumnKey>, Vec<u8>)| of.qualifier == qualifier);
        if !same {
            let stem = Spelling::default().file_name(Level::Qualifier, &qualifier, STEM_MAX);
            let goes_on = from.as_ref().is_some_and(|from| from.qualifier == qualifier);
            let of = Arc::new(family.column(qualifier.clone()));
            if stem_is_shortened(&qualifier) {
                tree.keys.note_column(family, &stem, &qualifier);
                if !goes_on {
                    let key = dir.sibling(Place::KeyFile(Arc::clone(&of)));
                    let name = [stem.as_slice(), b"@key"].concat();
                    entries.push(Entry::new(name, key, key_cursor(&qualifier)));
                }
            }
            column = Some((of, stem));
        }
        if let Some((of, stem)) = &column {
            let (name, cursor) = (version_name(stem, &cell), version_cursor(&qualifier, cell.timestamp));
            entries.push(Entry::new(name, dir.sibling(version_place(of, &cell)), cursor).with_cell(cell));
        }
    }
    Ok(entries)
}

fn key_cursor(qualifier: &Qualifier) -> Vec<u8> {
    [join_key(&[qualifier]), vec![FIRST]].concat()
}

/// Newest first.
pub(in crate::tree) fn version_cursor(qualifier: &Qualifier, timestamp: Timestamp) -> Vec<u8> {
    let inverted = !timestamp.0.cast_unsigned();
    [join_key(&[qualifier]), vec![VERSION], inverted.to_be_bytes().to_vec()].concat()
}

/// Where a listing goes on behind a cursor.
pub(in crate::tree) fn position(cursor: &[u8]) -> Option<HistoryFrom> {
    let qualifier = first_part(cursor)?;
    let rest = &cursor[join_key(&[&qualifier]).len()..];
    let before = match rest {
        [VERSION, inverted @ ..] => {
            let inverted: [u8; 8] = inverted.try_into().ok()?;
            Some(Timestamp((!u64::from_be_bytes(inverted)).cast_signed()))
        }
        _ => None,
    };
    Some(HistoryFrom { qualifier, before })
}
