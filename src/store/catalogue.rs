//! Changes of the catalogue: what they check, and how they become durable.
//!
//! The file `catalogue` is the truth, kept twice: a line with a checksum, then JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::changed::events_of;
use super::engine::{Engine, known_table};
use super::policy::Settings;
use super::restore::{restore_family, rules_of, unset_for_restore};
use super::twofold::{self, Loaded, Unsaved};
use super::{attribute_times, dropped};
use crate::backend::Event;
use crate::env::Env;
use crate::model::attributes::table_attribute;
use crate::model::{
    AttributeKey, Catalogue, CatalogueChange, Dropped, FamilyId, FileTime, NamespaceSchema, Origin, TableId, TableName,
    TableSchema, TableState, Timestamp, check_family, check_namespace,
};
use crate::{Error, ErrorKind, Result};

/// Namespaces that always exist.
const RESERVED: [&str; 2] = ["default", "hbase"];
const MAX_TABLES: &str = "hbase.namespace.quota.maxtables";

/// The catalogue as JSON has it, whose keys are texts.
#[derive(Serialize, Deserialize)]
struct Stored {
    version: u64,
    next_table_id: u32,
    next_family_id: u32,
    namespaces: Vec<NamespaceSchema>,
    tables: Vec<TableSchema>,
    #[serde(default)]
    times: Vec<(AttributeKey, FileTime)>,
    #[serde(default)]
    restored: BTreeSet<FamilyId>,
    #[serde(default)]
    dropped: Vec<Dropped>,
    #[serde(default)]
    staged: Vec<TableSchema>,
}

/// An empty catalogue.
pub fn initial() -> Catalogue {
    let namespace = |name: &str| NamespaceSchema { name: name.to_owned(), ..NamespaceSchema::default() };
    Catalogue {
        namespaces: RESERVED.iter().map(|name| ((*name).to_owned(), namespace(name))).collect(),
        next_table_id: 1,
        next_family_id: 1,
        ..Catalogue::default()
    }
}

/// Writes the file so that a crash leaves the old or the new catalogue.
pub fn save(env: &dyn Env, path: &Path, catalogue: &Catalogue) -> Result<()> {
    try_save(env, path, catalogue).map_err(|unsaved| unsaved.error)
}

fn try_save(env: &dyn Env, path: &Path, catalogue: &Catalogue) -> Result<(), Unsaved> {
    let stored = Stored {
        version: catalogue.version,
        next_table_id: catalogue.next_table_id,
        next_family_id: catalogue.next_family_id,
        namespaces: catalogue.namespaces.values().cloned().collect(),
        tables: catalogue.tables.values().cloned().collect(),
        times: catalogue.times.clone().into_iter().collect(),
        restored: catalogue.restored.clone(),
        dropped: catalogue.dropped.clone(),
        staged: catalogue.staged.clone(),
    };
    let json = serde_json::to_string_pretty(&stored).map_err(|e| {
        let error = Error::new(ErrorKind::Io, format!("encode the catalogue: {e}"));
        Unsaved { error, is_unknown: false }
    })?;
    let text = format!("cellfs catalogue crc32c={:08x}\n{json}\n", crc32c::crc32c(json.as_bytes()));
    twofold::save(env, path, text.as_bytes())
}

/// Reads the file, or its copy, and mends what is damaged; `None` if there is none.
pub fn load(env: &dyn Env, path: &Path) -> Result<Option<Catalogue>> {
    let Some(found) = find(env, path)? else { return Ok(None) };
    twofold::mend(env, &found)?;
    Ok(Some(found.value))
}

/// Reads the file, or its copy, and changes nothing.
pub fn find(env: &dyn Env, path: &Path) -> Result<Option<Loaded<Catalogue>>> {
    twofold::load(env, path, &|bytes| parse(bytes, path))
}

fn parse(bytes: &[u8], path: &Path) -> Result<Catalogue> {
    let corrupt = |what: &str| Error::new(ErrorKind::Corrupt, format!("{}: {what}", path.display()));
    let text = std::str::from_utf8(bytes).map_err(|_| corrupt("it is not text"))?;
    let (head, json) = text.split_once('\n').ok_or_else(|| corrupt("it has no checksum"))?;
    let json = json.strip_suffix('\n').unwrap_or(json);
    let check = head.strip_prefix("cellfs catalogue crc32c=").and_then(|c| u32::from_str_radix(c, 16).ok());
    if check != Some(crc32c::crc32c(json.as_bytes())) {
        return Err(corrupt("checksum mismatch; put a good one in its place, backups have it"));
    }
    let stored: Stored = serde_json::from_str(json).map_err(|e| corrupt(&e.to_string()))?;
    Ok(Catalogue {
        namespaces: stored.namespaces.into_iter().map(|n| (n.name.clone(), n)).collect(),
        tables: stored.tables.into_iter().map(|t| (t.name.clone(), t)).collect(),
        next_table_id: stored.next_table_id,
        next_family_id: stored.next_family_id,
        version: stored.version,
        times: stored.times.into_iter().collect(),
        restored: stored.restored,
        dropped: stored.dropped,
        staged: stored.staged,
    })
}

