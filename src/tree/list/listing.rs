//! Listings: pages of a directory's entries in HBase order, resumed by key and never by position.
//!
//! Memory is bounded by the page that is asked for.

use crate::tree::asking::asked_list::page_asked;
use crate::tree::history::inline::page_inline;
use crate::tree::history::list::page_history;
use crate::tree::list::few;
use crate::tree::named;
use crate::tree::schema::splits::splits_entry;
use std::borrow::Cow;
use std::sync::Arc;

pub use super::entries::{Entries, Rows};
pub use super::entry::{Entry, Listed};
use crate::backend::{RowListing, Versions};
use crate::bulk::{Empty, Format, IMPORTS};
use crate::model::{CellInfo, ColumnKey, KeyList, TableName, Timestamp};
use crate::tree::asking::export::exports;
use crate::tree::base::Tree;
use crate::tree::history::places::is_readable;
use crate::tree::names::escape::{Level, NAME_MAX, are_own_names, is_own_name};
use crate::tree::names::suffix;
use crate::tree::place::{FamilyPlace, InfoPlace, NodeKey, Place, RowPlace, SchemaPlace, TableNoun};
use crate::tree::schema::texts as schema;
use crate::tree::view::View;
use crate::{ErrorKind, Result};

/// Entries after `after`, ascending; fewer than `limit` only at the end of the directory.
pub fn page(tree: &Tree, dir: &NodeKey, after: Option<&[u8]>, limit: usize) -> Result<Entries> {
    match &dir.place {
        Place::Table(table) if dir.asked.is_none() && dir.view != View::History => {
            page_rows(tree, dir, table, after, limit).map(Entries::Rows)
        }
        _ => page_of_few(tree, dir, after, limit).map(Entries::Each),
    }
}

/// As [`page`], of what does not have very many entries; each is one of its own.
fn page_of_few(tree: &Tree, dir: &NodeKey, after: Option<&[u8]>, limit: usize) -> Result<Vec<Entry>> {
    if let Place::InfoOf(base) = &dir.place {
        let complete = schema::complete_of(base).map(|place| few::plain("complete".to_owned(), dir.sibling(place)));
        let errors = few::plain("errors".to_owned(), NodeKey::plain(Place::Info(InfoPlace::Errors)));
        return Ok(few::after_cursor(complete.into_iter().chain([errors]), after, limit));
    }
    if dir.view == View::History {
        return page_history(tree, dir, after, limit);
    }
    if let Place::Exports(base) = &dir.place {
        let entry = |(name, format): (&str, Format)| {
            few::plain(name.to_owned(), dir.sibling(Place::Export(Arc::clone(base), format)))
        };
        return Ok(few::after_cursor(exports(dir).map(entry), after, limit));
    }
    if let Place::Imports(base) = &dir.place {
        let entry = |(name, format, empty): (&str, Format, Empty)| {
            few::plain(name.to_owned(), dir.sibling(Place::Import(Arc::clone(base), format, empty)))
        };
        return Ok(few::after_cursor(IMPORTS.into_iter().map(entry), after, limit));
    }
    if let Some(question) = &dir.asked {
        return page_asked(tree, dir, question, after, limit);
    }
    match &dir.place {
        Place::Root => few::page_namespaces(tree, dir, after, limit),
        Place::Snapshots => {
            let snapshots = tree.backend.snapshots()?;
            let entries = snapshots.iter().map(|one| few::plain(one.name.clone(), named::root_of(one)));
            Ok(few::after_cursor(entries, after, limit))
        }
        Place::Namespace(namespace) => few::page_tables(tree, dir, namespace, after, limit),
        Place::Row(row) => page_families(tree, dir, row, after, limit),
        Place::Family(family) if tree.inline_history => page_inline(tree, dir, family, after, limit),
        Place::Family(family) => page_columns(tree, dir, family, after, limit),
        Place::Versions(column) => page_versions(tree, dir, column, after, limit),
        Place::Schema(place) => page_schema(tree, dir, place, after, limit),
        Place::Info(InfoPlace::Dir) => {
            let names =
                [("access", InfoPlace::Access), ("errors", InfoPlace::Errors), ("requests", InfoPlace::Requests)];
            let entries =
                names.into_iter().map(|(name, info)| few::plain(name.to_owned(), dir.sibling(Place::Info(info))));
            Ok(few::after_cursor(entries, after, limit))
        }
        Place::TableInfo(table, TableNoun::Dir) => {
            let place = |noun| dir.sibling(Place::TableInfo(Arc::clone(table), noun));
            let entries = crate::tree::texts::info::NOUNS
                .into_iter()
                .map(|(name, noun)| few::plain(name.to_owned(), place(noun)));
            Ok(few::after_cursor(entries, after, limit))
        }
        _ => Ok(Vec::new()),
    }
}

