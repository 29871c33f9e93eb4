//! `.schema/.index`: secondary indexes of a table as directories of small text files.
//!
//! `mkdir .index/NAME` declares an index without columns; what is written to its `columns` makes it one that is built.

use crate::model::{Catalogue, CatalogueChange, INDEX_ATTRIBUTES, IndexSchema, TableName, check_index_name};
use crate::tree::place::SchemaPlace;
use crate::{Error, ErrorKind, Result};

/// The directory of the indexes of a table.
pub(in crate::tree) const DIR: &str = ".index";

/// What a name in one of these directories stands for; `None`: a scratch file.
pub(in crate::tree) fn target(dir: &SchemaPlace, name: &str) -> Result<Option<SchemaPlace>> {
    match dir {
        SchemaPlace::Indexes(_) if name.starts_with('.') => Ok(None),
        SchemaPlace::Indexes(table) => {
            // A name that cannot be is absent, and refused where it is made.
            check_index_name(name)?;
            Ok(Some(SchemaPlace::Index(table.clone(), name.to_owned())))
        }
        SchemaPlace::Index(table, index) if INDEX_ATTRIBUTES.contains(&name) => {
            let (table, index, name) = (table.clone(), index.clone(), name.to_owned());
            Ok(Some(SchemaPlace::IndexAttribute { table, index, name }))
        }
        _ => Ok(None),
    }
}

/// An index of a table.
pub(in crate::tree) fn of<'c>(catalogue: &'c Catalogue, table: &TableName, index: &str) -> Option<&'c IndexSchema> {
    catalogue.tables.get(table)?.indexes.get(index)
}

/// Names in one of these directories.
pub(in crate::tree) fn list(catalogue: &Catalogue, dir: &SchemaPlace) -> Vec<String> {
    match dir {
        SchemaPlace::Indexes(table) => {
            let indexes = catalogue.tables.get(table).map(|table| table.indexes.keys().cloned().collect());
            indexes.unwrap_or_default()
        }
        SchemaPlace::Index(table, name) => {
            let set = of(catalogue, table, name).map(IndexSchema::attributes);
            set.unwrap_or_default().into_keys().collect()
        }
        _ => Vec::new(),
    }
}

/// The change that sets (`Some`) or unsets an attribute of an index.
pub(in crate::tree) fn set(
    catalogue: &Catalogue,
    table: &TableName,
    (index, name): (&str, &str),
    value: Option<&str>,
) -> Result<CatalogueChange> {
    let mut schema = catalogue.tables.get(table).cloned().ok_or_else(|| gone(table.to_string()))?;
    let of = schema.indexes.get_mut(index).ok_or_else(|| gone(format!("index {index}")))?;
    of.set_attribute(name, value)?;
    Ok(CatalogueChange::AlterTable(schema))
}

fn gone(what: String) -> Error {
    Error::new(ErrorKind::NotFound, format!("{what} does not exist any more"))
}

/// The change that declares an index, without columns or with what is given.
pub fn add(catalogue: &Catalogue, table: &TableName, index: IndexSchema) -> Result<CatalogueChange> {
    let mut schema = catalogue
        .tables
        .get(table)
        .cloned()
        .ok_or_else(|| Error::new(ErrorKind::NoSuchTable, format!("table {table} does not exist")))?;
    if schema.indexes.contains_key(&index.name) {
        let text = format!("index {} of table {table} exists. Drop it first, or choose another name", index.name);
        return Err(Error::new(ErrorKind::AlreadyExists, text));
    }
    schema.indexes.insert(index.name.clone(), index);
    Ok(CatalogueChange::AlterTable(schema))
}

/// The change that drops an index.
pub fn remove(catalogue: &Catalogue, table: &TableName, index: &str) -> Result<CatalogueChange> {
    let mut schema = catalogue
        .tables
        .get(table)
        .cloned()
        .ok_or_else(|| Error::new(ErrorKind::NoSuchTable, format!("table {table} does not exist")))?;
    match schema.indexes.remove(index) {
        Some(_) => Ok(CatalogueChange::AlterTable(schema)),
        None => Err(Error::new(ErrorKind::NotFound, schema.no_index(index).message)),
    }
}
