//! Listings: pages of a directory's entries in HBase order, resumed by key and never by position.
//!
//! Memory is bounded by the page that is asked for.

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
use crate::tree::names::escape::{Level, NAME_MAX, Spelling, are_own_names, is_own_name};
use crate::tree::names::suffix;
use crate::tree::place::{FamilyPlace, InfoPlace, NodeKey, Place, RowPlace, TableNoun};
use crate::tree::resolve::root_of;
use crate::tree::schema::texts as schema;
use crate::tree::view::View;
use crate::{ErrorKind, Result};

impl Tree {
    /// Entries after `after`, ascending; fewer than `limit` only at the end of the directory.
    pub fn page(&self, dir: &NodeKey, after: Option<&[u8]>, limit: usize) -> Result<Entries> {
        match &dir.place {
            Place::Table(table) if dir.asked.is_none() && dir.view != View::History => {
                self.page_rows(dir, table, after, limit).map(Entries::Rows)
            }
            _ => self.page_of_few(dir, after, limit).map(Entries::Each),
        }
    }

    /// As [`Tree::page`], of what does not have very many entries; each is one of its own.
    fn page_of_few(&self, dir: &NodeKey, after: Option<&[u8]>, limit: usize) -> Result<Vec<Entry>> {
        if let Place::InfoOf(base) = &dir.place {
            let complete = schema::complete_of(base).map(|place| plain("complete".to_owned(), dir.sibling(place)));
            let errors = plain("errors".to_owned(), NodeKey::plain(Place::Info(InfoPlace::Errors)));
            return Ok(after_cursor(complete.into_iter().chain([errors]), after, limit));
        }
        if dir.view == View::History {
            return self.page_history(dir, after, limit);
        }
        if let Place::Exports(base) = &dir.place {
            let entry = |(name, format): (&str, Format)| {
                plain(name.to_owned(), dir.sibling(Place::Export(Arc::clone(base), format)))
            };
            return Ok(after_cursor(exports(dir).map(entry), after, limit));
        }
        if let Place::Imports(base) = &dir.place {
            let entry = |(name, format, empty): (&str, Format, Empty)| {
                plain(name.to_owned(), dir.sibling(Place::Import(Arc::clone(base), format, empty)))
            };
            return Ok(after_cursor(IMPORTS.into_iter().map(entry), after, limit));
        }
        if let Some(question) = &dir.asked {
            return self.page_asked(dir, question, after, limit);
        }
        match &dir.place {
            Place::Root => self.page_namespaces(dir, after, limit),
            Place::Snapshots => {
                let snapshots = self.backend.snapshots()?;
                let entries = snapshots.iter().map(|one| plain(one.name.clone(), root_of(one)));
                Ok(after_cursor(entries, after, limit))
            }
            Place::Namespace(namespace) => self.page_tables(dir, namespace, after, limit),
            Place::Row(row) => self.page_families(dir, row, after, limit),
            Place::Family(family) if self.inline_history => self.page_inline(dir, family, after, limit),
            Place::Family(family) => self.page_columns(dir, family, after, limit),
            Place::Versions(column) => self.page_versions(dir, column, after, limit),
            Place::Schema(place) => {
                let mut entries = schema::list(self.backend.catalogue()?.as_ref(), place);
                entries.extend(self.splits_entry(place)?);
                entries.sort_by(|a, b| a.0.cmp(&b.0));
                let place = |s| dir.sibling(Place::Schema(Arc::new(s)));
                let entries = entries.into_iter().map(|(name, s)| plain(name, place(s)));
                Ok(after_cursor(entries, after, limit))
            }
            Place::Info(InfoPlace::Dir) => {
                let names =
                    [("access", InfoPlace::Access), ("errors", InfoPlace::Errors), ("requests", InfoPlace::Requests)];
                let entries =
                    names.into_iter().map(|(name, info)| plain(name.to_owned(), dir.sibling(Place::Info(info))));
                Ok(after_cursor(entries, after, limit))
            }
            Place::TableInfo(table, TableNoun::Dir) => {
                let place = |noun| dir.sibling(Place::TableInfo(Arc::clone(table), noun));
                let entries =
                    crate::tree::texts::info::NOUNS.into_iter().map(|(name, noun)| plain(name.to_owned(), place(noun)));
                Ok(after_cursor(entries, after, limit))
            }
            _ => Ok(Vec::new()),
        }
    }

