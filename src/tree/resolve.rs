//! What a name in a directory stands for, and what is there.

use std::sync::Arc;

use super::base::Tree;
use super::found::{absent, no_snapshot, wrong_timestamp};
use super::names::escape::NAME_MAX;
use super::names::keys::no_short_name;
use super::names::suffix::{At, Suffix};
use super::names::{suffix, times};
use super::place::{
    FamilyPlace, InfoPlace, NodeKey, Place, RowPlace, SchemaPlace, ScratchDir, ScratchPlace, TableNoun,
};
use super::schema::texts as schema;
use super::view::View;
use crate::model::{ColumnKey, TableName};
use crate::tree::asking::steps::{asked_at, asked_target};
use crate::tree::history::places::history_target;
use crate::tree::named;
use crate::{Error, ErrorKind, Result};

/// Refuses a name that is too long; behind a whole one, shortened or not, its suffix has room.
fn check_len(tree: &Tree, dir: &NodeKey, name: &[u8]) -> Result<()> {
    let stem = match &dir.place {
        Place::Table(_) | Place::Family(_) => suffix::split(name, tree.spelling.at).map_or(name, |(stem, _)| stem),
        _ => name,
    };
    match stem.len() > NAME_MAX {
        true => Err(Error::new(ErrorKind::NameTooLong, format!("a name has at most {NAME_MAX} bytes"))),
        false => Ok(()),
    }
}

/// What `name` would stand for in `dir`, whether or not it exists.
///
/// `NameTooLong` past 255 bytes; `IllegalArgument`, with the right spelling, for a name that can stand
/// for nothing; `NotPermitted` where this level of the tree has no such things; `NotFound` for a shortened
/// name of no key.
pub fn target(tree: &Tree, dir: &NodeKey, name: &[u8]) -> Result<NodeKey> {
    check_len(tree, dir, name)?;
    if name == b".info" && has_info_of_mount(dir) {
        return Ok(dir.sibling(Place::InfoOf(Arc::new(dir.place.clone()))));
    }
    if name == b"errors" && matches!(dir.place, Place::InfoOf(_) | Place::TableInfo(_, TableNoun::Dir)) {
        return Ok(NodeKey::plain(Place::Info(InfoPlace::Errors)));
    }
    if let Place::Times(base) = &dir.place {
        return time_target(tree, dir, base, name);
    }
    if dir.place == Place::Snapshots {
        let known = tree.backend.snapshots()?.into_iter().find(|one| one.name.as_bytes() == name);
        return known.map(|one| named::root_of(&one)).ok_or_else(|| no_snapshot(name));
    }
    if dir.view == View::History {
        return Ok(dir.sibling(history_target(tree, &dir.place, name)?));
    }
    if let Some(key) = asked_target(tree, dir, name)? {
        return Ok(key);
    }
    if matches!(dir.place, Place::Root) && dir.view == View::Plain && name == b".history" {
        return Ok(dir.viewed(View::History, Place::Root));
    }
    if dir.snapshot.is_some() && matches!(dir.place, Place::Root) && matches!(name, b".snapshot" | b".info") {
        return Err(absent(name));
    }
    let place = match &dir.place {
        Place::Root => named::root_target(name)?,
        Place::Namespace(namespace) => named::namespace_target(namespace, name)?,
        Place::Table(table) => table_target(tree, table, name)?,
        Place::Row(row) => row_target(row, name)?,
        Place::Family(family) => family_target(tree, family, name)?,
        Place::Versions(column) => version_target(column, name)?,
        Place::Schema(schema) => Place::Schema(Arc::new(schema::target(schema, name)?)),
        Place::InfoOf(base) if name == b"complete" => schema::complete_of(base).ok_or_else(|| absent(name))?,
        Place::TableInfo(table, TableNoun::Dir) => super::texts::info::target(table, name)?,
        Place::Info(InfoPlace::Dir) if name == b"errors" => Place::Info(InfoPlace::Errors),
        Place::Info(InfoPlace::Dir) if name == b"access" => Place::Info(InfoPlace::Access),
        Place::Info(InfoPlace::Dir) if name == b"requests" => Place::Info(InfoPlace::Requests),
        _ => return Err(absent(name)),
    };
    if dir.view != View::Plain
        && matches!(
            place,
            Place::Times(_) | Place::Schema(_) | Place::Info(_) | Place::TableInfo(..) | Place::Snapshots
        )
    {
        return Err(absent(name));
    }
    Ok(dir.sibling(place))
}