fn page_schema(
    tree: &Tree,
    dir: &NodeKey,
    place: &SchemaPlace,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<Vec<Entry>> {
    let mut entries = schema::list(tree.backend.catalogue()?.as_ref(), place);
    entries.extend(splits_entry(tree, place)?);
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let place = |s| dir.sibling(Place::Schema(Arc::new(s)));
    let entries = entries.into_iter().map(|(name, s)| few::plain(name, place(s)));
    Ok(few::after_cursor(entries, after, limit))
}

fn page_rows(tree: &Tree, dir: &NodeKey, table: &TableName, after: Option<&[u8]>, limit: usize) -> Result<Rows> {
    let listing = RowListing {
        table: table.clone(),
        after: after.map(<[u8]>::to_vec),
        before: Vec::new(),
        time_range: dir.view.time_range(),
        which: Versions::Live,
        limit,
    };
    // Order: what is not stored before what is: a commit in between moves it on, and it is met twice.
    let mut made =
        if dir.view == View::Plain { tree.uncommitted.dirs.rows(table, after, None, limit)? } else { Vec::new() };
    let mut rows = tree.backend.list_rows(&listing)?;
    if rows.len() == limit {
        made.retain(|row| Some(row.as_slice()) <= rows.last());
    }
    if !made.is_empty() {
        let mut all = rows.iter().map(<[u8]>::to_vec).collect();
        few::merge_names(&mut all, made, limit);
        rows = all.into_iter().collect();
    }
    let names = if are_own_names(&rows, NAME_MAX) { None } else { Some(names_to_show(tree, &rows)) };
    Ok(Rows::new(rows, names))
}

fn names_to_show(tree: &Tree, rows: &KeyList) -> KeyList {
    let name = |row| name_to_show(tree, Level::Row, row).map_or(Cow::Borrowed(row), Cow::Owned);
    rows.iter().map(name).collect()
}

fn page_families(tree: &Tree, dir: &NodeKey, row: &RowPlace, after: Option<&[u8]>, limit: usize) -> Result<Vec<Entry>> {
    // Order: as for rows.
    let mut names = if dir.view == View::Plain { tree.uncommitted.dirs.families(row)? } else { Vec::new() };
    match tree.backend.list_families(&row.table, &row.row, dir.view.time_range(), Versions::Live) {
        Err(e) if e.kind == ErrorKind::NoSuchTable => {}
        stored => names.extend(stored?),
    }
    names.sort();
    names.dedup();
    Ok(few::after_cursor(names.into_iter().map(|family| few::family(dir, row, family)), after, limit))
}

fn page_columns(
    tree: &Tree,
    dir: &NodeKey,
    family: &FamilyPlace,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<Vec<Entry>> {
    // Order: as for rows.
    let mut created = if dir.view == View::Plain { tree.uncommitted.cells(family, after, limit) } else { Vec::new() };
    let range = dir.view.time_range();
    let stored = tree.backend.list_columns(&family.table, &family.row, &family.family, after, range, limit);
    let stored = match stored {
        Err(e) if matches!(e.kind, ErrorKind::NoSuchTable | ErrorKind::NoSuchFamily) => Vec::new(),
        other => other?,
    };
    let entry = |qualifier: Vec<u8>| Entry::below(name_to_show(tree, Level::Qualifier, &qualifier), qualifier);
    let mut entries: Vec<_> = stored.into_iter().map(|(q, cell)| entry(q).with_cell(cell)).collect();
    if entries.len() == limit {
        created.retain(|qualifier| Some(qualifier) <= entries.last().map(|entry| &entry.cursor));
    }
    for qualifier in created {
        if let Err(at) = entries.binary_search_by(|entry| entry.cursor.cmp(&qualifier)) {
            entries.insert(at, entry(qualifier));
        }
    }
    entries.truncate(limit);
    Ok(entries)
}

/// The name of a key that is listed; `None`: the key itself is its name.
fn name_to_show(tree: &Tree, level: Level, key: &[u8]) -> Option<Vec<u8>> {
    if key.len() <= NAME_MAX && is_own_name(key) {
        return None;
    }
    let name = tree.spelling.file_name(level, key, NAME_MAX);
    tree.keys.note_name(&name, key);
    Some(name)
}

/// Versions that are asked for at once, at most, where few of them are shown.
const MOST_VERSIONS: usize = 1 << 14;

/// Versions, newest first; the cursor is the timestamp's digits.
fn page_versions(
    tree: &Tree,
    dir: &NodeKey,
    column: &Arc<ColumnKey>,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<Vec<Entry>> {
    let range = dir.view.time_range();
    let before = after.and_then(suffix::parse_timestamp).map_or(range.max, |ts| ts.0);
    let mut before = (before != i64::MAX).then_some(Timestamp(before));
    let (mut versions, mut asked) = (Vec::new(), limit);
    while versions.len() < limit {
        let page = tree.backend.list_versions(column, Versions::LiveAndKept, before, asked)?;
        let ended = page.len() < asked;
        // Behind a page of what is not shown a larger one: each passes over all that are newer.
        asked = (2 * asked).min(MOST_VERSIONS.max(limit));
        before = page.last().map(|cell| cell.timestamp);
        let is_shown = |cell: &CellInfo| range.contains(cell.timestamp, cell.tags.written_at) && is_readable(cell);
        versions.extend(page.into_iter().filter(is_shown));
        if ended {
            break;
        }
    }
    versions.truncate(limit);
    let entry = |cell: CellInfo| {
        let name = cell.timestamp.to_string().into_bytes();
        let key = dir.sibling(Place::Version(Arc::clone(column), cell.timestamp));
        Entry::new(name.clone(), key, name).with_cell(cell)
    };
    Ok(versions.into_iter().map(entry).collect())
}
