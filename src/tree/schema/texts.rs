//! `.schema`: attributes of namespaces, tables and families as small text files.
//!
//! Reads a catalogue and turns file operations into changes of it; the store refuses what is wrong.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::declared::{gone, table_schema};
use super::{constraint as schema_constraint, free, index as schema_index, splits as schema_splits};
use crate::model::declared::attributes::{family_effect, is_kept_as_it_is, table_effect};
use crate::model::row_key::RECIPE;
use crate::model::{
    AttributeKey, AttributeMap, AttributeOwner, Catalogue, CatalogueChange, FamilyId, INDEX_ATTRIBUTES, TableName,
    TableSchema, give_attributes,
};
use crate::tree::found::{Facts, absent, text};
use crate::tree::place::{FreeMap, Place, SchemaPlace};
use crate::{Error, ErrorKind, Result};

/// The directory of a table's own attributes.
const TABLE_DIR: &str = ".table";

/// The file of the recipe of its row keys: one of METADATA under another name.
const RECIPE_FILE: &str = ".key";

/// What `name` would stand for in the directory `dir`.
pub fn target(dir: &SchemaPlace, name: &[u8]) -> Result<SchemaPlace> {
    let text = std::str::from_utf8(name).map_err(|_| absent(name))?;
    let name = text.to_owned();
    let scratch = |name: String| SchemaPlace::Scratch { parent: Arc::new(dir.clone()), name };
    Ok(match dir {
        SchemaPlace::Namespace(_) if text.starts_with('.') => scratch(name),
        SchemaPlace::Namespace(namespace) => SchemaPlace::NamespaceProperty(namespace.clone(), free::key(text)?),
        SchemaPlace::Table(table) if text == TABLE_DIR => SchemaPlace::TableAttributes(table.clone()),
        SchemaPlace::Table(table) if text == schema_index::DIR => SchemaPlace::Indexes(table.clone()),
        SchemaPlace::Indexes(_) | SchemaPlace::Index(..) => {
            schema_index::target(dir, &name)?.unwrap_or_else(|| scratch(name))
        }
        SchemaPlace::Table(table) if text == RECIPE_FILE => SchemaPlace::Recipe(table.clone()),
        SchemaPlace::Constraints(..) | SchemaPlace::Constraint(..) => {
            schema_constraint::target(dir, &name)?.unwrap_or_else(|| scratch(name))
        }
        // No family has such a name.
        SchemaPlace::Table(_) if text.starts_with('.') => scratch(name),
        SchemaPlace::Table(table) => {
            crate::model::check_family(text)?;
            SchemaPlace::Family(table.clone(), name)
        }
        SchemaPlace::TableAttributes(table) if text == schema_splits::FILE => SchemaPlace::Splits(table.clone()),
        SchemaPlace::TableAttributes(table) => attribute_target(table, None, name).unwrap_or_else(scratch),
        SchemaPlace::Family(table, family) if text == schema_constraint::DIR => {
            SchemaPlace::Constraints(table.clone(), family.clone())
        }
        SchemaPlace::Family(table, family) => {
            attribute_target(table, Some(family.clone()), name).unwrap_or_else(scratch)
        }
        SchemaPlace::Free { .. } if text.starts_with('.') => scratch(name),
        SchemaPlace::Free { table, family, map } => {
            SchemaPlace::FreeKey { table: table.clone(), family: family.clone(), map: *map, name: free::key(text)? }
        }
        _ => return Err(absent(text.as_bytes())),
    })
}

fn attribute_target(table: &TableName, family: Option<String>, name: String) -> Result<SchemaPlace, String> {
    let table = table.clone();
    for map in [FreeMap::Metadata, FreeMap::Configuration] {
        if name == map.dir_name() {
            return Ok(SchemaPlace::Free { table, family, map });
        }
    }
    let effect = if family.is_some() { family_effect(&name) } else { table_effect(&name) };
    if effect.is_some() || family.is_none() && is_kept_as_it_is(&name) {
        Ok(SchemaPlace::Attribute { table, family, name })
    } else {
        Err(name)
    }
}

