//! rename(2) of tables and namespaces: changes of the catalogue, and of what the kernel holds below them.

use std::sync::Arc;

use crate::backend::RenameMode;
use crate::fs::base::Fs;
use crate::fs::session::moving;
use crate::model::{CatalogueChange, Origin, TableName};
use crate::tree::facts;
use crate::tree::list::listing;
use crate::tree::place::NodeKey;
use crate::{Error, ErrorKind, Result};

pub fn rename_table(
    fs: &Fs,
    from: &NodeKey,
    to: &NodeKey,
    one: &Arc<TableName>,
    other: &Arc<TableName>,
    mode: RenameMode,
) -> Result<()> {
    let (one, other) = (one.as_ref().clone(), other.as_ref().clone());
    let origin = Origin(fs.nodes.number(from));
    let target_exists = facts::at(&fs.tree, to)?.is_some();
    let change = match mode {
        RenameMode::Exchange => CatalogueChange::ExchangeTables { one: one.clone(), other: other.clone() },
        RenameMode::NoReplace if target_exists => {
            return Err(Error::new(ErrorKind::AlreadyExists, "the target exists"));
        }
        _ => CatalogueChange::RenameTable { from: one.clone(), to: other.clone() },
    };
    let replaces = target_exists && mode == RenameMode::Replace;
    let pairs = [(one.clone(), other.clone())];
    let below = |table: &TableName| *table == one || *table == other;
    let moved = |table: &TableName| match mode {
        _ if *table == one => Some(other.clone()),
        RenameMode::Exchange => Some(one.clone()),
        RenameMode::Replace | RenameMode::NoReplace => None,
    };
    moving::move_tables(fs, below, moved, || {
        if replaces {
            set_aside(fs, to, &other, origin)?;
        }
        rename_made(fs, (from, to), &pairs, mode, || fs.tree.backend.alter(change, origin)).inspect_err(|_| {
            if replaces && let Err(e) = bring_back(fs, &other) {
                log::warn!("bring back {other}, over which no table was renamed: {e}");
            }
        })?;
        if mode != RenameMode::Exchange {
            moving::move_node(fs, from, to, None);
        }
        // The kernel keeps what it holds below the directories: it stands for other keys now.
        fs.nodes.rename_all(|place| match place.table() {
            Some(table) if *table == one => Some(place.with_table(&other)),
            Some(table) if *table == other && mode == RenameMode::Exchange => Some(place.with_table(&one)),
            _ => None,
        });
        Ok(())
    })
}

pub fn rename_namespace(
    fs: &Fs,
    from: &NodeKey,
    to: &NodeKey,
    (one, other): (&Arc<str>, &Arc<str>),
    mode: RenameMode,
) -> Result<()> {
    if mode == RenameMode::Exchange {
        let text = "two namespaces cannot be exchanged; rename one after the other";
        return Err(Error::new(ErrorKind::IllegalArgument, text));
    }
    let origin = Origin(fs.nodes.number(from));
    if mode == RenameMode::NoReplace && facts::at(&fs.tree, to)?.is_some() {
        return Err(Error::new(ErrorKind::AlreadyExists, "the target exists"));
    }
    let tables: Vec<TableName> = tables_of(fs, one)?;
    let change = CatalogueChange::RenameNamespace { from: one.to_string(), to: other.to_string() };
    let renamed = |table: &TableName| TableName { namespace: other.as_ref().into(), name: table.name.clone() };
    let pairs: Vec<_> = tables.into_iter().map(|table| (table.clone(), renamed(&table))).collect();
    let below = |table: &TableName| *table.namespace == **one;
    let moved = |table: &TableName| Some(renamed(table));
    moving::move_tables(fs, below, moved, || {
        rename_made(fs, (from, to), &pairs, mode, || fs.tree.backend.alter(change, origin))?;
        moving::move_node(fs, from, to, None);
        fs.nodes.rename_all(|place| {
            let table = place.table().filter(|table| *table.namespace == **one)?;
            Some(place.with_table(&renamed(table)))
        });
        Ok(())
    })
}

/// Takes an empty table out of the way. Order: behind all that may refuse the rename, and what is under way into the table.
fn set_aside(fs: &Fs, key: &NodeKey, table: &TableName, origin: Origin) -> Result<()> {
    if !listing::page(&fs.tree, key, None, 1)?.is_empty() {
        return Err(Error::new(ErrorKind::NotEmpty, "the target table is not empty"));
    }
    fs.tree.backend.alter(CatalogueChange::SetTableAside { name: table.clone() }.if_empty(table, None), origin)
}

fn bring_back(fs: &Fs, table: &TableName) -> Result<()> {
    let undrop = CatalogueChange::Undrop { table: table.clone(), family: None };
    fs.tree.backend.alter(undrop, Origin::default())
}

/// What the mount shows of tables beyond the store goes with them.
fn rename_made(
    fs: &Fs,
    (from, to): (&NodeKey, &NodeKey),
    tables: &[(TableName, TableName)],
    mode: RenameMode,
    alter: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let dirs = &fs.tree.uncommitted.dirs;
    // No table has this name.
    let aside = TableName { namespace: "".into(), name: "".into() };
    let swap = |(one, other): &(TableName, TableName)| {
        dirs.rename_table(other, &aside)?;
        dirs.rename_table(one, other)?;
        if mode == RenameMode::Exchange { dirs.rename_table(&aside, one) } else { dirs.remove_table(&aside) }
    };
    // Order: before the change, which forgets what is of a table that is gone.
    tables.iter().try_for_each(swap)?;
    let carry = |from, to| match mode {
        RenameMode::Exchange => fs.modes.exchange(from, to),
        RenameMode::Replace | RenameMode::NoReplace => fs.modes.rename(from, to),
    };
    carry(from, to)?;
    let Err(e) = alter() else { return Ok(()) };
    tables.iter().try_for_each(|(one, other)| match mode {
        RenameMode::Exchange => swap(&(one.clone(), other.clone())),
        _ => dirs.rename_table(other, one),
    })?;
    carry(to, from)?;
    Err(e)
}

fn tables_of(fs: &Fs, namespace: &str) -> Result<Vec<TableName>> {
    let catalogue = fs.tree.backend.catalogue()?;
    Ok(catalogue.tables.keys().filter(|table| *table.namespace == *namespace).cloned().collect())
}
