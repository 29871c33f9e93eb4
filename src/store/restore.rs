//! Families that come back from a backup: they keep everything until their own attributes have arrived.

use std::collections::BTreeMap;

use super::catalogue::{insert_table, new_family_id};
use super::engine::known_table;
use crate::model::attributes::derive_rules;
use crate::model::{Catalogue, FamilyRules, FamilySchema, TableName, Timestamp};
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

/// Declares a family that keeps everything until its attributes say otherwise.
pub fn restore_family(catalogue: &mut Catalogue, table: &TableName, name: &str) -> Result<()> {
    let mut schema = known_table(catalogue, table)?.clone();
    if schema.families.contains_key(name) {
        return Err(Error::new(ErrorKind::FamilyExists, format!("family {name} of table {table} exists")));
    }
    let id = new_family_id(catalogue);
    catalogue.restored.insert(id);
    let family = FamilySchema {
        name: name.to_owned(),
        id,
        attributes: BTreeMap::new(),
        metadata: BTreeMap::new(),
        configuration: BTreeMap::new(),
        rules: FamilyRules::default(),
        complete: None,
        made_at: Timestamp::ZERO,
        back_at: None,
        lives: Vec::new(),
        constraints: BTreeMap::new(),
    };
    schema.declare(family);
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