/// The directory that a place is in; `None` for a `.schema` itself.
pub fn parent(place: &SchemaPlace) -> Option<SchemaPlace> {
    let attributes = |table: &TableName, family: &Option<String>| match family {
        Some(family) => SchemaPlace::Family(table.clone(), family.clone()),
        None => SchemaPlace::TableAttributes(table.clone()),
    };
    match place {
        SchemaPlace::Namespace(_) | SchemaPlace::Table(_) => None,
        SchemaPlace::NamespaceProperty(namespace, _) => Some(SchemaPlace::Namespace(namespace.clone())),
        SchemaPlace::TableAttributes(table)
        | SchemaPlace::Family(table, _)
        | SchemaPlace::Recipe(table)
        | SchemaPlace::Indexes(table) => Some(SchemaPlace::Table(table.clone())),
        SchemaPlace::Index(table, _) => Some(SchemaPlace::Indexes(table.clone())),
        SchemaPlace::Constraints(table, family) => Some(SchemaPlace::Family(table.clone(), family.clone())),
        SchemaPlace::Constraint(table, family, _) => Some(SchemaPlace::Constraints(table.clone(), family.clone())),
        SchemaPlace::ConstraintAttribute { table, family, constraint, .. } => {
            Some(SchemaPlace::Constraint(table.clone(), family.clone(), constraint.clone()))
        }
        SchemaPlace::IndexAttribute { table, index, .. } => Some(SchemaPlace::Index(table.clone(), index.clone())),
        SchemaPlace::Free { table, family, .. } | SchemaPlace::Attribute { table, family, .. } => {
            Some(attributes(table, family))
        }
        SchemaPlace::FreeKey { table, family, map, .. } => {
            Some(SchemaPlace::Free { table: table.clone(), family: family.clone(), map: *map })
        }
        SchemaPlace::Splits(table) => Some(SchemaPlace::TableAttributes(table.clone())),
        SchemaPlace::Scratch { parent, .. } => Some(parent.as_ref().clone()),
    }
}

/// The name of a place in its directory.
pub fn name_of(place: &SchemaPlace) -> Vec<u8> {
    match place {
        SchemaPlace::NamespaceProperty(_, key) | SchemaPlace::FreeKey { name: key, .. } => {
            return free::name(key).into_bytes();
        }
        SchemaPlace::Namespace(_) | SchemaPlace::Table(_) => ".schema",
        SchemaPlace::TableAttributes(_) => TABLE_DIR,
        SchemaPlace::Indexes(_) => schema_index::DIR,
        SchemaPlace::Recipe(_) => RECIPE_FILE,
        SchemaPlace::Splits(_) => schema_splits::FILE,
        SchemaPlace::Constraints(..) => schema_constraint::DIR,
        SchemaPlace::Free { map, .. } => map.dir_name(),
        SchemaPlace::Family(_, name)
        | SchemaPlace::Attribute { name, .. }
        | SchemaPlace::Index(_, name)
        | SchemaPlace::IndexAttribute { name, .. }
        | SchemaPlace::Constraint(_, _, name)
        | SchemaPlace::ConstraintAttribute { name, .. }
        | SchemaPlace::Scratch { name, .. } => name,
    }
    .as_bytes()
    .to_vec()
}

/// What is there; `None` when nothing is.
pub fn facts(catalogue: &Catalogue, place: &SchemaPlace) -> Result<Option<Facts>> {
    Ok(match place {
        SchemaPlace::Namespace(name) => catalogue.namespaces.contains_key(name).then_some(Facts::Dir),
        SchemaPlace::Table(table) | SchemaPlace::TableAttributes(table) | SchemaPlace::Indexes(table) => {
            catalogue.tables.contains_key(table).then_some(Facts::Dir)
        }
        SchemaPlace::Family(table, family) | SchemaPlace::Constraints(table, family) => {
            catalogue.tables.get(table).filter(|t| t.families.contains_key(family)).map(|_| Facts::Dir)
        }
        SchemaPlace::Free { table, family, map } => {
            free_map(catalogue, table, family.as_deref(), *map).map(|_| Facts::Dir)
        }
        SchemaPlace::Index(table, name) => schema_index::of(catalogue, table, name).map(|_| Facts::Dir),
        SchemaPlace::Constraint(table, family, name) => {
            schema_constraint::of(catalogue, table, family, name).map(|_| Facts::Dir)
        }
        SchemaPlace::NamespaceProperty(..)
        | SchemaPlace::ConstraintAttribute { .. }
        | SchemaPlace::Recipe(_)
        | SchemaPlace::Attribute { .. }
        | SchemaPlace::FreeKey { .. }
        | SchemaPlace::IndexAttribute { .. } => value(catalogue, place).map(|value| {
            let mtime = attribute_key(catalogue, place).and_then(|key| catalogue.times.get(&key).copied());
            Facts::text(format!("{value}\n").into_bytes(), mtime.unwrap_or_default())
        }),
        SchemaPlace::Splits(_) | SchemaPlace::Scratch { .. } => None,
    })
}

