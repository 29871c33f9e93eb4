//! The names of places, and the directories that they are in.

use std::sync::Arc;

use super::asking::question::{Kind, Question, Step};
use super::base::Tree;
use super::names::escape::{Level, NAME_MAX, STEM_MAX};
use super::names::suffix;
use super::names::suffix::Suffix;
use super::place::{InfoPlace, NodeKey, Place, RowPlace, SchemaPlace, TableNoun, WaitingPlace};
use super::schema::texts as schema;
use super::view::View;
use crate::bulk::IMPORTS;
use crate::model::{ColumnKey, TableName};
use crate::tree::named;

/// The name that a place has in its directory.
pub fn name_of(tree: &Tree, key: &NodeKey) -> Vec<u8> {
    let (place, spelling) = (&key.place, named::spelling_of(tree, key.view));
    if let Some((_, step)) = asked_here(key) {
        return step.text;
    }
    let name = |level, key: &[u8]| spelling.file_name(level, key, NAME_MAX);
    let stem = |column: &ColumnKey| spelling.file_name(Level::Qualifier, &column.qualifier, STEM_MAX);
    let with = |column: &ColumnKey, suffix| [stem(column), suffix::render(suffix).into_bytes()].concat();
    match place {
        Place::Root => Vec::new(),
        Place::Namespace(namespace) => namespace.as_bytes().to_vec(),
        Place::Table(table) => table.name.as_bytes().to_vec(),
        Place::Row(row) => name(Level::Row, &row.row),
        Place::Family(family) => name(Level::Family, family.family.as_bytes()),
        Place::Cell(column) => name(Level::Qualifier, &column.qualifier),
        Place::Version(column, ts) => with(column, Suffix::Version(*ts)),
        Place::Ended(column, ts, end) => with(column, Suffix::Deleted(*ts, *end)),
        Place::RowKey(_) => b".key".to_vec(),
        Place::Scratch(scratch) => scratch.name.clone(),
        Place::Waiting(waiting) => match &waiting.family {
            Some(family) => name(Level::Family, family.as_bytes()),
            None => waiting.name.clone(),
        },
        Place::Versions(column) => with(column, Suffix::Versions),
        Place::KeyFile(column) => with(column, Suffix::Key),
        Place::Counter(column) => with(column, Suffix::Counter),
        Place::Json(_) => b".json".to_vec(),
        Place::Times(_) => b".at".to_vec(),
        Place::Count(_) => b".count".to_vec(),
        Place::Changes(_) => b".changes".to_vec(),
        Place::Exports(_) => b".export".to_vec(),
        Place::Imports(_) => b".import".to_vec(),
        Place::Export(_, format) => format.name().as_bytes().to_vec(),
        Place::Import(_, format, empty) => {
            let found = IMPORTS.iter().find(|(_, of, with)| (of, with) == (format, empty));
            found.map(|(name, ..)| name.as_bytes().to_vec()).unwrap_or_default()
        }
        Place::Asking(_, Kind::Value) => last_text(key),
        Place::Asking(_, kind) => kind.word().as_bytes().to_vec(),
        Place::Snapshots => b".snapshot".to_vec(),
        Place::Schema(schema) => schema::name_of(schema),
        Place::TableInfo(_, noun) => super::texts::info::name_of(*noun).as_bytes().to_vec(),
        Place::FamilyComplete(..) => b"complete".to_vec(),
        Place::Info(InfoPlace::Dir) | Place::InfoOf(_) => b".info".to_vec(),
        Place::Info(InfoPlace::Access) => b"access".to_vec(),
        Place::Info(InfoPlace::Errors) => b"errors".to_vec(),
        Place::Info(InfoPlace::Requests) => b"requests".to_vec(),
    }
}

