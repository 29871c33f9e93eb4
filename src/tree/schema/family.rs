//! The changes that declare a family by a directory.

use super::declared::table_schema;
use crate::model::{Catalogue, CatalogueChange, FamilySchema, TableName, TableSchema};
use crate::{Error, ErrorKind, Result};

/// The change that declares a family with the defaults for people who use files.
pub fn add_family(catalogue: &Catalogue, table: &TableName, family: &str) -> Result<CatalogueChange> {
    let mut schema = table_without(catalogue, table, family)?;
    schema.declare(new_family(catalogue, family));
    Ok(CatalogueChange::AlterTable(schema))
}

/// As [`add_family`], of one that came as a directory in a row: others may come so, too, if this one might.
pub fn take_family(catalogue: &Catalogue, table: &TableName, family: &str) -> Result<CatalogueChange> {
    let mut schema = table_without(catalogue, table, family)?;
    schema.families.insert(family.to_owned(), new_family(catalogue, family));
    Ok(CatalogueChange::AlterTable(schema))
}

fn table_without(catalogue: &Catalogue, table: &TableName, family: &str) -> Result<TableSchema> {
    let schema = table_schema(catalogue, table)?;
    if schema.families.contains_key(family) {
        let text = format!("family {family} of table {table} exists");
        return Err(Error::new(ErrorKind::FamilyExists, text));
    }
    Ok(schema)
}

fn new_family(catalogue: &Catalogue, name: &str) -> FamilySchema {
    FamilySchema::new(name, catalogue.settings.file_family_attributes())
}