fn time_target(tree: &Tree, dir: &NodeKey, base: &Place, name: &[u8]) -> Result<NodeKey> {
    let text = std::str::from_utf8(name).map_err(|_| absent(name))?;
    let time = times::parse_time(text, tree.backend.now());
    let time = time.ok_or_else(|| {
        Error::new(ErrorKind::IllegalArgument, format!("`{}` is not a time: {}", text.escape_debug(), times::FORMS))
    })?;
    asked_at(dir.viewed(View::At(time), base.clone()), name)
}

fn table_target(tree: &Tree, table: &Arc<TableName>, name: &[u8]) -> Result<Place> {
    match name {
        b".schema" => Ok(Place::Schema(Arc::new(SchemaPlace::Table(table.as_ref().clone())))),
        b".at" => Ok(Place::Times(Arc::new(Place::Table(Arc::clone(table))))),
        b".info" => Ok(Place::TableInfo(Arc::clone(table), TableNoun::Dir)),
        _ => {
            let row = named::row_named(tree, tree.spelling, table, name)?.ok_or_else(|| no_short_name(name))?;
            Ok(Place::Row(Arc::new(RowPlace { table: table.as_ref().clone(), row })))
        }
    }
}

fn family_target(tree: &Tree, family: &FamilyPlace, name: &[u8]) -> Result<Place> {
    let (stem, suffix) = match suffix::split(name, tree.spelling.at) {
        None => (name, None),
        Some((_, None | Some(Suffix::Deleted(..)))) if tree.spelling.at == At::Plain => {
            return Err(named::plain_at(tree, name));
        }
        Some((stem, Some(suffix))) => (stem, Some(suffix)),
        Some((_, None)) => return Err(wrong_timestamp(name)),
    };
    let qualifier = match named::qualifier_named(tree, tree.spelling, family, stem, suffix)? {
        Some(qualifier) => qualifier,
        // A key file that is written makes its name known.
        None if suffix == Some(Suffix::Key) => {
            let dir = ScratchDir::Family(family.clone());
            return Ok(Place::Scratch(Arc::new(ScratchPlace { dir, name: name.to_vec() })));
        }
        None => return Err(no_short_name(name)),
    };
    let column = Arc::new(family.column(qualifier));
    match suffix {
        None => Ok(Place::Cell(column)),
        Some(Suffix::Version(ts)) => Ok(Place::Version(column, ts)),
        Some(Suffix::Versions) => Ok(Place::Versions(column)),
        Some(Suffix::Key) => Ok(Place::KeyFile(column)),
        Some(Suffix::Counter) => Ok(Place::Counter(column)),
        Some(Suffix::Deleted(..)) => Err(absent(name)),
    }
}

/// Whether a directory that has no `.info` of its own leads to the refusals of the mount by that name. A family does not:
/// it is a name of a cell there.
fn has_info_of_mount(dir: &NodeKey) -> bool {
    match &dir.place {
        Place::Root => !dir.is_present(),
        Place::Table(_) => dir.view != View::Plain || dir.asked.is_some(),
        Place::Namespace(_) | Place::Row(_) | Place::Versions(_) | Place::Times(_) | Place::Snapshots => true,
        Place::Schema(place) => !matches!(**place, SchemaPlace::Free { .. }),
        _ => false,
    }
}

fn row_target(row: &Arc<RowPlace>, name: &[u8]) -> Result<Place> {
    match name {
        b".at" => return Ok(Place::Times(Arc::new(Place::Row(Arc::clone(row))))),
        b".json" => return Ok(Place::Json(Arc::clone(row))),
        b".key" => return Ok(Place::RowKey(Arc::clone(row))),
        _ => {}
    }
    let family = named::family_named(name)?;
    Ok(Place::Family(Arc::new(FamilyPlace { table: row.table.clone(), row: row.row.clone(), family })))
}

fn version_target(column: &Arc<ColumnKey>, name: &[u8]) -> Result<Place> {
    let timestamp = suffix::parse_timestamp(name).filter(|_| !name.is_empty()).ok_or_else(|| wrong_timestamp(name))?;
    Ok(Place::Version(Arc::clone(column), timestamp))
}