/// As [`facts`] in the history, which also shows what a family has without its being set: a restored family
/// keeps everything until it is told otherwise.
pub fn history_facts(catalogue: &Catalogue, place: &SchemaPlace) -> Result<Option<Facts>> {
    let found = facts(catalogue, place)?;
    Ok(found.or_else(|| implied(catalogue, place).map(|value| text(format!("{value}\n").into_bytes()))))
}

/// Attributes that a backup needs although they are not set, and what HBase has for them.
const IMPLIED: [(&str, &str); 2] = [("KEEP_DELETED_CELLS", "FALSE"), ("VERSIONS", "1")];

/// Whether an attribute of a family is one of those.
pub fn is_implied(name: &str) -> bool {
    IMPLIED.iter().any(|(implied, _)| *implied == name)
}

/// The value of such an attribute where it is not set.
pub fn implied(catalogue: &Catalogue, place: &SchemaPlace) -> Option<&'static str> {
    let SchemaPlace::Attribute { table, family: Some(family), name } = place else { return None };
    let schema = catalogue.tables.get(table)?.families.get(family)?;
    let unset = !schema.attributes.contains_key(name) && !catalogue.restored.contains(&schema.id);
    IMPLIED.iter().find(|(implied, _)| unset && implied == name).map(|(_, value)| *value)
}

/// The key of an attribute in the catalogue, whether it is set or not.
pub fn attribute_key(catalogue: &Catalogue, place: &SchemaPlace) -> Option<AttributeKey> {
    if let SchemaPlace::Recipe(table) = place {
        return attribute_key(catalogue, &recipe_key(table));
    }
    let owner_of = |table: &TableName, family: &Option<String>| {
        let schema = catalogue.tables.get(table)?;
        Some(match family {
            None => AttributeOwner::Table(schema.id),
            Some(family) => AttributeOwner::Family(schema.families.get(family)?.id),
        })
    };
    let (owner, map, name) = match place {
        SchemaPlace::NamespaceProperty(namespace, name) => {
            (AttributeOwner::Namespace(namespace.clone()), AttributeMap::Attributes, name)
        }
        SchemaPlace::Attribute { table, family, name } => (owner_of(table, family)?, AttributeMap::Attributes, name),
        SchemaPlace::FreeKey { table, family, map: FreeMap::Metadata, name } => {
            (owner_of(table, family)?, AttributeMap::Metadata, name)
        }
        SchemaPlace::FreeKey { table, family, name, .. } => {
            (owner_of(table, family)?, AttributeMap::Configuration, name)
        }
        SchemaPlace::IndexAttribute { table, index, name } => {
            let index = schema_index::of(catalogue, table, index)?;
            (AttributeOwner::Family(index.entries.id), AttributeMap::Attributes, name)
        }
        SchemaPlace::ConstraintAttribute { table, family, constraint, name } => {
            let id = catalogue.tables.get(table)?.families.get(family)?.id;
            (AttributeOwner::Constraint(id, constraint.clone()), AttributeMap::Attributes, name)
        }
        _ => return None,
    };
    Some(AttributeKey { owner, map, name: name.clone() })
}

/// The key of METADATA that a recipe is.
fn recipe_key(table: &TableName) -> SchemaPlace {
    let (table, map, name) = (table.clone(), FreeMap::Metadata, RECIPE.to_owned());
    SchemaPlace::FreeKey { table, family: None, map, name }
}

