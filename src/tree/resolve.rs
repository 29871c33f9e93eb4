//! What a name in a directory stands for, and what is there.

use std::sync::Arc;

use super::base::Tree;
use super::found::absent;
use super::found::{misspelt, wrong_timestamp};
use super::names::escape::{Level, NAME_MAX, Parsed, STEM_MAX, Spelling, is_copy_of_shortened};
use super::names::keys::no_short_name;
use super::names::suffix;
use super::names::suffix::{At, Suffix};
use super::names::times;
use super::place::{
    FamilyPlace, InfoPlace, NodeKey, Place, RowPlace, SchemaPlace, ScratchDir, ScratchPlace, SnapshotId, TableNoun,
};
use super::schema::texts as schema;
use super::view::View;
use crate::backend::SnapshotInfo;
use crate::model::{ColumnKey, TableName, check_row};
use crate::{Error, ErrorKind, Result};

impl Tree {
    /// Refuses a name that is too long; behind a whole one, shortened or not, its suffix has room.
    fn check_len(&self, dir: &NodeKey, name: &[u8]) -> Result<()> {
        let stem = match &dir.place {
            Place::Table(_) | Place::Family(_) => suffix::split(name, self.spelling.at).map_or(name, |(stem, _)| stem),
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
    pub fn target(&self, dir: &NodeKey, name: &[u8]) -> Result<NodeKey> {
        self.check_len(dir, name)?;
        if name == b".info" && has_info_of_mount(dir) {
            return Ok(dir.sibling(Place::InfoOf(Arc::new(dir.place.clone()))));
        }
        if name == b"errors" && matches!(dir.place, Place::InfoOf(_) | Place::TableInfo(_, TableNoun::Dir)) {
            return Ok(NodeKey::plain(Place::Info(InfoPlace::Errors)));
        }
        if let Place::Times(base) = &dir.place {
            return self.time_target(dir, base, name);
        }
        if dir.place == Place::Snapshots {
            let known = self.backend.snapshots()?.into_iter().find(|one| one.name.as_bytes() == name);
            return known.map(|one| root_of(&one)).ok_or_else(|| absent(name));
        }
        if dir.view == View::History {
            return Ok(dir.sibling(self.history_target(&dir.place, name)?));
        }
        if let Some(key) = self.asked_target(dir, name)? {
            return Ok(key);
        }
        if matches!(dir.place, Place::Root) && dir.view == View::Plain && name == b".history" {
            return Ok(dir.viewed(View::History, Place::Root));
        }
        if dir.snapshot.is_some() && matches!(dir.place, Place::Root) && matches!(name, b".snapshot" | b".info") {
            return Err(absent(name));
        }
        let place = match &dir.place {
            Place::Root => root_target(name)?,
            Place::Namespace(namespace) => namespace_target(namespace, name)?,
            Place::Table(table) => self.table_target(table, name)?,
            Place::Row(row) => row_target(row, name)?,
            Place::Family(family) => self.family_target(family, name)?,
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

    fn time_target(&self, dir: &NodeKey, base: &Place, name: &[u8]) -> Result<NodeKey> {
        let text = std::str::from_utf8(name).map_err(|_| absent(name))?;
        let time = times::parse_time(text, self.backend.now());
        let time = time.ok_or_else(|| {
            Error::new(ErrorKind::IllegalArgument, format!("`{}` is not a time: {}", text.escape_debug(), times::FORMS))
        })?;
        self.asked_at(dir.viewed(View::At(time), base.clone()), name)
    }

    fn table_target(&self, table: &Arc<TableName>, name: &[u8]) -> Result<Place> {
        match name {
            b".schema" => Ok(Place::Schema(Arc::new(SchemaPlace::Table(table.as_ref().clone())))),
            b".at" => Ok(Place::Times(Arc::new(Place::Table(Arc::clone(table))))),
            b".info" => Ok(Place::TableInfo(Arc::clone(table), TableNoun::Dir)),
            _ => {
                let row = self.row_named(self.spelling, table, name)?.ok_or_else(|| no_short_name(name))?;
                Ok(Place::Row(Arc::new(RowPlace { table: table.as_ref().clone(), row })))
            }
        }
    }

    /// The key of a row's name; `None` for a shortened name of no key.
    pub(super) fn row_named(&self, spelling: Spelling, table: &TableName, name: &[u8]) -> Result<Option<Vec<u8>>> {
        let row = match spelling.parse(Level::Row, name) {
            Parsed::Key(row) => row,
            Parsed::Refused { canonical } => return Err(misspelt(name, &canonical)),
            Parsed::Short { prefixes } => return self.find_row(spelling, table, &prefixes, name),
        };
        check_row(&row)?;
        Ok(Some(row))
    }

    fn family_target(&self, family: &FamilyPlace, name: &[u8]) -> Result<Place> {
        let (stem, suffix) = match suffix::split(name, self.spelling.at) {
            None => (name, None),
            Some((_, None | Some(Suffix::Deleted(..)))) if self.spelling.at == At::Plain => {
                return Err(self.plain_at(name));
            }
            Some((stem, Some(suffix))) => (stem, Some(suffix)),
            Some((_, None)) => return Err(wrong_timestamp(name)),
        };
        let qualifier = match self.qualifier_named(self.spelling, family, stem, suffix)? {
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

    /// The key of the part of a name before its suffix; `None` for a shortened one of no key.
    pub(super) fn qualifier_named(
        &self,
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
            Parsed::Short { prefixes } => self.find_qualifier(spelling, family, (&prefixes, stem), limit),
        }
    }

    /// The refusal of a name whose `@` would be a suffix, where it is an ordinary character otherwise.
    fn plain_at(&self, name: &[u8]) -> Error {
        let at = name.iter().rposition(|b| *b == b'@').unwrap_or(name.len());
        let (stem, tail) = name.split_at(at);
        let stem = match self.spelling.parse(Level::Qualifier, stem) {
            Parsed::Key(stem) => stem,
            Parsed::Refused { .. } | Parsed::Short { .. } => stem.to_vec(),
        };
        misspelt(name, &self.spelling.file_name(Level::Qualifier, &[&stem, tail].concat(), NAME_MAX))
    }

    /// How names are spelt in a view.
    pub fn spelling_of(&self, view: View) -> Spelling {
        match view {
            View::History => Spelling::default(),
            View::Plain | View::At(_) => self.spelling,
        }
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

/// The root of a snapshot's tree.
pub(super) fn root_of(snapshot: &SnapshotInfo) -> NodeKey {
    let id = SnapshotId { name: snapshot.name.clone(), made_at: snapshot.made_at };
    NodeKey { snapshot: Some(Arc::new(id)), ..NodeKey::plain(Place::Root) }
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

fn row_target(row: &Arc<RowPlace>, name: &[u8]) -> Result<Place> {
    match name {
        b".at" => return Ok(Place::Times(Arc::new(Place::Row(Arc::clone(row))))),
        b".json" => return Ok(Place::Json(Arc::clone(row))),
        b".key" => return Ok(Place::RowKey(Arc::clone(row))),
        _ => {}
    }
    let family = family_named(name)?;
    Ok(Place::Family(Arc::new(FamilyPlace { table: row.table.clone(), row: row.row.clone(), family })))
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

fn version_target(column: &Arc<ColumnKey>, name: &[u8]) -> Result<Place> {
    let timestamp = suffix::parse_timestamp(name).filter(|_| !name.is_empty()).ok_or_else(|| wrong_timestamp(name))?;
    Ok(Place::Version(Arc::clone(column), timestamp))
}
