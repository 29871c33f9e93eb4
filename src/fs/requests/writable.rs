//! What takes no changes, whoever asks: refused before anything is done.

use std::time::Duration;

use crate::fs::base::Fs;
use crate::model::{ColumnKey, TableSchema};
use crate::tree::place::{NodeKey, Place};
use crate::tree::view::View;
use crate::{Error, ErrorKind, Result};

/// Refuses changes to what is only generated, and to a mount with the option `ro`.
pub fn check_writable(fs: &Fs, key: &NodeKey) -> Result<()> {
    if let Some(why) = &fs.options.read_only {
        return Err(Error::new(ErrorKind::ReadOnlyStore, why.as_str()));
    }
    if key.snapshot.is_some() || key.place == Place::Snapshots {
        return Err(Error::new(ErrorKind::ReadOnlyStore, "snapshots are read-only; see `cellfs snapshot`"));
    }
    if key.asked.is_some() || matches!(key.place, Place::Asking(..)) {
        return Err(Error::new(
            ErrorKind::ReadOnlyStore,
            "scan paths are read-only; write to the cell in its table, or mount with names=raw for cells of such a name",
        ));
    }
    if let View::At(_) = key.view {
        return Err(Error::new(ErrorKind::ReadOnlyStore, "the past is read-only"));
    }
    let table = if let Place::Schema(place) = &key.place { place.table() } else { key.place.table() };
    if let Some(table) = table.filter(|table| table.is_system())
        && fs.tree.backend.catalogue()?.tables.get(table).is_some_and(TableSchema::read_only)
    {
        let text = format!("table {table} tells what the store has; change the tables and namespaces themselves");
        return Err(Error::new(ErrorKind::ReadOnlyTable, text));
    }
    Ok(())
}

/// Refuses early what a commit would refuse: no such family, table read-only or disabled. The family's TTL.
pub fn check_family(fs: &Fs, key: &NodeKey) -> Result<Option<Duration>> {
    let Some(column) = key.place.column() else { return Ok(None) };
    let catalogue = fs.tree.backend.catalogue()?;
    let table = catalogue.tables.get(&column.table);
    let table = table.ok_or_else(|| Error::new(ErrorKind::NoSuchTable, format!("no table {}", column.table)))?;
    let Some(family) = table.families.get(&column.family) else { return Err(no_family(column)) };
    if !restores(fs, key) {
        refuse_read_only(table)?;
    }
    if table.state == crate::model::TableState::Disabled {
        return Err(Error::new(ErrorKind::TableDisabled, format!("table {} is disabled", column.table)));
    }
    Ok(family.rules.ttl_ms.map(Duration::from_millis))
}

/// Refuses early a directory or a generated file of a row whose table takes no writes.
pub fn check_row_table(fs: &Fs, key: &NodeKey) -> Result<()> {
    let is_of_row = matches!(key.place, Place::Row(_) | Place::Family(_) | Place::Counter(_) | Place::Json(_));
    let Some(name) = key.place.table().filter(|_| is_of_row && !restores(fs, key)) else { return Ok(()) };
    fs.tree.backend.catalogue()?.tables.get(name).map_or(Ok(()), refuse_read_only)
}

pub fn too_large(fs: &Fs) -> Error {
    let (limit, set_by) = (fs.tree.backend.value_limit(), fs.tree.backend.value_limit_is());
    let text = format!("a value has at most {limit} bytes here ({set_by})");
    Error::new(ErrorKind::ValueTooLarge, text)
}

/// Whether a place of the history is of a table that was made there.
pub fn restores(fs: &Fs, key: &NodeKey) -> bool {
    key.view == View::History && key.place.table().is_some_and(|table| fs.tree.unmade.is_restored(table))
}

fn refuse_read_only(table: &TableSchema) -> Result<()> {
    if !table.read_only() {
        return Ok(());
    }
    let text = format!("table {} is READONLY; set .schema/.table/READONLY to false to write", table.name);
    Err(Error::new(ErrorKind::ReadOnlyTable, text))
}

/// The refusal of a family that the table lacks.
pub fn no_family(column: &ColumnKey) -> Error {
    let (table, family) = (&column.table, &column.family);
    let text = format!(
        "table {table} has no family {family}; declare it with mkdir .schema/{family} in the table, or mount with \
         families=auto, which declares families as they come"
    );
    Error::new(ErrorKind::NoSuchFamily, text)
}