/// The text of an attribute that is set.
fn value<'a>(catalogue: &'a Catalogue, place: &SchemaPlace) -> Option<&'a String> {
    match place {
        SchemaPlace::Recipe(table) => catalogue.tables.get(table)?.metadata.get(RECIPE),
        SchemaPlace::IndexAttribute { table, index, name } if INDEX_ATTRIBUTES.contains(&name.as_str()) => {
            schema_index::of(catalogue, table, index)?.entries.attributes.get(name)
        }
        SchemaPlace::ConstraintAttribute { table, family, constraint, name } => {
            schema_constraint::of(catalogue, table, family, constraint)?.attributes().get(name)
        }
        SchemaPlace::NamespaceProperty(namespace, name) => catalogue.namespaces.get(namespace)?.properties.get(name),
        SchemaPlace::Attribute { table, family, name } => {
            attribute_map(catalogue.tables.get(table)?, family.as_deref())?.get(name)
        }
        SchemaPlace::FreeKey { table, family, map, name } => {
            free_map(catalogue, table, family.as_deref(), *map)?.get(name)
        }
        _ => None,
    }
}

fn attribute_map<'a>(table: &'a TableSchema, family: Option<&str>) -> Option<&'a BTreeMap<String, String>> {
    match family {
        Some(family) => table.families.get(family).map(|family| &family.attributes),
        None => Some(&table.attributes),
    }
}

fn free_map<'a>(
    catalogue: &'a Catalogue,
    table: &TableName,
    family: Option<&str>,
    map: FreeMap,
) -> Option<&'a BTreeMap<String, String>> {
    let table = catalogue.tables.get(table)?;
    let (metadata, configuration) = match family {
        Some(family) => table.families.get(family).map(|f| (&f.metadata, &f.configuration))?,
        None => (&table.metadata, &table.configuration),
    };
    Some(match map {
        FreeMap::Metadata => metadata,
        FreeMap::Configuration => configuration,
    })
}

/// Entries of a directory, ascending by name.
pub fn list(catalogue: &Catalogue, dir: &SchemaPlace) -> Vec<(String, SchemaPlace)> {
    let named = |names: Vec<String>| -> Vec<(String, SchemaPlace)> {
        let entry = |name: String| target(dir, name.as_bytes()).ok().map(|place| (name, place));
        let mut entries: Vec<_> = names.into_iter().filter_map(entry).collect();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries
    };
    let keys = |map: Option<&BTreeMap<String, String>>| {
        map.map(|m| m.keys().map(|key| free::name(key)).collect()).unwrap_or_default()
    };
    match dir {
        SchemaPlace::Namespace(namespace) => named(keys(catalogue.namespaces.get(namespace).map(|n| &n.properties))),
        SchemaPlace::Table(table) => {
            let families = catalogue.tables.get(table).map(|t| t.families.keys().cloned().collect());
            let mut names: Vec<String> = families.unwrap_or_default();
            names.push(TABLE_DIR.to_owned());
            let has_indexes = catalogue.tables.get(table).is_some_and(|table| !table.indexes.is_empty());
            names.extend(value(catalogue, &SchemaPlace::Recipe(table.clone())).map(|_| RECIPE_FILE.to_owned()));
            names.extend(has_indexes.then(|| schema_index::DIR.to_owned()));
            named(names)
        }
        SchemaPlace::TableAttributes(table) => named(with_free_maps(catalogue, table, None)),
        SchemaPlace::Family(table, family) => {
            let mut names = with_free_maps(catalogue, table, Some(family));
            let constraints = SchemaPlace::Constraints(table.clone(), family.clone());
            let has_any = !schema_constraint::list(catalogue, &constraints).is_empty();
            names.extend(has_any.then(|| schema_constraint::DIR.to_owned()));
            named(names)
        }
        SchemaPlace::Constraints(..) | SchemaPlace::Constraint(..) => named(schema_constraint::list(catalogue, dir)),
        SchemaPlace::Free { table, family, map } => named(keys(free_map(catalogue, table, family.as_deref(), *map))),
        SchemaPlace::Indexes(_) | SchemaPlace::Index(..) => named(schema_index::list(catalogue, dir)),
        _ => Vec::new(),
    }
}

