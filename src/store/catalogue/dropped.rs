//! Tables and families that `rmdir` dropped: kept aside for a while, brought back or forgotten.

use super::index_states::family_is_back;
use super::prove::check_required;
use super::tables::{check_new_name, insert_table, truncate};
use crate::model::{Catalogue, Dropped, DroppedThing, FamilySchema, NamespaceSchema, TableId, TableName, Timestamp};
use crate::store::engine::known_table;
use crate::{Error, ErrorKind, Result};

/// How long what was dropped is kept where PURGE_DELETED_AFTER is not set: 30 days.
const KEPT_MS: i64 = 30 * 86_400_000;
const PURGE_DELETED_AFTER: &str = "PURGE_DELETED_AFTER";

/// When a dropped family goes for good; `None` = never by itself.
fn end_of(family: &FamilySchema, now: Timestamp) -> Option<Timestamp> {
    let kept = match family.rules.purge_deleted_after_ms {
        _ if !family.attributes.contains_key(PURGE_DELETED_AFTER) => KEPT_MS,
        Some(ms) => i64::try_from(ms).unwrap_or(i64::MAX),
        None => return None,
    };
    Some(Timestamp(now.0.saturating_add(kept)))
}

/// Drops a table and keeps its cells for as long as the one of its families that keeps deleted cells longest.
pub fn set_table_aside(catalogue: &mut Catalogue, name: &TableName, now: Timestamp) -> Result<()> {
    let table = known_table(catalogue, name)?.clone();
    catalogue.tables.remove(name);
    let ends = table.families.values().map(|family| end_of(family, now));
    let until = ends.reduce(|a, b| a.zip(b).map(|(a, b)| a.max(b)));
    let until = until.unwrap_or(Some(Timestamp(now.0.saturating_add(KEPT_MS))));
    catalogue.dropped.push(Dropped { what: DroppedThing::Table(table), at: now, until });
    Ok(())
}

/// As [`set_table_aside`]; the table stays, without cells.
pub fn set_cells_aside(catalogue: &mut Catalogue, name: &TableName, now: Timestamp) -> Result<()> {
    let table = known_table(catalogue, name)?.clone();
    set_table_aside(catalogue, name, now)?;
    catalogue.tables.insert(name.clone(), table);
    truncate(catalogue, name, now)
}

/// Refuses that a family goes which has a required column of another.
pub fn check_goes(catalogue: &Catalogue, table: &TableName, name: &str) -> Result<()> {
    let old = known_table(catalogue, table)?;
    let mut without = old.clone();
    without.families.remove(name);
    check_required(old, &without)
}

/// Drops a family and keeps its cells for a while.
pub fn set_family_aside(catalogue: &mut Catalogue, table: &TableName, name: &str, now: Timestamp) -> Result<()> {
    let mut schema = known_table(catalogue, table)?.clone();
    let family = schema.families.remove(name).ok_or_else(|| {
        Error::new(ErrorKind::NoSuchFamily, format!("table {table} has no family {}", name.escape_debug()))
    })?;
    let until = end_of(&family, now);
    catalogue.dropped.push(Dropped { what: DroppedThing::Family(schema.id, family), at: now, until });
    catalogue.tables.insert(table.clone(), schema);
    Ok(())
}

/// Drops a table, or what was kept of one of that name, for good.
pub fn drop_for_good(catalogue: &mut Catalogue, name: &TableName) -> Result<()> {
    if let Some(table) = catalogue.tables.remove(name) {
        forget_families_of(catalogue, table.id);
        return Ok(());
    }
    if forget_table(catalogue, name) { Ok(()) } else { known_table(catalogue, name).map(|_| ()) }
}

/// What was kept of dropped tables of a name goes for good; whether there was any.
pub fn forget_table(catalogue: &mut Catalogue, name: &TableName) -> bool {
    let aside: Vec<TableId> = catalogue.dropped.iter().filter_map(|d| table_of(d, name)).collect();
    catalogue.dropped.retain(|dropped| table_of(dropped, name).is_none());
    forget_namespaces(catalogue);
    aside.iter().for_each(|id| forget_families_of(catalogue, *id));
    !aside.is_empty()
}

fn table_of(dropped: &Dropped, name: &TableName) -> Option<TableId> {
    match &dropped.what {
        DroppedThing::Table(table) if table.name == *name => Some(table.id),
        _ => None,
    }
}

fn forget_families_of(catalogue: &mut Catalogue, table: TableId) {
    catalogue.dropped.retain(|d| !matches!(&d.what, DroppedThing::Family(of, _) if *of == table));
}

/// See [`crate::model::CatalogueChange::BringBack`].
pub fn bring_back(catalogue: &mut Catalogue, name: &TableName, at: Option<Timestamp>, now: Timestamp) -> Result<()> {
    let of = meant(catalogue, |dropped| table_of(dropped, name).is_some(), at);
    let found = catalogue.dropped.remove(of.ok_or_else(|| nothing(&format!("table {name}")))?);
    if catalogue.tables.contains_key(name) {
        set_table_aside(catalogue, name, now)?;
    }
    catalogue.dropped.push(found);
    undrop_table(catalogue, name, now)
}

