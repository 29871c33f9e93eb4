//! Families that come back from a backup: they keep everything until their own attributes have arrived.

use std::collections::BTreeMap;

use super::tables::{insert_table, new_family_id};
use crate::model::{Catalogue, FamilySchema, TableName};
use crate::store::engine::known_table;
use crate::{Error, ErrorKind, Result};

/// Declares a family that keeps everything until its attributes say otherwise.
pub fn restore_family(catalogue: &mut Catalogue, table: &TableName, name: &str) -> Result<()> {
    let mut schema = known_table(catalogue, table)?.clone();
    if schema.families.contains_key(name) {
        return Err(Error::new(ErrorKind::FamilyExists, format!("family {name} of table {table} exists")));
    }
    let id = new_family_id(catalogue);
    catalogue.restored.insert(id);
    schema.declare(FamilySchema { id, ..FamilySchema::new(name, BTreeMap::new()) });
    insert_table(catalogue, schema)
}

/// Unsets an attribute; the family keeps everything until it is set again.
pub fn unset_for_restore(catalogue: &mut Catalogue, table: &TableName, family: &str, name: &str) -> Result<()> {
    let mut schema = known_table(catalogue, table)?.clone();
    let family = schema.families.get_mut(family);
    let family = family.ok_or_else(|| Error::new(ErrorKind::NoSuchFamily, format!("no such family in {table}")))?;
    family.attributes.remove(name);
    catalogue.restored.insert(family.id);
    insert_table(catalogue, schema)
}