/// Applies a change at the time `now`; the events it causes.
fn apply(catalogue: &mut Catalogue, change: CatalogueChange, origin: Origin, now: Timestamp) -> Result<Vec<Event>> {
    let events = events_of(catalogue, &change, origin);
    match change {
        CatalogueChange::CreateNamespace(new) => create_namespace(catalogue, new)?,
        CatalogueChange::AlterNamespace(new) => alter_namespace(catalogue, new)?,
        CatalogueChange::DropNamespace { name } => drop_namespace(catalogue, &name)?,
        CatalogueChange::RenameNamespace { from, to } => rename_namespace(catalogue, &from, &to)?,
        CatalogueChange::CreateTable(new) => create_table(catalogue, new)?,
        CatalogueChange::AlterTable(new) => alter_table(catalogue, new)?,
        CatalogueChange::DropTable { name } => dropped::drop_for_good(catalogue, &name)?,
        CatalogueChange::SetTableAside { name } => dropped::set_table_aside(catalogue, &name, now)?,
        CatalogueChange::SetFamilyAside { table, family } => {
            dropped::set_family_aside(catalogue, &table, &family, now)?;
        }
        CatalogueChange::Undrop { table, family: None } => dropped::undrop_table(catalogue, &table)?,
        CatalogueChange::Undrop { table, family: Some(family) } => dropped::undrop_family(catalogue, &table, &family)?,
        CatalogueChange::ForgetDropped => dropped::forget(catalogue, now),
        CatalogueChange::TruncateTable { name } => truncate(catalogue, &name)?,
        CatalogueChange::SetCellsAside { name } => dropped::set_cells_aside(catalogue, &name, now)?,
        CatalogueChange::RenameTable { from, to } => rename(catalogue, &from, &to)?,
        CatalogueChange::ExchangeTables { one, other } => exchange(catalogue, &one, &other)?,
        CatalogueChange::SetTableState { name, state } => set_state(catalogue, &name, state)?,
        CatalogueChange::RestoreFamily { table, family } => restore_family(catalogue, &table, &family)?,
        CatalogueChange::UnsetForRestore { table, family, name } => {
            unset_for_restore(catalogue, &table, &family, &name)?;
        }
        CatalogueChange::SetAttributeTime { key, time } => attribute_times::set(catalogue, key, time)?,
    }
    catalogue.version += 1;
    Ok(events)
}

fn create_namespace(catalogue: &mut Catalogue, new: NamespaceSchema) -> Result<()> {
    check_namespace(&new.name)?;
    if catalogue.namespaces.contains_key(&new.name) {
        return Err(Error::new(ErrorKind::NamespaceExists, format!("Namespace {} already exists", new.name)));
    }
    check_quota(&new)?;
    catalogue.namespaces.insert(new.name.clone(), new);
    Ok(())
}

fn alter_namespace(catalogue: &mut Catalogue, new: NamespaceSchema) -> Result<()> {
    check_quota(&new)?;
    let old = catalogue.namespaces.get_mut(&new.name).ok_or_else(|| no_namespace(&new.name))?;
    *old = new;
    Ok(())
}

fn check_quota(namespace: &NamespaceSchema) -> Result<()> {
    match namespace.properties.get(MAX_TABLES).map(|text| text.trim().parse::<i64>()) {
        None => Ok(()),
        Some(Ok(number)) if number > 0 => Ok(()),
        _ => Err(Error::new(ErrorKind::Constraint, format!("{MAX_TABLES} must be a positive whole number"))),
    }
}

pub fn no_namespace(name: &str) -> Error {
    Error::new(ErrorKind::NoSuchNamespace, format!("namespace {name} does not exist"))
}

fn drop_namespace(catalogue: &mut Catalogue, name: &str) -> Result<()> {
    if RESERVED.contains(&name) {
        return Err(Error::new(ErrorKind::Constraint, format!("Reserved namespace {name} cannot be removed.")));
    }
    let tables = catalogue.tables.keys().filter(|t| *t.namespace == *name).count();
    if tables > 0 {
        let text = format!("Only empty namespaces can be removed. Namespace {name} has {tables} tables");
        return Err(Error::new(ErrorKind::NotEmpty, text));
    }
    catalogue.namespaces.remove(name).map(|_| ()).ok_or_else(|| no_namespace(name))
}

