//! What is at a place: whether it exists, and what `stat` needs of it.

use super::base::Tree;
use super::found::{Facts, key_text, text};
use super::place::{InfoPlace, NodeKey, Place, RowPlace, SchemaPlace};
use super::schema::texts as schema;
use super::view::View;
use crate::model::{Cell, ColumnKey, FileAttributes, FileChange, FileTime, TimeRange, Timestamp};
use crate::tree::asking::asked::asked_facts;
use crate::tree::history::places::history_facts;
use crate::tree::schema::splits::splits_facts;
use crate::tree::stored;
use crate::{Error, ErrorKind, Result};

/// What is at a place; `None` when nothing is.
pub fn at(tree: &Tree, key: &NodeKey) -> Result<Option<Facts>> {
    if let Place::InfoOf(base) = &key.place {
        return Ok(at(tree, &key.sibling(base.as_ref().clone()))?.map(|_| Facts::Dir));
    }
    if key.view == View::History {
        return history_facts(tree, &key.place);
    }
    let is_of_base = matches!(key.place, Place::Asking(..) | Place::Count(_) | Place::Exports(_) | Place::Export(..));
    if let Some(question) = key.asked.as_deref().filter(|_| !is_of_base) {
        return asked_facts(tree, key, question);
    }
    match &key.place {
        Place::Exports(base) | Place::Imports(base) => {
            Ok(at(tree, &key.sibling(base.as_ref().clone()))?.map(|_| Facts::Dir))
        }
        Place::Count(base) | Place::Export(base, _) | Place::Import(base, ..) => {
            Ok(at(tree, &key.sibling(base.as_ref().clone()))?.map(|_| text(Vec::new())))
        }
        Place::Asking(base, _) => Ok(at(tree, &key.sibling(base.as_ref().clone()))?.map(|_| Facts::Dir)),
        Place::Root | Place::Times(_) | Place::Snapshots | Place::Info(InfoPlace::Dir) => Ok(Some(Facts::Dir)),
        // It was looked at before.
        Place::InfoOf(_) => Ok(None),
        Place::Info(_) => Ok(Some(text(Vec::new()))),
        Place::TableInfo(table, noun) => super::texts::info::facts(tree.backend.as_ref(), table, *noun),
        Place::FamilyComplete(table, family) => {
            let exists = at(tree, &key.sibling(schema::family_place(table, family)))?.is_some();
            let content = exists.then(|| super::texts::complete::text(tree.backend.as_ref(), table, Some(family)));
            Ok(content.transpose()?.map(|content| text(content.into_bytes())))
        }
        Place::Namespace(name) => {
            let exists = tree.backend.catalogue()?.namespaces.contains_key(name.as_ref());
            Ok(exists.then_some(Facts::Dir))
        }
        // Its length and time are those of the mount that follows.
        Place::Changes(table) => Ok(tree.backend.catalogue()?.tables.contains_key(table).then(|| text(Vec::new()))),
        Place::Table(table) => Ok(tree.backend.catalogue()?.tables.contains_key(table).then_some(Facts::Dir)),
        Place::Row(row) => Ok(stored::row_exists(tree, key.view, row)?.then_some(Facts::Dir)),
        Place::Family(family) => Ok(stored::family_exists(tree, key.view, family)?.then_some(Facts::Dir)),
        Place::Cell(column) => {
            Ok(stored::existing(tree.backend.newest(column, key.view.time_range()))?.flatten().map(Facts::Cell))
        }
        Place::Version(column, ts) => {
            let range = key.view.time_range().and(TimeRange::at(*ts));
            Ok(stored::existing(tree.backend.newest(column, range))?.flatten().map(Facts::Cell))
        }
        Place::Versions(column) => Ok(stored::has_versions(tree, column)?.then_some(Facts::Dir)),
        Place::KeyFile(column) => {
            let exists = stored::key_file_exists(tree, &key.place, || stored::has_versions(tree, column))?;
            Ok(exists.then(|| key_text(&column.qualifier)))
        }
        Place::RowKey(row) => Ok(stored::row_exists(tree, key.view, row)?.then(|| key_text(&row.row))),
        Place::Counter(column) => counter_facts(tree, key.view, column),
        Place::Json(row) => json_facts(tree, key.view, row),
        Place::Schema(schema) if let SchemaPlace::Splits(table) = schema.as_ref() => splits_facts(tree, table),
        Place::Schema(schema) => schema::facts(tree.backend.catalogue()?.as_ref(), schema),
        // Only the history has them.
        Place::Ended(..) | Place::Scratch(_) | Place::Waiting(_) => Ok(None),
    }
}

/// A counter is a value of 8 bytes, big-endian (HBase: Bytes.toBytes(long)).
fn counter_facts(tree: &Tree, view: View, column: &ColumnKey) -> Result<Option<Facts>> {
    let newest = stored::existing(tree.backend.newest(column, view.time_range()))?.flatten();
    let Some(cell) = newest.filter(|cell| cell.len() == 8) else { return Ok(None) };
    let bytes = tree.backend.read_value(&cell, 0, 8)?;
    let value = bytes.try_into().map(i64::from_be_bytes);
    let value = value.map_err(|_| Error::new(ErrorKind::Corrupt, "a counter was cut short"))?;
    let (bytes, mtime) = (format!("{value}\n").into_bytes(), cell.mtime());
    Ok(Some(Facts::Text { bytes, mtime, file: cell.tags.file }))
}

fn json_facts(tree: &Tree, view: View, row: &RowPlace) -> Result<Option<Facts>> {
    let Some(result) = stored::existing(super::texts::json::read(tree.backend.as_ref(), row, view.time_range()))?
    else {
        return Ok(None);
    };
    let now = tree.backend.now();
    let newest = result.cells.iter().map(|cell| written(cell, now)).max().unwrap_or_default();
    // Whom one cell of the row is kept from, the row is: a cell of another group, from those of the mount's.
    let mode = result.cells.iter().map(|cell| open_to(&cell.tags.file)).reduce(|one, other| one & other);
    let file = FileChange { mode: mode.map(|mode| mode & 0o666), ..FileChange::default() }.into();
    Ok(Some(Facts::Text { bytes: super::texts::json::render(&result), mtime: newest, file }))
}

/// Bits that a cell gives the owner, the group and the others of a mount; all where nothing was set.
fn open_to(file: &FileAttributes) -> u16 {
    match (file.mode(), file.gid()) {
        (Some(mode), None) => mode,
        (Some(mode), Some(_)) => mode & 0o707 | (mode & 0o007) << 3,
        (None, None) => 0o777,
        (None, Some(_)) => 0o707,
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