/// As [`bring_back`], of a family.
pub fn bring_family_back(
    catalogue: &mut Catalogue,
    (table, name): (&TableName, &str),
    at: Option<Timestamp>,
    now: Timestamp,
) -> Result<()> {
    let schema = known_table(catalogue, table)?;
    let (id, is_there) = (schema.id, schema.families.contains_key(name));
    let of = meant(catalogue, |dropped| is_family(dropped, id, name), at);
    let of = of.ok_or_else(|| nothing(&format!("family {} of table {table}", name.escape_debug())))?;
    let found = catalogue.dropped.remove(of);
    if is_there {
        check_goes(catalogue, table, name)?;
        set_family_aside(catalogue, table, name, now)?;
    }
    catalogue.dropped.push(found);
    undrop_family(catalogue, (table, name), now)
}

/// The place of what was there at a time; without one, of what was dropped last.
fn meant(catalogue: &Catalogue, is_it: impl Fn(&Dropped) -> bool, at: Option<Timestamp>) -> Option<usize> {
    match at {
        Some(at) => catalogue.dropped.iter().position(|dropped| is_it(dropped) && dropped.was_there(at)),
        None => catalogue.dropped.iter().rposition(is_it),
    }
}

fn is_family(dropped: &Dropped, table: TableId, name: &str) -> bool {
    matches!(&dropped.what, DroppedThing::Family(of, family) if *of == table && family.name == name)
}

/// Brings back the table that was dropped last under a name.
pub fn undrop_table(catalogue: &mut Catalogue, name: &TableName, now: Timestamp) -> Result<()> {
    let last = catalogue.dropped.iter().rposition(|dropped| table_of(dropped, name).is_some());
    let last = last.ok_or_else(|| nothing(&format!("table {name}")))?;
    namespace_is_back(catalogue, &name.namespace);
    if catalogue.tables.contains_key(name) {
        let text = format!("there is a table {name} now; rename it, then bring the dropped one back");
        return Err(Error::new(ErrorKind::TableExists, text));
    }
    check_new_name(catalogue, name)?;
    let Dropped { what, at, .. } = catalogue.dropped.remove(last);
    if let DroppedThing::Table(mut table) = what {
        table.families.values_mut().for_each(|family| family.come_back(at, now));
        catalogue.tables.insert(name.clone(), table);
    }
    Ok(())
}

/// Brings back the family that was dropped last under a name in a table.
pub fn undrop_family(catalogue: &mut Catalogue, (table, name): (&TableName, &str), now: Timestamp) -> Result<()> {
    let mut schema = known_table(catalogue, table)?.clone();
    let last = meant(catalogue, |dropped| is_family(dropped, schema.id, name), None);
    let last = last.ok_or_else(|| nothing(&format!("family {} of table {table}", name.escape_debug())))?;
    if schema.families.contains_key(name) {
        let text = format!("table {table} has a family {name} now; there can be only one of that name");
        return Err(Error::new(ErrorKind::FamilyExists, text));
    }
    let Dropped { what, at, .. } = catalogue.dropped.remove(last);
    if let DroppedThing::Family(_, mut family) = what {
        family.come_back(at, now);
        schema.families.insert(name.to_owned(), family);
        family_is_back(catalogue, &mut schema, name);
    }
    insert_table(catalogue, schema)
}

/// A namespace has gone: as it was it is kept for the tables of it that are.
pub fn set_namespace_aside(catalogue: &mut Catalogue, gone: NamespaceSchema) {
    catalogue.dropped_namespaces.insert(gone.name.clone(), gone);
    forget_namespaces(catalogue);
}

/// A table of a namespace that has gone comes back with it.
fn namespace_is_back(catalogue: &mut Catalogue, name: &str) {
    if catalogue.namespaces.contains_key(name) {
        return;
    }
    let anew = || NamespaceSchema { name: name.to_owned(), ..NamespaceSchema::default() };
    let namespace = catalogue.dropped_namespaces.remove(name).unwrap_or_else(anew);
    catalogue.namespaces.insert(name.to_owned(), namespace);
}

/// Forgets namespaces of which no table is kept.
fn forget_namespaces(catalogue: &mut Catalogue) {
    let dropped = &catalogue.dropped;
    let is_of = |name: &str, dropped: &Dropped| match &dropped.what {
        DroppedThing::Table(table) => *table.name.namespace == *name,
        DroppedThing::Family(..) => false,
    };
    catalogue.dropped_namespaces.retain(|name, _| dropped.iter().any(|dropped| is_of(name, dropped)));
}

fn nothing(what: &str) -> Error {
    let text = format!("no dropped {what} is kept; `cellfs list --dropped` shows what is");
    Error::new(ErrorKind::NotFound, text)
}

/// Forgets what has been kept long enough.
pub fn forget(catalogue: &mut Catalogue, now: Timestamp) {
    let (gone, kept) = std::mem::take(&mut catalogue.dropped).into_iter().partition(|d| is_due(d, now));
    catalogue.dropped = kept;
    let gone: Vec<Dropped> = gone;
    for dropped in gone {
        if let DroppedThing::Table(table) = dropped.what {
            forget_families_of(catalogue, table.id);
        }
    }
    forget_namespaces(catalogue);
}

pub fn is_due(dropped: &Dropped, now: Timestamp) -> bool {
    dropped.until.is_some_and(|until| until <= now)
}

/// What was dropped in a namespace follows it.
pub fn rename_namespace(catalogue: &mut Catalogue, from: &str, to: &str) {
    catalogue.dropped_namespaces.remove(to);
    for dropped in &mut catalogue.dropped {
        if let DroppedThing::Table(table) = &mut dropped.what
            && *table.name.namespace == *from
        {
            table.name.namespace = to.into();
        }
    }
}