fn rename_namespace(catalogue: &mut Catalogue, from: &str, to: &str) -> Result<()> {
    check_namespace(to)?;
    if RESERVED.contains(&from) {
        return Err(Error::new(ErrorKind::Constraint, format!("Reserved namespace {from} cannot be renamed.")));
    }
    if RESERVED.contains(&to) {
        return Err(Error::new(ErrorKind::NamespaceExists, format!("Namespace {to} already exists")));
    }
    if from != to && catalogue.namespaces.contains_key(from) && catalogue.namespaces.contains_key(to) {
        // As of any directory, only an empty one is replaced.
        drop_namespace(catalogue, to)?;
    }
    let mut moved = catalogue.namespaces.remove(from).ok_or_else(|| no_namespace(from))?;
    moved.name = to.to_owned();
    catalogue.namespaces.insert(to.to_owned(), moved);
    let names: Vec<TableName> = catalogue.tables.keys().filter(|t| *t.namespace == *from).cloned().collect();
    for name in names {
        if let Some(mut table) = catalogue.tables.remove(&name) {
            table.name.namespace = to.into();
            catalogue.tables.insert(table.name.clone(), table);
        }
    }
    dropped::rename_namespace(catalogue, from, to);
    attribute_times::rename_namespace(catalogue, from, to);
    Ok(())
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

fn create_table(catalogue: &mut Catalogue, mut new: TableSchema) -> Result<()> {
    check_new_name(catalogue, &new.name)?;
    new.id = new_table_id(catalogue);
    for family in new.families.values_mut() {
        family.id = new_family_id(catalogue);
    }
    insert_table(catalogue, new)
}

fn alter_table(catalogue: &mut Catalogue, mut new: TableSchema) -> Result<()> {
    let old = known_table(catalogue, &new.name)?.clone();
    new.id = old.id;
    for (name, family) in &mut new.families {
        family.id = old.families.get(name).map_or_else(|| new_family_id(catalogue), |kept| kept.id);
    }
    insert_table(catalogue, new)
}

/// Checks names and attributes, brings them into canonical form and derives the families' rules.
pub fn insert_table(catalogue: &mut Catalogue, mut table: TableSchema) -> Result<()> {
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

pub fn truncate(catalogue: &mut Catalogue, name: &TableName) -> Result<()> {
    let mut table = known_table(catalogue, name)?.clone();
    table.id = new_table_id(catalogue);
    for family in table.families.values_mut() {
        family.id = new_family_id(catalogue);
    }
    catalogue.tables.insert(name.clone(), table);
    Ok(())
}

fn rename(catalogue: &mut Catalogue, from: &TableName, to: &TableName) -> Result<()> {
    known_table(catalogue, from)?;
    check_new_name(catalogue, to)?;
    if let Some(mut table) = catalogue.tables.remove(from) {
        table.name = to.clone();
        catalogue.tables.insert(to.clone(), table);
    }
    Ok(())
}

fn exchange(catalogue: &mut Catalogue, one: &TableName, other: &TableName) -> Result<()> {
    let (mut first, mut second) = (known_table(catalogue, one)?.clone(), known_table(catalogue, other)?.clone());
    std::mem::swap(&mut first.name, &mut second.name);
    catalogue.tables.extend(BTreeMap::from([(one.clone(), second), (other.clone(), first)]));
    Ok(())
}

fn set_state(catalogue: &mut Catalogue, name: &TableName, state: TableState) -> Result<()> {
    known_table(catalogue, name)?;
    let table = catalogue.tables.get_mut(name).filter(|table| table.state != state);
    match (table, state) {
        (Some(table), _) => table.state = state,
        (None, TableState::Disabled) => {
            return Err(Error::new(ErrorKind::TableDisabled, format!("table {name} is disabled already")));
        }
        (None, TableState::Enabled) => {
            return Err(Error::new(ErrorKind::TableEnabled, format!("table {name} is enabled already")));
        }
    }
    Ok(())
}

impl Engine {
    /// Checks, applies, makes durable and publishes a change.
    pub fn alter(&self, change: CatalogueChange, origin: Origin) -> Result<()> {
        self.change_catalogue(|catalogue, now| apply(catalogue, change, origin, now))
    }

    /// A change that may or may not be found at the next start: nothing more is acknowledged that could depend on it.
    fn unsaved(&self, Unsaved { error, is_unknown }: Unsaved) -> Error {
        if !is_unknown {
            return error;
        }
        #[cfg(test)]
        if self.breaks(super::Broken::ForgetsUnknown) {
            return error;
        }
        let reason =
            format!("{error}. Whether the change holds is known after a restart; nothing is acknowledged before");
        self.log.set_poison(reason.clone());
        Error::new(ErrorKind::Poisoned, reason)
    }

    /// As [`Engine::alter`], of a change that gives the events it causes.
    pub fn change_catalogue(&self, change: impl FnOnce(&mut Catalogue, Timestamp) -> Result<Vec<Event>>) -> Result<()> {
        let events = {
            let _one = self.altering.lock();
            self.log.check_poison()?;
            let (before, now) = (self.catalogue.load_full(), self.now());
            let mut catalogue = (*before).clone();
            let events = change(&mut catalogue, now)?;
            attribute_times::note(&before, &mut catalogue, now);
            let saved = try_save(&*self.options.env, &self.catalogue_path, &catalogue);
            saved.map_err(|unsaved| self.unsaved(unsaved))?;
            // Order: those that write by the old one are done before the answer.
            #[cfg(test)]
            let is_awaited = !self.breaks(super::Broken::WritesUndeclared);
            #[cfg(not(test))]
            let is_awaited = true;
            let _writers = is_awaited.then(|| self.declaring.write());
            self.catalogue.store(Arc::new(catalogue));
            events
        };
        self.wake(|state| state.compact = true);
        self.announce(&events);
        Ok(())
    }
}
