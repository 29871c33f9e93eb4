//! What is at a place: whether it exists, and what `stat` needs of it.

use super::base::Tree;
use super::found::key_text;
use super::found::{Facts, text};
use super::names::keys::KeyFileState;
use super::place::{FamilyPlace, InfoPlace, NodeKey, Place, RowPlace, SchemaPlace};
use super::schema::texts as schema;
use super::view::View;
use crate::backend::{HistoryFrom, Versions};
use crate::model::{Cell, ColumnKey, FileChange, FileTime, TimeRange, Timestamp};
use crate::{Error, ErrorKind, Result};

impl Tree {
    /// What is at a place; `None` when nothing is.
    pub fn facts(&self, key: &NodeKey) -> Result<Option<Facts>> {
        if let Place::InfoOf(base) = &key.place {
            return Ok(self.facts(&key.sibling(base.as_ref().clone()))?.map(|_| Facts::Dir));
        }
        if key.view == View::History {
            return self.history_facts(&key.place);
        }
        let is_of_base =
            matches!(key.place, Place::Asking(..) | Place::Count(_) | Place::Exports(_) | Place::Export(..));
        if let Some(question) = key.asked.as_deref().filter(|_| !is_of_base) {
            return self.asked_facts(key, question);
        }
        match &key.place {
            Place::Exports(base) | Place::Imports(base) => {
                Ok(self.facts(&key.sibling(base.as_ref().clone()))?.map(|_| Facts::Dir))
            }
            Place::Count(base) | Place::Export(base, _) | Place::Import(base, ..) => {
                Ok(self.facts(&key.sibling(base.as_ref().clone()))?.map(|_| text(Vec::new())))
            }
            Place::Asking(base, _) => Ok(self.facts(&key.sibling(base.as_ref().clone()))?.map(|_| Facts::Dir)),
            Place::Root | Place::Times(_) | Place::Snapshots | Place::Info(InfoPlace::Dir) => Ok(Some(Facts::Dir)),
            // It was looked at before.
            Place::InfoOf(_) => Ok(None),
            Place::Info(_) => Ok(Some(text(Vec::new()))),
            Place::TableInfo(table, noun) => super::texts::info::facts(self.backend.as_ref(), table, *noun),
            Place::FamilyComplete(table, family) => {
                let exists = self.facts(&key.sibling(schema::family_place(table, family)))?.is_some();
                let content = exists.then(|| super::texts::complete::text(self.backend.as_ref(), table, Some(family)));
                Ok(content.transpose()?.map(|content| text(content.into_bytes())))
            }
            Place::Namespace(name) => {
                let exists = self.backend.catalogue()?.namespaces.contains_key(name.as_ref());
                Ok(exists.then_some(Facts::Dir))
            }
            // Its length and time are those of the mount that follows.
            Place::Changes(table) => Ok(self.backend.catalogue()?.tables.contains_key(table).then(|| text(Vec::new()))),
            Place::Table(table) => Ok(self.backend.catalogue()?.tables.contains_key(table).then_some(Facts::Dir)),
            Place::Row(row) => Ok(self.row_exists(key.view, row)?.then_some(Facts::Dir)),
            Place::Family(family) => Ok(self.family_exists(key.view, family)?.then_some(Facts::Dir)),
            Place::Cell(column) => {
                Ok(self.existing(self.backend.newest(column, key.view.time_range()))?.flatten().map(Facts::Cell))
            }
            Place::Version(column, ts) => {
                let range = key.view.time_range().and(TimeRange::at(*ts));
                Ok(self.existing(self.backend.newest(column, range))?.flatten().map(Facts::Cell))
            }
            Place::Versions(column) => Ok(self.has_versions(column)?.then_some(Facts::Dir)),
            Place::KeyFile(column) => {
                let exists = self.key_file_exists(&key.place, || self.has_versions(column))?;
                Ok(exists.then(|| key_text(&column.qualifier)))
            }
            Place::RowKey(row) => Ok(self.row_exists(key.view, row)?.then(|| key_text(&row.row))),
            Place::Counter(column) => self.counter_facts(key.view, column),
            Place::Json(row) => self.json_facts(key.view, row),
            Place::Schema(schema) if let SchemaPlace::Splits(table) = schema.as_ref() => self.splits_facts(table),
            Place::Schema(schema) => schema::facts(self.backend.catalogue()?.as_ref(), schema),
            // Only the history has them.
            Place::Ended(..) | Place::Scratch(_) | Place::Waiting(_) => Ok(None),
        }
    }

