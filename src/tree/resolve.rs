//! What a name in a directory stands for, and what is there.

use std::sync::Arc;

use super::escape::{self, Level, NAME_MAX, Parsed, STEM_MAX};
use super::made::Uncommitted;
use super::place::{FamilyPlace, InfoPlace, NodeKey, Place, RowPlace, SchemaPlace, TableNoun, View};
use super::suffix::{self, Suffix};
use super::{schema, times};
use crate::backend::{Backend, RowListing, Versions};
use crate::model::{CellInfo, ColumnKey, FileTime, TableName, TimeRange, Timestamp, check_row};
use crate::{Error, ErrorKind, Result};

/// The tree over one backend, as one mount sees it.
pub struct Tree {
    pub backend: Arc<dyn Backend>,
    pub uncommitted: Uncommitted,
    pub(super) hash_key: [u8; 16],
}

/// What is known of something that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Facts {
    Dir,
    Cell(CellInfo),
    /// A small generated text.
    Text {
        bytes: Vec<u8>,
        mtime: FileTime,
    },
}

/// Keys fetched at once when a shortened name is looked for.
const SEARCH_PAGE: usize = 1000;

impl Tree {
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        let hash_key = backend.hash_key();
        Self { backend, uncommitted: Uncommitted::default(), hash_key }
    }

    /// What `name` would stand for in `dir`, whether or not it exists.
    ///
    /// `NameTooLong` past 255 bytes; `IllegalArgument`, with the right spelling, for a name that can stand
    /// for nothing; `NotPermitted` where this level of the tree has no such things; `NotFound` for a shortened
    /// name of no key.
    pub fn target(&self, dir: &NodeKey, name: &[u8]) -> Result<NodeKey> {
        if name.len() > NAME_MAX {
            return Err(Error::new(ErrorKind::NameTooLong, format!("a name has at most {NAME_MAX} bytes")));
        }
        if let Place::Times(base) = &dir.place {
            return self.time_target(base, name);
        }
        let place = match &dir.place {
            Place::Root => root_target(name)?,
            Place::Namespace(namespace) => namespace_target(namespace, name)?,
            Place::Table(table) => self.table_target(dir.view, table, name)?,
            Place::Row(row) => self.row_target(row, name)?,
            Place::Family(family) => self.family_target(dir.view, family, name)?,
            Place::Versions(column) => version_target(column, name)?,
            Place::Schema(schema) => Place::Schema(Arc::new(schema::target(schema, name)?)),
            Place::TableInfo(table, TableNoun::Dir) => super::info::target(table, name)?,
            Place::Info(InfoPlace::Dir) if name == b"errors" => Place::Info(InfoPlace::Errors),
            Place::Info(InfoPlace::Dir) if name == b"requests" => Place::Info(InfoPlace::Requests),
            _ => return Err(absent(name)),
        };
        if dir.view != View::Plain
            && matches!(place, Place::Times(_) | Place::Schema(_) | Place::Info(_) | Place::TableInfo(..))
        {
            return Err(absent(name));
        }
        Ok(dir.sibling(place))
    }

    fn time_target(&self, base: &Place, name: &[u8]) -> Result<NodeKey> {
        let text = std::str::from_utf8(name).map_err(|_| absent(name))?;
        let time = times::parse_time(text, self.backend.now()).ok_or_else(|| absent(name))?;
        Ok(NodeKey { view: View::At(time), place: base.clone() })
    }

    fn table_target(&self, view: View, table: &Arc<TableName>, name: &[u8]) -> Result<Place> {
        match name {
            b".schema" => Ok(Place::Schema(Arc::new(SchemaPlace::Table(table.as_ref().clone())))),
            b".at" => Ok(Place::Times(Arc::new(Place::Table(Arc::clone(table))))),
            b".info" => Ok(Place::TableInfo(Arc::clone(table), TableNoun::Dir)),
            _ => {
                let row = match escape::parse(Level::Row, name) {
                    Parsed::Key(row) => row,
                    Parsed::Refused { canonical } => return Err(misspelt(name, &canonical)),
                    Parsed::Short { prefix } => self.find_row(view, table, &prefix, name)?,
                };
                check_row(&row)?;
                Ok(Place::Row(Arc::new(RowPlace { table: table.as_ref().clone(), row })))
            }
        }
    }

    fn row_target(&self, row: &Arc<RowPlace>, name: &[u8]) -> Result<Place> {
        match name {
            b".at" => return Ok(Place::Times(Arc::new(Place::Row(Arc::clone(row))))),
            b".json" => return Ok(Place::Json(Arc::clone(row))),
            _ => {}
        }
        let key = match escape::parse(Level::Family, name) {
            Parsed::Key(key) => key,
            Parsed::Refused { canonical } => return Err(misspelt(name, &canonical)),
            Parsed::Short { .. } => return Err(absent(name)),
        };
        let family = String::from_utf8(key).map_err(|_| absent(name))?;
        crate::model::check_family(&family)?;
        Ok(Place::Family(Arc::new(FamilyPlace { table: row.table.clone(), row: row.row.clone(), family })))
    }

    fn family_target(&self, view: View, family: &FamilyPlace, name: &[u8]) -> Result<Place> {
        let (stem, suffix) = match suffix::split(name) {
            None => (name, None),
            Some((stem, Some(suffix))) => (stem, Some(suffix)),
            Some((_, None)) => return Err(wrong_timestamp(name)),
        };
        let qualifier = match escape::parse(Level::Qualifier, stem) {
            Parsed::Key(qualifier) => qualifier,
            Parsed::Refused { canonical } => {
                let right = suffix.map_or_else(String::new, suffix::render).into_bytes();
                return Err(misspelt(name, &[canonical, right].concat()));
            }
            Parsed::Short { prefix } => {
                let limit = if suffix.is_some() { STEM_MAX } else { NAME_MAX };
                self.find_qualifier(view, family, &prefix, stem, limit)?
            }
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

    fn find_row(&self, view: View, table: &TableName, prefix: &[u8], name: &[u8]) -> Result<Vec<u8>> {
        let mut listing = RowListing {
            table: table.clone(),
            after: Some(prefix.to_vec()),
            before: crate::model::after_prefix(prefix),
            time_range: view.time_range(),
            limit: SEARCH_PAGE,
        };
        loop {
            let page = self.backend.list_rows(&listing)?;
            let found = page.iter().find(|row| escape::file_name(Level::Row, row, &self.hash_key, NAME_MAX) == name);
            match (found, page.last()) {
                (Some(row), _) => return Ok(row.clone()),
                (None, Some(last)) if page.len() == SEARCH_PAGE => listing.after = Some(last.clone()),
                _ => return Err(no_short_name(name)),
            }
        }
    }

    fn find_qualifier(
        &self,
        view: View,
        family: &FamilyPlace,
        prefix: &[u8],
        stem: &[u8],
        limit: usize,
    ) -> Result<Vec<u8>> {
        let named = |q: &[u8]| escape::file_name(Level::Qualifier, q, &self.hash_key, limit) == stem;
        if let Some(q) = self.uncommitted.cells(family, None, usize::MAX).into_iter().find(|q| named(q)) {
            return Ok(q);
        }
        let mut after = prefix.to_vec();
        loop {
            let (table, row) = (&family.table, &family.row);
            let range = view.time_range();
            let page = self.backend.list_columns(table, row, &family.family, Some(&after), range, SEARCH_PAGE)?;
            for (qualifier, _) in &page {
                if !qualifier.starts_with(prefix) {
                    return Err(no_short_name(stem));
                }
                if named(qualifier) {
                    return Ok(qualifier.clone());
                }
            }
            match page.last() {
                Some((last, _)) if page.len() == SEARCH_PAGE => after.clone_from(last),
                _ => return Err(no_short_name(stem)),
            }
        }
    }

    /// What is at a place; `None` when nothing is.
    pub fn facts(&self, key: &NodeKey) -> Result<Option<Facts>> {
        match &key.place {
            Place::Root | Place::Times(_) | Place::Info(InfoPlace::Dir) => Ok(Some(Facts::Dir)),
            Place::Info(_) => Ok(Some(text(Vec::new()))),
            Place::TableInfo(table, noun) => super::info::facts(self.backend.as_ref(), table, *noun),
            Place::Namespace(name) => {
                let exists = self.backend.catalogue()?.namespaces.contains_key(name.as_ref());
                Ok(exists.then_some(Facts::Dir))
            }
            Place::Table(table) => Ok(self.backend.catalogue()?.tables.contains_key(table).then_some(Facts::Dir)),
            Place::Row(row) => Ok(self.row_exists(key.view, row)?.then_some(Facts::Dir)),
            Place::Family(family) => Ok(self.family_exists(key.view, family)?.then_some(Facts::Dir)),
            Place::Cell(column) => {
                Ok(self.existing(self.backend.newest(column, key.view.time_range()))?.flatten().map(Facts::Cell))
            }
            Place::Version(column, ts) => {
                if !key.view.time_range().contains(*ts) {
                    return Ok(None);
                }
                Ok(self.existing(self.backend.newest(column, TimeRange::at(*ts)))?.flatten().map(Facts::Cell))
            }
            Place::Versions(column) => Ok(self.has_versions(column)?.then_some(Facts::Dir)),
            Place::KeyFile(column) => {
                let bytes = column.qualifier.clone();
                Ok(self.has_versions(column)?.then_some(Facts::Text { bytes, mtime: FileTime::default() }))
            }
            Place::Counter(column) => self.counter_facts(key.view, column),
            Place::Json(row) => self.json_facts(key.view, row),
            Place::Schema(schema) => schema::facts(self.backend.catalogue()?.as_ref(), schema),
        }
    }

    /// A counter is a value of 8 bytes, big-endian (HBase: Bytes.toBytes(long)).
    fn counter_facts(&self, view: View, column: &ColumnKey) -> Result<Option<Facts>> {
        let newest = self.existing(self.backend.newest(column, view.time_range()))?.flatten();
        let Some(cell) = newest.filter(|cell| cell.len() == 8) else { return Ok(None) };
        let bytes = self.backend.read_value(&cell, 0, 8)?;
        let value = bytes.try_into().map(i64::from_be_bytes);
        let value = value.map_err(|_| Error::new(ErrorKind::Corrupt, "a counter was cut short"))?;
        Ok(Some(Facts::Text { bytes: format!("{value}\n").into_bytes(), mtime: cell.mtime() }))
    }

    fn json_facts(&self, view: View, row: &RowPlace) -> Result<Option<Facts>> {
        let Some(result) = self.existing(super::json::read(self.backend.as_ref(), row, view.time_range()))? else {
            return Ok(None);
        };
        let newest = result.cells.iter().map(|cell| cell.timestamp).max().unwrap_or(Timestamp::ZERO);
        Ok(Some(Facts::Text { bytes: super::json::render(&result), mtime: newest.into() }))
    }

    /// A store that lacks the table or family holds nothing there.
    fn existing<T>(&self, answer: Result<T>) -> Result<Option<T>> {
        match answer {
            Ok(found) => Ok(Some(found)),
            Err(e) if matches!(e.kind, ErrorKind::NoSuchTable | ErrorKind::NoSuchFamily) => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn row_exists(&self, view: View, place: &RowPlace) -> Result<bool> {
        if view == View::Plain && self.uncommitted.has_row(place) {
            return Ok(true);
        }
        let families = self.existing(self.backend.list_families(&place.table, &place.row, view.time_range()))?;
        Ok(families.is_some_and(|families| !families.is_empty()))
    }

    /// Whether the family's directory exists in that row.
    pub fn family_exists(&self, view: View, place: &FamilyPlace) -> Result<bool> {
        Ok((view == View::Plain && self.uncommitted.has_family(place)) || self.family_has_cells(view, place)?)
    }

    /// Whether a visible cell is stored there.
    pub fn family_has_cells(&self, view: View, place: &FamilyPlace) -> Result<bool> {
        let (table, row) = (&place.table, &place.row);
        let columns = self.backend.list_columns(table, row, &place.family, None, view.time_range(), 1);
        Ok(self.existing(columns)?.is_some_and(|columns| !columns.is_empty()))
    }

    fn has_versions(&self, column: &ColumnKey) -> Result<bool> {
        let versions = self.backend.list_versions(column, Versions::LiveAndKept, None, 1);
        Ok(self.existing(versions)?.is_some_and(|versions| !versions.is_empty()))
    }

    /// The name that a place has in its directory.
    pub fn name_of(&self, place: &Place) -> Vec<u8> {
        let name = |level, key: &[u8]| escape::file_name(level, key, &self.hash_key, NAME_MAX);
        let stem =
            |column: &ColumnKey| escape::file_name(Level::Qualifier, &column.qualifier, &self.hash_key, STEM_MAX);
        let with = |column: &ColumnKey, suffix| [stem(column), suffix::render(suffix).into_bytes()].concat();
        match place {
            Place::Root => Vec::new(),
            Place::Namespace(namespace) => namespace.as_bytes().to_vec(),
            Place::Table(table) => table.name.as_bytes().to_vec(),
            Place::Row(row) => name(Level::Row, &row.row),
            Place::Family(family) => name(Level::Family, family.family.as_bytes()),
            Place::Cell(column) => name(Level::Qualifier, &column.qualifier),
            Place::Version(column, ts) => with(column, Suffix::Version(*ts)),
            Place::Versions(column) => with(column, Suffix::Versions),
            Place::KeyFile(column) => with(column, Suffix::Key),
            Place::Counter(column) => with(column, Suffix::Counter),
            Place::Json(_) => b".json".to_vec(),
            Place::Times(_) => b".at".to_vec(),
            Place::Schema(schema) => schema::name_of(schema),
            Place::TableInfo(_, noun) => super::info::name_of(*noun).as_bytes().to_vec(),
            Place::Info(InfoPlace::Dir) => b".info".to_vec(),
            Place::Info(InfoPlace::Errors) => b"errors".to_vec(),
            Place::Info(InfoPlace::Requests) => b"requests".to_vec(),
        }
    }

    /// The directory that a place is in; `None` for the root.
    pub fn parent_of(&self, key: &NodeKey) -> Option<NodeKey> {
        if let View::At(_) = key.view
            && let Place::Root | Place::Table(_) = &key.place
        {
            return Some(NodeKey::plain(Place::Times(Arc::new(key.place.clone()))));
        }
        Some(key.sibling(parent_place(&key.place)?))
    }
}

fn parent_place(place: &Place) -> Option<Place> {
    let table = |name: &TableName| Place::Table(Arc::new(name.clone()));
    Some(match place {
        Place::Root => return None,
        Place::Namespace(_) | Place::Info(InfoPlace::Dir) => Place::Root,
        Place::Info(_) => Place::Info(InfoPlace::Dir),
        Place::TableInfo(name, TableNoun::Dir) => Place::Table(Arc::clone(name)),
        Place::TableInfo(name, _) => Place::TableInfo(Arc::clone(name), TableNoun::Dir),
        Place::Table(name) => Place::Namespace(name.namespace.as_str().into()),
        Place::Row(row) => table(&row.table),
        Place::Family(family) => {
            Place::Row(Arc::new(RowPlace { table: family.table.clone(), row: family.row.clone() }))
        }
        Place::Cell(column)
        | Place::Version(column, _)
        | Place::Versions(column)
        | Place::Counter(column)
        | Place::KeyFile(column) => Place::Family(Arc::new(super::place::family_of(column))),
        Place::Json(row) => Place::Row(Arc::clone(row)),
        Place::Times(base) => base.as_ref().clone(),
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

fn root_target(name: &[u8]) -> Result<Place> {
    match name {
        b".info" => Ok(Place::Info(InfoPlace::Dir)),
        b".at" => Ok(Place::Times(Arc::new(Place::Root))),
        _ => {
            let text = std::str::from_utf8(name).map_err(|_| absent(name))?;
            crate::model::check_namespace(text)?;
            Ok(Place::Namespace(text.into()))
        }
    }
}

fn namespace_target(namespace: &str, name: &[u8]) -> Result<Place> {
    if name == b".schema" {
        return Ok(Place::Schema(Arc::new(SchemaPlace::Namespace(namespace.to_owned()))));
    }
    let text = std::str::from_utf8(name).map_err(|_| absent(name))?;
    Ok(Place::Table(Arc::new(TableName::new(namespace, text)?)))
}

fn version_target(column: &Arc<ColumnKey>, name: &[u8]) -> Result<Place> {
    let timestamp = suffix::parse_timestamp(name).filter(|_| !name.is_empty()).ok_or_else(|| wrong_timestamp(name))?;
    Ok(Place::Version(Arc::clone(column), timestamp))
}

/// A generated text without a time of its own.
pub(super) fn text(bytes: Vec<u8>) -> Facts {
    Facts::Text { bytes, mtime: FileTime::from(Timestamp::ZERO) }
}

pub(super) fn absent(name: &[u8]) -> Error {
    let name = String::from_utf8_lossy(name).into_owned();
    Error::new(ErrorKind::IllegalArgument, format!("`{name}` can stand for nothing in this directory"))
}

fn no_short_name(name: &[u8]) -> Error {
    let name = String::from_utf8_lossy(name).into_owned();
    Error::new(ErrorKind::NotFound, format!("no key has the shortened name `{name}`"))
}

fn misspelt(name: &[u8], canonical: &[u8]) -> Error {
    let (name, right) = (String::from_utf8_lossy(name), String::from_utf8_lossy(canonical));
    let text = format!("`{name}` is not how that key is spelt; write `{right}`");
    Error::new(ErrorKind::IllegalArgument, text)
}

fn wrong_timestamp(name: &[u8]) -> Error {
    let name = String::from_utf8_lossy(name).into_owned();
    let text = format!("`{name}`: a timestamp is 0 to {} without leading zeros", Timestamp::MAX);
    Error::new(ErrorKind::IllegalArgument, text)
}
