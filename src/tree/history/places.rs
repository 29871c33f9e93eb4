//! `.history`: every version by its own name, live or kept, and the schema: what a backup copies and a
//! restore writes.

use std::sync::Arc;

use crate::Result;
use crate::model::{Catalogue, CellInfo, ColumnKey, TableName};
use crate::tree::base::Tree;
use crate::tree::found::{Facts, absent, key_text, wrong_timestamp};
use crate::tree::history::judge::version;
use crate::tree::named::{family_named, namespace_target, root_target};
use crate::tree::names::escape::{At, Level, NAME_MAX, Parsed, STEM_MAX, Spelling};
use crate::tree::names::suffix;
use crate::tree::names::suffix::Suffix;
use crate::tree::place::{FamilyPlace, Place, RowPlace, SchemaPlace, ScratchDir, ScratchPlace, WaitingPlace};
use crate::tree::schema::texts as schema;
use crate::tree::view::View;
use crate::tree::{named, stored};

/// The namespace that the history does not have: it only describes the store.
const SYSTEM: &str = "hbase";

/// What a name in a directory of the history would stand for.
pub(in crate::tree) fn history_target(tree: &Tree, dir: &Place, name: &[u8]) -> Result<Place> {
    match dir {
        Place::Root if name == SYSTEM.as_bytes() || name.starts_with(b".") => Err(absent(name)),
        Place::Root => root_target(name),
        Place::Namespace(namespace) => namespace_target(namespace, name),
        Place::Schema(place) => Ok(Place::Schema(Arc::new(schema::target(place, name)?))),
        Place::Table(table) => history_row(tree, table, name),
        Place::Row(row) => Ok(history_in_row(row, name)),
        Place::Family(family) => history_in_family(tree, family, name),
        Place::Waiting(waiting) => history_in_waiting(tree, waiting, name),
        _ => Err(absent(name)),
    }
}

fn history_row(tree: &Tree, table: &Arc<TableName>, name: &[u8]) -> Result<Place> {
    let table = table.as_ref().clone();
    if name == b".schema" {
        return Ok(Place::Schema(Arc::new(SchemaPlace::Table(table))));
    }
    let waiting = WaitingPlace { table, name: name.to_vec(), family: None };
    if is_waiting(tree, &waiting)? {
        return Ok(Place::Waiting(Arc::new(waiting)));
    }
    Ok(match named::row_named(tree, Spelling::default(), &waiting.table, name)? {
        Some(row) => Place::Row(Arc::new(RowPlace { table: waiting.table, row })),
        None => Place::Waiting(Arc::new(waiting)),
    })
}

fn history_in_family(tree: &Tree, family: &FamilyPlace, name: &[u8]) -> Result<Place> {
    let scratch = || scratch(ScratchDir::Family(family.clone()), name);
    let (stem, suffix) = match suffix::split(name, At::Version) {
        Some((_, None)) => return Err(wrong_timestamp(name)),
        Some((stem, Some(suffix @ (Suffix::Version(_) | Suffix::Deleted(..) | Suffix::Key)))) => (stem, suffix),
        _ => return Ok(scratch()),
    };
    let Some(qualifier) = named::qualifier_named(tree, Spelling::default(), family, stem, Some(suffix))? else {
        return Ok(scratch());
    };
    let column = Arc::new(family.column(qualifier));
    Ok(match suffix {
        Suffix::Version(timestamp) => Place::Version(column, timestamp),
        Suffix::Deleted(timestamp, end) => Place::Ended(column, timestamp, end),
        _ if is_shortened(stem) => Place::KeyFile(column),
        _ => scratch(),
    })
}

/// In a directory that waits for a key; as in the row itself once the key is known.
fn history_in_waiting(tree: &Tree, waiting: &WaitingPlace, name: &[u8]) -> Result<Place> {
    if let Some(known) = resolved(tree, waiting)? {
        return history_target(tree, &known, name);
    }
    let family = if waiting.family.is_none() { family_named(name).ok() } else { None };
    Ok(match family {
        Some(family) => Place::Waiting(Arc::new(WaitingPlace { family: Some(family), ..waiting.clone() })),
        None => scratch(ScratchDir::Waiting(waiting.clone()), name),
    })
}

/// The row or family that a waiting directory is, once the row's key is known.
pub fn resolved(tree: &Tree, waiting: &WaitingPlace) -> Result<Option<Place>> {
    let table = waiting.table.clone();
    let Some(row) = tree.keys.written_row(&table, &waiting.name)? else { return Ok(None) };
    Ok(Some(match waiting.family.clone() {
        None => Place::Row(Arc::new(RowPlace { table, row })),
        Some(family) => Place::Family(Arc::new(FamilyPlace { table, row, family })),
    }))
}

