//! When attributes were set: their files' mtimes.

use std::collections::BTreeMap;

use crate::model::{
    AttributeKey, AttributeMap, AttributeOwner, Catalogue, FamilySchema, FileTime, TableSchema, Timestamp,
};
use crate::{Error, ErrorKind, Result};

/// The texts of all owners, those that were dropped and can come back among them.
type Texts<'c> = BTreeMap<(AttributeOwner, AttributeMap), &'c BTreeMap<String, String>>;

fn texts(catalogue: &Catalogue) -> Texts<'_> {
    let mut found = Texts::new();
    for namespace in catalogue.namespaces.values() {
        let owner = AttributeOwner::Namespace(namespace.name.clone());
        found.insert((owner, AttributeMap::Attributes), &namespace.properties);
    }
    let dropped = catalogue.dropped.iter().filter_map(|dropped| match &dropped.what {
        crate::model::DroppedThing::Table(table) => Some(table),
        crate::model::DroppedThing::Family(..) => None,
    });
    for table in catalogue.tables.values().chain(dropped) {
        add_table(&mut found, table);
    }
    for family in catalogue.stored_families() {
        add_family(&mut found, family);
    }
    found
}

fn add_table<'c>(found: &mut Texts<'c>, table: &'c TableSchema) {
    let owner = AttributeOwner::Table(table.id);
    found.insert((owner.clone(), AttributeMap::Attributes), &table.attributes);
    found.insert((owner.clone(), AttributeMap::Metadata), &table.metadata);
    found.insert((owner, AttributeMap::Configuration), &table.configuration);
}

fn add_family<'c>(found: &mut Texts<'c>, family: &'c FamilySchema) {
    let owner = AttributeOwner::Family(family.id);
    found.insert((owner.clone(), AttributeMap::Attributes), &family.attributes);
    found.insert((owner.clone(), AttributeMap::Metadata), &family.metadata);
    found.insert((owner, AttributeMap::Configuration), &family.configuration);
    for constraint in family.constraints.values() {
        let owner = AttributeOwner::Constraint(family.id, constraint.name.clone());
        found.insert((owner, AttributeMap::Attributes), constraint.attributes());
    }
}

/// Notes the time of what was set by a change, and forgets what is not set any more.
pub fn note(before: &Catalogue, after: &mut Catalogue, now: Timestamp) {
    let (old, new) = (texts(before), texts(after));
    let mut times = after.times.clone();
    times.retain(|key, _| new.get(&(key.owner.clone(), key.map)).is_some_and(|texts| texts.contains_key(&key.name)));
    for ((owner, map), texts) in &new {
        let had = old.get(&(owner.clone(), *map));
        for (name, text) in *texts {
            if had.and_then(|had| had.get(name)) != Some(text) {
                times.insert(AttributeKey { owner: owner.clone(), map: *map, name: name.clone() }, now.into());
            }
        }
    }
    after.times = times;
}

/// Sets the mtime of an attribute that is set.
pub fn set(catalogue: &mut Catalogue, key: AttributeKey, time: FileTime) -> Result<()> {
    let is_set = texts(catalogue).get(&(key.owner.clone(), key.map)).is_some_and(|map| map.contains_key(&key.name));
    if !is_set {
        return Err(Error::new(ErrorKind::NotFound, format!("{} is not set", key.name)));
    }
    catalogue.times.insert(key, time);
    Ok(())
}

/// The times follow a namespace.
pub fn rename_namespace(catalogue: &mut Catalogue, from: &str, to: &str) {
    let is_of = |key: &AttributeKey| matches!(&key.owner, AttributeOwner::Namespace(name) if name == from);
    let moved: Vec<AttributeKey> = catalogue.times.keys().filter(|key| is_of(key)).cloned().collect();
    for key in moved {
        if let Some(time) = catalogue.times.remove(&key) {
            catalogue.times.insert(AttributeKey { owner: AttributeOwner::Namespace(to.to_owned()), ..key }, time);
        }
    }
}