/// The directory that a place is in; `None` for the root.
pub fn parent_of(key: &NodeKey) -> Option<NodeKey> {
    if let Some((question, step)) = asked_here(key) {
        return Some(match step.kind {
            Kind::Raw => key.asked(question, key.place.clone()),
            Kind::At => {
                let times = NodeKey { view: View::Plain, ..key.clone() };
                times.asked(question, Place::Times(Arc::new(key.place.clone())))
            }
            kind => key.asked(question, Place::Asking(Arc::new(key.place.clone()), kind)),
        });
    }
    if let (Some(asked), Place::Asking(base, kind)) = (&key.asked, &key.place)
        && let Some(parent) = behind_index(key, asked, (base, *kind))
    {
        return Some(parent);
    }
    if let (Some(asked), Place::Row(row)) = (&key.asked, &key.place) {
        return Some(key.asked(asked.of_rows(), Place::Table(Arc::new(row.table.clone()))));
    }
    match (key.view, &key.place) {
        (View::At(_), Place::Root | Place::Table(_)) => {
            return Some(key.viewed(View::Plain, Place::Times(Arc::new(key.place.clone()))));
        }
        (View::History, Place::Root) => return Some(key.viewed(View::Plain, Place::Root)),
        (View::Plain, Place::Root) if key.snapshot.is_some() => return Some(NodeKey::plain(Place::Snapshots)),
        _ => {}
    }
    Some(key.sibling(parent_place(&key.place)?))
}

/// Of a directory that the last step of a question leads to: the question without it, and that.
fn asked_here(key: &NodeKey) -> Option<(Question, Step)> {
    let asked = key.asked.as_deref()?;
    match &key.place {
        Place::Table(_) => asked.split_last(),
        Place::Family(_) if !asked.cells.is_empty() => asked.split_last(),
        _ => None,
    }
}

/// The argument of the last step.
fn last_text(key: &NodeKey) -> Vec<u8> {
    key.asked.as_ref().and_then(|asked| asked.rows.last()).map(|step| step.text.clone()).unwrap_or_default()
}

/// The parent of a directory behind the name of an index; `None`: it is none.
fn behind_index(key: &NodeKey, asked: &Question, (base, kind): (&Arc<Place>, Kind)) -> Option<NodeKey> {
    match (kind, asked.rows.last().map(|step| step.kind)) {
        (Kind::Value, _) => {
            let (question, _) = asked.split_last()?;
            Some(key.asked(question, Place::Asking(Arc::clone(base), Kind::By)))
        }
        (Kind::ValuePrefix | Kind::ValueFrom | Kind::ValueTo, Some(Kind::By)) => {
            Some(key.sibling(Place::Asking(Arc::clone(base), Kind::Value)))
        }
        _ => None,
    }
}

fn parent_place(place: &Place) -> Option<Place> {
    let table = |name: &TableName| Place::Table(Arc::new(name.clone()));
    Some(match place {
        Place::Root => return None,
        Place::Namespace(_) | Place::Info(InfoPlace::Dir) | Place::Snapshots => Place::Root,
        Place::Info(_) => Place::Info(InfoPlace::Dir),
        Place::TableInfo(name, TableNoun::Dir) => Place::Table(Arc::clone(name)),
        Place::TableInfo(name, _) => Place::TableInfo(Arc::clone(name), TableNoun::Dir),
        Place::FamilyComplete(name, family) => Place::InfoOf(Arc::new(schema::family_place(name, family))),
        Place::Table(name) => Place::Namespace(Arc::clone(&name.namespace)),
        Place::Row(row) => table(&row.table),
        Place::Family(family) => {
            Place::Row(Arc::new(RowPlace { table: family.table.clone(), row: family.row.clone() }))
        }
        Place::Cell(column)
        | Place::Version(column, _)
        | Place::Ended(column, ..)
        | Place::Versions(column)
        | Place::Counter(column)
        | Place::KeyFile(column) => Place::Family(Arc::new(super::place::family_of(column))),
        Place::Scratch(scratch) => scratch.dir.place(),
        Place::Waiting(waiting) => match &waiting.family {
            Some(_) => Place::Waiting(Arc::new(WaitingPlace { family: None, ..waiting.as_ref().clone() })),
            None => table(&waiting.table),
        },
        Place::Json(row) | Place::RowKey(row) => Place::Row(Arc::clone(row)),
        Place::Export(base, _) => Place::Exports(Arc::clone(base)),
        Place::Changes(table) => Place::Table(Arc::clone(table)),
        Place::Import(base, ..) => Place::Imports(Arc::clone(base)),
        Place::Exports(base)
        | Place::Imports(base)
        | Place::Times(base)
        | Place::InfoOf(base)
        | Place::Asking(base, _)
        | Place::Count(base) => base.as_ref().clone(),
        Place::Schema(schema) => match schema::parent(schema) {
            Some(parent) => Place::Schema(Arc::new(parent)),
            None => match schema.as_ref() {
                SchemaPlace::Namespace(name) => Place::Namespace(name.as_str().into()),
                SchemaPlace::Table(name) => table(name),
                _ => return None,
            },
        },
    })
}
