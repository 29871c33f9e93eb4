//! What directories declare: namespaces, tables, families, indexes, checks.

use crate::fs::base::Fs;
use crate::fs::requests::writable;
use crate::model::{
    Catalogue, CatalogueChange, ConstraintSchema, FamilySchema, IndexSchema, NamespaceSchema, NewFamilies, Origin,
    TableId, TableName, TableSchema, TableState,
};
use crate::tree::place::{FamilyPlace, SchemaPlace};
use crate::tree::schema::{constraint as schema_constraint, family as schema_family, index as schema_index};
use crate::{ErrorKind, Result};

/// An index that waits for its columns.
pub fn declare_index(fs: &Fs, table: &TableName, index: &str, origin: Origin) -> Result<()> {
    let add = |catalogue: &Catalogue| schema_index::add(catalogue, table, IndexSchema::new(index));
    fs.tree.backend.alter_from(origin, &add)
}

/// A constraint that asks for nothing yet.
pub fn declare_constraint(fs: &Fs, place: &SchemaPlace, origin: Origin) -> Result<()> {
    let SchemaPlace::Constraint(table, family, name) = place else { return Ok(()) };
    let add =
        |catalogue: &Catalogue| schema_constraint::add(catalogue, table, family, ConstraintSchema::new(name.as_str()));
    fs.tree.backend.alter_from(origin, &add)
}

pub fn declare_if_asked(fs: &Fs, place: &FamilyPlace) -> Result<()> {
    let backend = &fs.tree.backend;
    let catalogue = backend.catalogue()?;
    let table = catalogue.tables.get(&place.table);
    if table.is_some_and(|table| table.families.contains_key(&place.family)) {
        return Ok(());
    }
    let open = table.is_some_and(|table| table.new_families == NewFamilies::AsTheyCome);
    if !open && !fs.options.families_auto {
        return Err(writable::no_family(&place.column(Vec::new())));
    }
    let take = |catalogue: &Catalogue| schema_family::take_family(catalogue, &place.table, &place.family);
    match backend.alter_from(Origin::default(), &take) {
        // Somebody else has, meanwhile.
        Err(e) if e.kind == ErrorKind::FamilyExists => Ok(()),
        done => done,
    }
}

/// The mount forgets what it shows of a table beyond the store.
pub fn forget_made(fs: &Fs, table: &TableName) -> Result<()> {
    fs.tree.unmade.forget_table(table);
    fs.tree.restored.remove_table(table)?;
    fs.tree.uncommitted.dirs.remove_table(table)
}

/// The change that makes a namespace.
pub fn create_namespace(name: &str) -> CatalogueChange {
    CatalogueChange::CreateNamespace(NamespaceSchema { name: name.to_owned(), ..NamespaceSchema::default() })
}

/// A table without families, which is legal here.
pub fn new_table(name: &TableName) -> TableSchema {
    TableSchema {
        name: name.clone(),
        id: TableId(0),
        state: TableState::Enabled,
        attributes: Default::default(),
        metadata: Default::default(),
        configuration: Default::default(),
        families: std::collections::BTreeMap::<String, FamilySchema>::new(),
        new_families: NewFamilies::AsTheyCome,
        indexes: Default::default(),
    }
}
