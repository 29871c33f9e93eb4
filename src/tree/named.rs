//! What names stand for, each level by itself: keys of rows and qualifiers, families, tables, snapshots.

use std::sync::Arc;

use super::base::Tree;
use super::found::{absent, misspelt};
use super::names::escape::{Level, NAME_MAX, Parsed, STEM_MAX, Spelling, is_copy_of_shortened};
use super::names::shortened::{find_qualifier, find_row};
use super::names::suffix::{self, Suffix};
use super::place::{FamilyPlace, InfoPlace, NodeKey, Place, SchemaPlace, SnapshotId};
use super::view::View;
use crate::backend::SnapshotInfo;
use crate::model::{TableName, check_row};
use crate::{Error, Result};

/// The key of a row's name; `None` for a shortened name of no key.
pub(super) fn row_named(tree: &Tree, spelling: Spelling, table: &TableName, name: &[u8]) -> Result<Option<Vec<u8>>> {
    let row = match spelling.parse(Level::Row, name) {
        Parsed::Key(row) => row,
        Parsed::Refused { canonical } => return Err(misspelt(name, &canonical)),
        Parsed::Short { prefixes } => return find_row(tree, spelling, table, &prefixes, name),
    };
    check_row(&row)?;
    Ok(Some(row))
}

/// The key of the part of a name before its suffix; `None` for a shortened one of no key.
pub(super) fn qualifier_named(
    tree: &Tree,
    spelling: Spelling,
    family: &FamilyPlace,
    stem: &[u8],
    suffix: Option<Suffix>,
) -> Result<Option<Vec<u8>>> {
    let limit = if suffix.is_some() { STEM_MAX } else { NAME_MAX };
    let right = |canonical: &[u8]| [canonical, suffix.map_or_else(String::new, suffix::render).as_bytes()].concat();
    match spelling.parse(Level::Qualifier, stem) {
        Parsed::Key(qualifier) if stem.len() > limit => {
            let canonical = right(&spelling.file_name(Level::Qualifier, &qualifier, limit));
            Err(misspelt(&right(stem), &canonical))
        }
        Parsed::Key(qualifier) => Ok(Some(qualifier)),
        Parsed::Refused { .. } if stem.is_empty() && suffix == Some(Suffix::Versions) => {
            Err(misspelt(b"@", &spelling.file_name(Level::Qualifier, b"@", NAME_MAX)))
        }
        // It has that name until rsync gives it that of the file.
        Parsed::Refused { .. } if suffix.is_none() && is_copy_of_shortened(stem) => Ok(Some(stem.to_vec())),
        Parsed::Refused { canonical } => Err(misspelt(&right(stem), &right(&canonical))),
        Parsed::Short { prefixes } => find_qualifier(tree, spelling, family, (&prefixes, stem), limit),
    }
}

/// The refusal of a name whose `@` would be a suffix, where it is an ordinary character otherwise.
pub fn plain_at(tree: &Tree, name: &[u8]) -> Error {
    let at = name.iter().rposition(|b| *b == b'@').unwrap_or(name.len());
    let (stem, tail) = name.split_at(at);
    let stem = match tree.spelling.parse(Level::Qualifier, stem) {
        Parsed::Key(stem) => stem,
        Parsed::Refused { .. } | Parsed::Short { .. } => stem.to_vec(),
    };
    misspelt(name, &tree.spelling.file_name(Level::Qualifier, &[&stem, tail].concat(), NAME_MAX))
}

/// How names are spelt in a view.
pub fn spelling_of(tree: &Tree, view: View) -> Spelling {
    match view {
        View::History => Spelling::default(),
        View::Plain | View::At(_) => tree.spelling,
    }
}

/// The family of a name.
pub(super) fn family_named(name: &[u8]) -> Result<String> {
    let key = match Spelling::default().parse(Level::Family, name) {
        Parsed::Key(key) => key,
        Parsed::Refused { canonical } => return Err(misspelt(name, &canonical)),
        Parsed::Short { .. } => return Err(absent(name)),
    };
    let family = String::from_utf8(key).map_err(|_| absent(name))?;
    crate::model::check_family(&family)?;
    Ok(family)
}

pub(super) fn root_target(name: &[u8]) -> Result<Place> {
    match name {
        b".info" => Ok(Place::Info(InfoPlace::Dir)),
        b".at" => Ok(Place::Times(Arc::new(Place::Root))),
        b".snapshot" => Ok(Place::Snapshots),
        _ => {
            let text = std::str::from_utf8(name).map_err(|_| absent(name))?;
            crate::model::check_namespace(text)?;
            Ok(Place::Namespace(text.into()))
        }
    }
}

pub(super) fn namespace_target(namespace: &str, name: &[u8]) -> Result<Place> {
    if name == b".schema" {
        return Ok(Place::Schema(Arc::new(SchemaPlace::Namespace(namespace.to_owned()))));
    }
    let text = std::str::from_utf8(name).map_err(|_| absent(name))?;
    Ok(Place::Table(Arc::new(TableName::new(namespace, text)?)))
}

/// The root of a snapshot's tree.
pub(super) fn root_of(snapshot: &SnapshotInfo) -> NodeKey {
    let id = SnapshotId { name: snapshot.name.clone(), made_at: snapshot.made_at };
    NodeKey { snapshot: Some(Arc::new(id)), ..NodeKey::plain(Place::Root) }
}