/// As [`list`] in the history: with what is implied.
pub fn list_history(catalogue: &Catalogue, dir: &SchemaPlace) -> Vec<(String, SchemaPlace)> {
    let mut entries = list(catalogue, dir);
    // METADATA has it.
    entries.retain(|(_, place)| !matches!(place, SchemaPlace::Recipe(_)));
    if let SchemaPlace::Family(..) = dir {
        let names =
            IMPLIED.iter().filter_map(|(name, _)| Some(((*name).to_owned(), target(dir, name.as_bytes()).ok()?)));
        entries.extend(names.filter(|(_, place)| implied(catalogue, place).is_some()));
        entries.sort_by(|a, b| a.0.cmp(&b.0));
    }
    entries
}

fn with_free_maps(catalogue: &Catalogue, table: &TableName, family: Option<&str>) -> Vec<String> {
    let attributes = catalogue.tables.get(table).and_then(|t| attribute_map(t, family));
    let mut names: Vec<String> = attributes.map(|m| m.keys().cloned().collect()).unwrap_or_default();
    names.extend([FreeMap::Metadata, FreeMap::Configuration].map(|map| map.dir_name().to_owned()));
    names
}

/// The change that sets (`Some`) or unsets an attribute file.
pub fn set(catalogue: &Catalogue, place: &SchemaPlace, value: Option<String>) -> Result<CatalogueChange> {
    if let SchemaPlace::NamespaceProperty(namespace, name) = place {
        let schema = catalogue.namespaces.get(namespace).ok_or_else(|| gone(ErrorKind::NoSuchNamespace, namespace))?;
        let mut schema = schema.clone();
        store(&mut schema.properties, name, value);
        return Ok(CatalogueChange::AlterNamespace(schema));
    }
    if let SchemaPlace::IndexAttribute { table, index, name } = place {
        return schema_index::set(catalogue, table, (index, name), value.as_deref());
    }
    if let SchemaPlace::Recipe(table) = place {
        return set(catalogue, &recipe_key(table), value);
    }
    if let SchemaPlace::Splits(table) = place {
        return schema_splits::set(catalogue, table, value.as_deref());
    }
    if let SchemaPlace::ConstraintAttribute { table, family, constraint, name } = place {
        return schema_constraint::set(catalogue, (table, family, constraint), name, value.as_deref());
    }
    let (SchemaPlace::Attribute { table, family, name } | SchemaPlace::FreeKey { table, family, name, .. }) = place
    else {
        return Err(Error::new(ErrorKind::NotPermitted, "only attribute files can be written here"));
    };
    let mut schema = table_schema(catalogue, table)?;
    let (id, attributes, metadata, configuration) = match family {
        None => (None, &mut schema.attributes, &mut schema.metadata, &mut schema.configuration),
        Some(family) => {
            let family = schema.families.get_mut(family).ok_or_else(|| gone(ErrorKind::NoSuchFamily, family))?;
            (Some(family.id), &mut family.attributes, &mut family.metadata, &mut family.configuration)
        }
    };
    // What a backup brings comes one by one.
    let is_given = id.is_some_and(|id: FamilyId| !catalogue.restored.contains(&id));
    if let (SchemaPlace::Attribute { .. }, true, Some(value)) = (place, is_given, &value) {
        give_attributes(attributes, [(name.clone(), value.clone())].into());
        return Ok(CatalogueChange::AlterTable(schema));
    }
    let map = match place {
        SchemaPlace::FreeKey { map: FreeMap::Metadata, .. } => metadata,
        SchemaPlace::FreeKey { .. } => configuration,
        _ => attributes,
    };
    store(map, name, value);
    Ok(CatalogueChange::AlterTable(schema))
}

fn store(map: &mut BTreeMap<String, String>, name: &str, value: Option<String>) {
    match value {
        Some(value) => map.insert(name.to_owned(), value),
        None => map.remove(name),
    };
}

/// `complete` in the `.info` of a family's directory.
pub fn complete_of(place: &Place) -> Option<Place> {
    let Place::Schema(schema) = place else { return None };
    let SchemaPlace::Family(table, family) = schema.as_ref() else { return None };
    Some(Place::FamilyComplete(Arc::new(table.clone()), family.as_str().into()))
}

/// The directory of a family's attributes.
pub fn family_place(table: &TableName, family: &str) -> Place {
    Place::Schema(Arc::new(SchemaPlace::Family(table.clone(), family.to_owned())))
}