/// What is at a place of the history.
pub(in crate::tree) fn history_facts(tree: &Tree, place: &Place) -> Result<Option<Facts>> {
    let dir = |exists: bool| exists.then_some(Facts::Dir);
    Ok(match place {
        Place::Root => Some(Facts::Dir),
        Place::Namespace(name) => dir(tree.backend.catalogue()?.namespaces.contains_key(name.as_ref())),
        Place::Table(table) => dir(tree.backend.catalogue()?.tables.contains_key(table)),
        Place::Row(row) => dir(stored::row_has_history(tree, row)?),
        Place::Family(family) => dir(stored::family_exists(tree, View::History, family)?),
        Place::Version(column, timestamp) => {
            version(tree, column, *timestamp)?.filter(|cell| cell.deleted_at.is_none()).map(Facts::Cell)
        }
        Place::Ended(column, timestamp, end) => {
            version(tree, column, *timestamp)?.filter(|cell| cell.deleted_at == Some(*end)).map(Facts::Cell)
        }
        Place::KeyFile(column) => {
            let exists = stored::key_file_exists(tree, place, || stored::has_versions(tree, column))?;
            exists.then(|| key_text(&column.qualifier))
        }
        Place::RowKey(row) => {
            let exists = stored::key_file_exists(tree, place, || row_is_stored(tree, row))?;
            exists.then(|| key_text(&row.row))
        }
        Place::Waiting(waiting) => dir(is_waiting(tree, waiting)?),
        Place::Schema(place) => {
            let catalogue = tree.backend.catalogue()?;
            if is_unmade(tree, &catalogue, place) { None } else { schema::history_facts(&catalogue, place)? }
        }
        _ => None,
    })
}

/// Whether a directory of the schema does not show until it is made: what has come into it elsewhere shows it, too.
pub(in crate::tree) fn is_unmade(tree: &Tree, catalogue: &Catalogue, place: &SchemaPlace) -> bool {
    let is_hidden = |(_, child): &(String, SchemaPlace)| child.is_dir() && is_unmade(tree, catalogue, child);
    tree.unmade.contains(place) && schema::list(catalogue, place).iter().all(is_hidden)
}

/// Whether anything of a row is live or kept.
fn row_is_stored(tree: &Tree, row: &RowPlace) -> Result<bool> {
    let which = crate::backend::Versions::LiveAndKept;
    let families = tree.backend.list_families(&row.table, &row.row, View::History.time_range(), which);
    Ok(stored::existing(families)?.is_some_and(|families| !families.is_empty()))
}

fn is_waiting(tree: &Tree, waiting: &WaitingPlace) -> Result<bool> {
    match &waiting.family {
        None => tree.waiting.has_made_row(&waiting_row(waiting)),
        Some(family) => tree.waiting.has_family(&waiting_family(waiting, family)),
    }
}

/// A waiting row as the set of made directories has it: by its name in place of its key.
pub fn waiting_row(waiting: &WaitingPlace) -> RowPlace {
    RowPlace { table: waiting.table.clone(), row: waiting.name.clone() }
}

/// A family of a waiting row, likewise.
pub fn waiting_family(waiting: &WaitingPlace, family: &str) -> FamilyPlace {
    let (table, row) = (waiting.table.clone(), waiting.name.clone());
    FamilyPlace { table, row, family: family.to_owned() }
}

fn history_in_row(row: &Arc<RowPlace>, name: &[u8]) -> Place {
    if name == b".key" && row_is_shortened(&row.row) {
        return Place::RowKey(Arc::clone(row));
    }
    match family_named(name) {
        Ok(family) => Place::Family(Arc::new(FamilyPlace { table: row.table.clone(), row: row.row.clone(), family })),
        Err(_) => scratch(ScratchDir::Row(row.as_ref().clone()), name),
    }
}

fn scratch(dir: ScratchDir, name: &[u8]) -> Place {
    Place::Scratch(Arc::new(ScratchPlace { dir, name: name.to_vec() }))
}

/// Whether a row's name does not hold its key.
pub fn row_is_shortened(row: &[u8]) -> bool {
    // An escape makes three bytes of one at the most.
    row.len() * 3 > NAME_MAX && Spelling::default().name(Level::Row, row).len() > NAME_MAX
}

/// Whether the part of a column's names before a suffix does not hold its key.
pub fn stem_is_shortened(qualifier: &[u8]) -> bool {
    qualifier.len() * 3 > STEM_MAX && Spelling::default().name(Level::Qualifier, qualifier).len() > STEM_MAX
}

fn is_shortened(stem: &[u8]) -> bool {
    matches!(Spelling::default().parse(Level::Qualifier, stem), Parsed::Short { .. })
}

/// The name of a version in the history.
pub fn version_name(stem: &[u8], cell: &CellInfo) -> Vec<u8> {
    let suffix = match cell.deleted_at {
        None => Suffix::Version(cell.timestamp),
        Some(end) => Suffix::Deleted(cell.timestamp, end),
    };
    [stem, suffix::render(suffix).as_bytes()].concat()
}

/// The place of a version in the history.
pub fn version_place(column: &Arc<ColumnKey>, cell: &CellInfo) -> Place {
    match cell.deleted_at {
        None => Place::Version(Arc::clone(column), cell.timestamp),
        Some(end) => Place::Ended(Arc::clone(column), cell.timestamp, end),
    }
}

/// Whether `q@ts` reads it: a version that its own tombstone ended is seen only below `.history`.
pub(in crate::tree) fn is_readable(cell: &CellInfo) -> bool {
    cell.hidden_from.is_none_or(|hidden| hidden > cell.timestamp)
}