    /// A counter is a value of 8 bytes, big-endian (HBase: Bytes.toBytes(long)).
    fn counter_facts(&self, view: View, column: &ColumnKey) -> Result<Option<Facts>> {
        let newest = self.existing(self.backend.newest(column, view.time_range()))?.flatten();
        let Some(cell) = newest.filter(|cell| cell.len() == 8) else { return Ok(None) };
        let bytes = self.backend.read_value(&cell, 0, 8)?;
        let value = bytes.try_into().map(i64::from_be_bytes);
        let value = value.map_err(|_| Error::new(ErrorKind::Corrupt, "a counter was cut short"))?;
        let (bytes, mtime) = (format!("{value}\n").into_bytes(), cell.mtime());
        Ok(Some(Facts::Text { bytes, mtime, file: cell.tags.file }))
    }

    fn json_facts(&self, view: View, row: &RowPlace) -> Result<Option<Facts>> {
        let Some(result) = self.existing(super::texts::json::read(self.backend.as_ref(), row, view.time_range()))?
        else {
            return Ok(None);
        };
        let now = self.backend.now();
        let newest = result.cells.iter().map(|cell| written(cell, now)).max().unwrap_or_default();
        // Whom one cell of the row is kept from, the row is.
        let mode = result.cells.iter().filter_map(|cell| cell.tags.file.mode()).reduce(|one, other| one & other);
        let file = FileChange { mode: mode.map(|mode| mode & 0o666), ..FileChange::default() }.into();
        Ok(Some(Facts::Text { bytes: super::texts::json::render(&result), mtime: newest, file }))
    }

    /// A store that lacks the table or family holds nothing there.
    pub(super) fn existing<T>(&self, answer: Result<T>) -> Result<Option<T>> {
        match answer {
            Ok(found) => Ok(Some(found)),
            Err(e) if matches!(e.kind, ErrorKind::NoSuchTable | ErrorKind::NoSuchFamily) => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn row_exists(&self, view: View, place: &RowPlace) -> Result<bool> {
        let which = match view {
            View::Plain if self.uncommitted.dirs.has_row(place)? => return Ok(true),
            View::History if self.restored.has_row(place)? => return Ok(true),
            View::History => Versions::LiveAndKept,
            View::Plain | View::At(_) => Versions::Live,
        };
        let families = self.backend.list_families(&place.table, &place.row, view.time_range(), which);
        Ok(self.existing(families)?.is_some_and(|families| !families.is_empty()))
    }

    /// Whether the family's directory exists in that row.
    pub fn family_exists(&self, view: View, place: &FamilyPlace) -> Result<bool> {
        match view {
            View::Plain if self.uncommitted.dirs.has_family(place)? => Ok(true),
            View::History if self.restored.has_family(place)? => Ok(true),
            _ => self.family_has_cells(view, place),
        }
    }

    /// Whether a visible cell is stored there; in the history also a kept one.
    fn family_has_cells(&self, view: View, place: &FamilyPlace) -> Result<bool> {
        let (table, row, family) = (&place.table, &place.row, &place.family);
        if view == View::History {
            let versions = self.existing(self.backend.list_history(table, row, family, None, 1))?;
            return Ok(versions.is_some_and(|versions| !versions.is_empty()));
        }
        let columns = self.backend.list_columns(table, row, family, None, view.time_range(), 1);
        Ok(self.existing(columns)?.is_some_and(|columns| !columns.is_empty()))
    }

    /// Whether a row's directory is in the history.
    pub(super) fn row_has_history(&self, place: &RowPlace) -> Result<bool> {
        self.row_exists(View::History, place)
    }

    /// Whether a key file is there: since it was written, or with what is stored of its key.
    pub(super) fn key_file_exists(&self, place: &Place, stored: impl FnOnce() -> Result<bool>) -> Result<bool> {
        match self.keys.key_file(place)? {
            KeyFileState::Written => Ok(true),
            KeyFileState::Unlinked => Ok(false),
            KeyFileState::Untouched => stored(),
        }
    }

    pub(super) fn has_versions(&self, column: &ColumnKey) -> Result<bool> {
        let from = HistoryFrom { qualifier: column.qualifier.clone(), before: None };
        let found = self.backend.list_history(&column.table, &column.row, &column.family, Some(&from), 1);
        Ok(self.existing(found)?.is_some_and(|found| found.iter().any(|(of, _)| *of == column.qualifier)))
    }
}

/// When a cell was written: its timestamp, unless that ran ahead of the clock.
fn written(cell: &Cell, now: Timestamp) -> FileTime {
    let timestamp = cell.tags.written_at.unwrap_or(cell.timestamp);
    match cell.tags.file.mtime() {
        Some(mtime) if timestamp > now => mtime.min(now.into()),
        _ => timestamp.into(),
    }
}