    pub(in crate::tree) fn page_namespaces(
        &self,
        dir: &NodeKey,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        let catalogue = self.backend.catalogue()?;
        let names = catalogue.namespaces.keys().filter(|name| *name != "hbase");
        let entries = names.map(|name| plain(name.clone(), dir.sibling(Place::Namespace(name.as_str().into()))));
        Ok(after_cursor(entries, after, limit))
    }

    pub(in crate::tree) fn page_tables(
        &self,
        dir: &NodeKey,
        namespace: &str,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        let catalogue = self.backend.catalogue()?;
        let tables = catalogue.tables.keys().filter(|table| *table.namespace == *namespace);
        let entries =
            tables.map(|table| plain(table.name.to_string(), dir.sibling(Place::Table(Arc::new(table.clone())))));
        Ok(after_cursor(entries, after, limit))
    }

    fn page_rows(&self, dir: &NodeKey, table: &TableName, after: Option<&[u8]>, limit: usize) -> Result<Rows> {
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
            if dir.view == View::Plain { self.uncommitted.dirs.rows(table, after, None, limit)? } else { Vec::new() };
        let mut rows = self.backend.list_rows(&listing)?;
        if rows.len() == limit {
            made.retain(|row| Some(row.as_slice()) <= rows.last());
        }
        if !made.is_empty() {
            let mut all = rows.iter().map(<[u8]>::to_vec).collect();
            merge_names(&mut all, made, limit);
            rows = all.into_iter().collect();
        }
        let names = if are_own_names(&rows, NAME_MAX) { None } else { Some(self.names_to_show(&rows)) };
        Ok(Rows::new(rows, names))
    }

    fn names_to_show(&self, rows: &KeyList) -> KeyList {
        let name = |row| self.name_to_show(Level::Row, row).map_or(Cow::Borrowed(row), Cow::Owned);
        rows.iter().map(name).collect()
    }

    fn page_families(&self, dir: &NodeKey, row: &RowPlace, after: Option<&[u8]>, limit: usize) -> Result<Vec<Entry>> {
        // Order: as for rows.
        let mut names = if dir.view == View::Plain { self.uncommitted.dirs.families(row)? } else { Vec::new() };
        match self.backend.list_families(&row.table, &row.row, dir.view.time_range(), Versions::Live) {
            Err(e) if e.kind == ErrorKind::NoSuchTable => {}
            stored => names.extend(stored?),
        }
        names.sort();
        names.dedup();
        let entry = |family: String| {
            let place = FamilyPlace { table: row.table.clone(), row: row.row.clone(), family: family.clone() };
            let name = Spelling::default().name(Level::Family, family.as_bytes());
            Entry::new(name, dir.sibling(Place::Family(Arc::new(place))), family.into_bytes())
        };
        Ok(after_cursor(names.into_iter().map(entry), after, limit))
    }

    fn page_columns(
        &self,
        dir: &NodeKey,
        family: &FamilyPlace,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        // Order: as for rows.
        let mut created =
            if dir.view == View::Plain { self.uncommitted.cells(family, after, limit) } else { Vec::new() };
        let range = dir.view.time_range();
        let stored = self.backend.list_columns(&family.table, &family.row, &family.family, after, range, limit);
        let stored = match stored {
            Err(e) if matches!(e.kind, ErrorKind::NoSuchTable | ErrorKind::NoSuchFamily) => Vec::new(),
            other => other?,
        };
        let entry = |qualifier: Vec<u8>| Entry::below(self.name_to_show(Level::Qualifier, &qualifier), qualifier);
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
    fn name_to_show(&self, level: Level, key: &[u8]) -> Option<Vec<u8>> {
        if key.len() <= NAME_MAX && is_own_name(key) {
            return None;
        }
        let name = self.spelling.file_name(level, key, NAME_MAX);
        self.keys.note_name(&name, key);
        Some(name)
    }

    /// Versions, newest first; the cursor is the timestamp's digits.
    fn page_versions(
        &self,
        dir: &NodeKey,
        column: &Arc<ColumnKey>,
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        let range = dir.view.time_range();
        let before = after.and_then(suffix::parse_timestamp).map_or(range.max, |ts| ts.0);
        let mut before = (before != i64::MAX).then_some(Timestamp(before));
        let mut versions = Vec::new();
        while versions.len() < limit {
            let page = self.backend.list_versions(column, Versions::LiveAndKept, before, limit)?;
            let ended = page.len() < limit;
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
