//! snapshot: create, list, delete, clone, restore.

use std::collections::BTreeSet;

use serde_json::json;

use super::Answer;
use super::args::SnapshotAction;
use super::given;
use super::output::Output;
use crate::backend::{Existing, Restoration, SnapshotInfo};
use crate::daemon::{Absent, open_backend};
use crate::error::printable;
use crate::model::{Origin, TableName};
use crate::{Error, ErrorKind, Result};

pub fn snapshot(action: SnapshotAction, json: bool) -> Result<Answer> {
    match action {
        SnapshotAction::Create { store, name, table } => {
            let table = table.as_deref().map(given::table).transpose()?;
            open_backend(&store, Absent::Refuse)?.create_snapshot(&name, table.as_ref())?;
        }
        SnapshotAction::List(args) => return list(&open_backend(&args.store, Absent::Refuse)?.snapshots()?, json),
        SnapshotAction::Delete { store, name } => open_backend(&store, Absent::Refuse)?.delete_snapshot(&name)?,
        SnapshotAction::Clone { store, name, table, new } => {
            let (table, to) = (given::table(&table)?, given::table(&new)?);
            let restoration = Restoration { snapshot: name, tables: vec![(table, to)], existing: Existing::Refuse };
            open_backend(&store, Absent::Refuse)?.restore(&restoration, Origin::default())?;
        }
        SnapshotAction::Restore { store, name, tables } => {
            let backend = open_backend(&store, Absent::Refuse)?;
            let known = backend.snapshots()?.into_iter().find(|one| one.name == name).ok_or_else(|| unknown(&name))?;
            if let Some(damage) = known.damage {
                return Err(Error::new(ErrorKind::Corrupt, damage));
            }
            let known = known.tables;
            let chosen: Vec<TableName> = tables.iter().map(|table| given::table(table)).collect::<Result<_>>()?;
            if let Some(absent) = chosen.iter().find(|table| !known.contains(table)) {
                let text = format!("table {absent} is not in snapshot {name}; nothing was restored");
                return Err(Error::new(ErrorKind::NoSuchTable, text));
            }
            let chosen: BTreeSet<TableName> = if chosen.is_empty() { known } else { chosen }.into_iter().collect();
            let tables = chosen.into_iter().map(|table| (table.clone(), table)).collect();
            let restoration = Restoration { snapshot: name, tables, existing: Existing::Replace };
            backend.restore(&restoration, Origin::default())?;
        }
    }
    Ok(Answer::Yes)
}

fn unknown(name: &str) -> Error {
    let text = format!("there is no snapshot {}; `cellfs snapshot list` shows them", name.escape_debug());
    Error::new(ErrorKind::NotFound, text)
}

fn list(snapshots: &[SnapshotInfo], json: bool) -> Result<Answer> {
    let mut output = Output::new();
    for SnapshotInfo { name, made_at, table, tables, cells, bytes, damage } in snapshots {
        if let Some(damage) = damage {
            match json {
                true => output.json(&json!({ "snapshot": name, "damaged": damage }))?,
                false => output.line(&printable(&format!("{name}\tdamaged: {damage}")))?,
            }
            continue;
        }
        if json {
            let tables: Vec<String> = tables.iter().map(TableName::to_string).collect();
            output.json(&json!({
                "snapshot": name, "made": made_at.0, "table": table.as_ref().map(TableName::to_string),
                "tables": tables, "cells": cells, "bytes": bytes,
            }))?;
            continue;
        }
        let made = made_at.iso();
        let what = table.as_ref().map_or_else(|| format!("{} tables", tables.len()), |table| format!("table {table}"));
        output.line(&format!("{name}\t{made}\t{what}\t{cells} cells\t{bytes} bytes"))?;
    }
    output.finish()?;
    Ok(Answer::Yes)
}
