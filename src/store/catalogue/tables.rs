//! Tables and families in a catalogue: their numbers, names and attributes.

use crate::model::declared::attributes::{MAX_TABLES, derive_rules, table_attribute};
use crate::model::row_key::RECIPE;
use crate::model::{
    Catalogue, Complete, FamilyId, FamilyRules, FamilySchema, TableId, TableName, TableSchema, Timestamp, check_family,
};
use crate::store::engine::known_table;
use crate::store::layout::policy::Settings;
use crate::{Error, ErrorKind, Result};

/// What such a family has while its own attributes do not say.
const DEFAULTS: [(&str, &str); 2] = [("VERSIONS", "2147483647"), ("KEEP_DELETED_CELLS", "TRUE")];

/// Brings a family's attributes into canonical form and derives its rules.
pub fn rules_of(family: &mut FamilySchema, restored: bool) -> Result<FamilyRules> {
    if !restored {
        return derive_rules(&mut family.attributes, &family.metadata, &family.configuration);
    }
    let mut with_defaults = family.attributes.clone();
    for (name, text) in DEFAULTS {
        with_defaults.entry(name.to_owned()).or_insert_with(|| text.to_owned());
    }
    let rules = derive_rules(&mut with_defaults, &family.metadata, &family.configuration)?;
    with_defaults.retain(|name, _| family.attributes.contains_key(name));
    family.attributes = with_defaults;
    Ok(rules)
}

pub fn no_namespace(name: &str) -> Error {
    Error::new(ErrorKind::NoSuchNamespace, format!("namespace {name} does not exist"))
}

pub fn check_new_name(catalogue: &Catalogue, name: &TableName) -> Result<()> {
    TableName::new(&name.namespace, &name.name)?;
    let namespace = catalogue.namespaces.get(&*name.namespace).ok_or_else(|| no_namespace(&name.namespace))?;
    if catalogue.tables.contains_key(name) {
        return Err(Error::new(ErrorKind::TableExists, format!("Table already exists: {name}")));
    }
    if &*name.namespace == "hbase" {
        let text = format!("table {name}: the namespace hbase is the system's; choose another");
        return Err(Error::new(ErrorKind::Constraint, text));
    }
    let most = namespace.properties.get(MAX_TABLES).and_then(|text| text.trim().parse::<usize>().ok());
    let count = catalogue.tables.keys().filter(|t| t.namespace == name.namespace).count();
    if most.is_some_and(|most| count >= most) {
        let text = format!(
            "The table {name} cannot be created as it would exceed the namespace quota: {MAX_TABLES} of {} is {}",
            name.namespace,
            most.unwrap_or_default()
        );
        return Err(Error::new(ErrorKind::QuotaExceeded, text));
    }
    Ok(())
}

/// Checks names and attributes, brings them into canonical form and derives the families' rules.
pub fn insert_table(catalogue: &mut Catalogue, mut table: TableSchema) -> Result<()> {
    if table.metadata.contains_key(RECIPE) {
        table.recipe()?;
    }
    for (name, text) in &mut table.attributes {
        *text = table_attribute(name, text)?;
    }
    for (name, family) in &mut table.families {
        check_family(name)?;
        family.name.clone_from(name);
        family.rules = rules_of(family, catalogue.restored.contains(&family.id))
            .map_err(|e| e.context(format!("table {}, family {name}", table.name)))?;
    }
    for family in table.families.values() {
        Settings::of(&table, family).map_err(|e| e.context(format!("table {}", table.name)))?;
    }
    catalogue.tables.insert(table.name.clone(), table);
    Ok(())
}

pub fn new_table_id(catalogue: &mut Catalogue) -> TableId {
    catalogue.next_table_id += 1;
    TableId(catalogue.next_table_id - 1)
}

pub fn new_family_id(catalogue: &mut Catalogue) -> FamilyId {
    catalogue.next_family_id += 1;
    FamilyId(catalogue.next_family_id - 1)
}

pub fn truncate(catalogue: &mut Catalogue, name: &TableName, now: Timestamp) -> Result<()> {
    let mut table = known_table(catalogue, name)?.clone();
    table.id = new_table_id(catalogue);
    for family in table.stored_families_mut() {
        let before = std::mem::replace(&mut family.id, new_family_id(catalogue));
        if catalogue.restored.contains(&before) {
            catalogue.restored.insert(family.id);
        }
        family.forget_past();
        family.complete = Some(Complete { from: now, because: format!("the table was truncated at {}", now.iso()) });
    }
    catalogue.tables.insert(name.clone(), table);
    Ok(())
}

/// The families whose cells a catalogue of a snapshot has.
pub fn families_of(catalogue: &Catalogue) -> std::collections::BTreeSet<FamilyId> {
    catalogue.tables.values().flat_map(TableSchema::stored_families).map(|family| family.id).collect()
}
