//! Snapshots of tables, and tables made of them.

use super::Command;
use super::tables::java_regex;
use crate::backend::{Existing, Restoration, SnapshotInfo};
use crate::model::{Origin, TableName, TableState};
use crate::shell::arguments::Arguments;
use crate::shell::eval::failure::{Outcome, refuse, table_name};
use crate::shell::eval::value::Value;
use crate::shell::session::Session;
use crate::{Error, ErrorKind};

pub(super) fn find(name: &str) -> Option<Command> {
    Some(match name {
        "snapshot" => snapshot,
        "clone_snapshot" => clone_snapshot,
        "restore_snapshot" => restore_snapshot,
        "delete_snapshot" => delete_snapshot,
        "delete_all_snapshot" => delete_all_snapshot,
        "delete_table_snapshots" => delete_table_snapshots,
        "list_snapshots" => list_snapshots,
        "list_table_snapshots" => list_table_snapshots,
        _ => return None,
    })
}

fn snapshot(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let (table, name) = (session.table(&arguments.text(0))?.name, arguments.text(1));
    match session.backend()?.create_snapshot(&name, Some(&table)) {
        Err(e) if e.kind == ErrorKind::AlreadyExists => refuse(format!(
            "org.apache.hadoop.hbase.snapshot.SnapshotExistsException: Snapshot '{name}' already stored on the filesystem."
        )),
        made => Ok(made.map(|()| Value::Nil)?),
    }
}

fn known(session: &Session<'_>, name: &str) -> Outcome<SnapshotInfo> {
    let found = session.backend()?.snapshots()?.into_iter().find(|snapshot| snapshot.name == name);
    match found {
        Some(SnapshotInfo { damage: Some(damage), .. }) => Err(Error::new(ErrorKind::Corrupt, damage).into()),
        Some(found) => Ok(found),
        None => refuse(format!("Unknown snapshot {name}!")),
    }
}

/// The table that a snapshot is of.
fn table_in(snapshot: &SnapshotInfo) -> Outcome<TableName> {
    match (&snapshot.table, snapshot.tables.as_slice()) {
        (Some(table), _) => Ok(table.clone()),
        (None, [only]) => Ok(only.clone()),
        (None, all) => refuse(format!(
            "snapshot {} has {} tables: name one with `cellfs snapshot clone` or `cellfs snapshot restore`",
            snapshot.name,
            all.len()
        )),
    }
}

fn clone_snapshot(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let snapshot = known(session, &arguments.text(0))?;
    let (table, to) = (table_in(&snapshot)?, table_name(&arguments.text(1))?);
    let restoration =
        Restoration { snapshot: snapshot.name, tables: vec![(table, to.clone())], existing: Existing::Refuse };
    match session.backend()?.restore(&restoration, Origin::default()) {
        Err(e) if e.kind == ErrorKind::TableExists => refuse(format!("Table already exists: {to}!")),
        made => Ok(made.map(|()| Value::Nil)?),
    }
}

fn restore_snapshot(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let snapshot = known(session, &arguments.text(0))?;
    let table = table_in(&snapshot)?;
    let present = session.backend()?.catalogue()?.tables.get(&table).map(|table| table.state);
    if present == Some(TableState::Enabled) {
        return refuse(format!("Table {table} should be disabled!"));
    }
    let tables = vec![(table.clone(), table)];
    let restoration = Restoration { snapshot: snapshot.name, tables, existing: Existing::Replace };
    let done = session.backend()?.restore(&restoration, Origin::default());
    session.pace.changed_many();
    Ok(done.map(|()| Value::Nil)?)
}

fn delete_snapshot(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let snapshot = known(session, &arguments.text(0))?;
    Ok(session.backend()?.delete_snapshot(&snapshot.name).map(|()| Value::Nil)?)
}

/// Prints snapshots as HBase lists them; their number.
fn print(session: &mut Session<'_>, snapshots: &[SnapshotInfo]) -> Outcome<()> {
    session.printer.heading("SNAPSHOT", "TABLE + CREATION TIME")?;
    for SnapshotInfo { name, made_at, table, .. } in snapshots {
        let made = jiff::Timestamp::from_millisecond(made_at.0)
            .map_or_else(|_| made_at.to_string(), |time| time.strftime("%Y-%m-%d %H:%M:%S +0000").to_string());
        let table = table.as_ref().map_or_else(|| "*".to_owned(), TableName::to_string);
        session.printer.row(name, &format!("{table} ({made})"))?;
    }
    Ok(())
}

fn listed(session: &mut Session<'_>, snapshots: &[SnapshotInfo]) -> Outcome<Value> {
    print(session, snapshots)?;
    session.printer.rows(snapshots.len() as u64)?;
    Ok(Value::Array(snapshots.iter().map(|snapshot| Value::text(&snapshot.name)).collect()))
}

/// Snapshots of which name and table match; an absent pattern matches all.
fn matching(session: &Session<'_>, table: Option<String>, name: Option<String>) -> Outcome<Vec<SnapshotInfo>> {
    let pattern = |text: Option<String>| java_regex(&text.unwrap_or_else(|| ".*".to_owned()));
    let (table, name) = (pattern(table)?, pattern(name)?);
    let of_table = |one: &SnapshotInfo| match &one.table {
        Some(of) => table.is_match(&of.to_string()) || table.is_match(&format!("{}:{}", of.namespace, of.name)),
        None => table.is_match("*") || one.tables.iter().any(|of| table.is_match(&of.to_string())),
    };
    let all = session.backend()?.snapshots()?.into_iter();
    Ok(all.filter(|one| name.is_match(&one.name) && of_table(one)).collect())
}

fn given(arguments: &Arguments, at: usize) -> Option<String> {
    (*arguments.get(at) != Value::Nil).then(|| arguments.text(at))
}

fn list_snapshots(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let found = matching(session, None, given(arguments, 0))?;
    listed(session, &found)
}

fn list_table_snapshots(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let found = matching(session, given(arguments, 0), given(arguments, 1))?;
    listed(session, &found)
}

fn delete_all_snapshot(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let regex = arguments.text(0);
    let found = matching(session, None, Some(regex.clone()))?;
    delete_after_asking(session, &found, &format!("No snapshots matched the regex {regex}"))
}

fn delete_table_snapshots(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let found = matching(session, given(arguments, 0), given(arguments, 1))?;
    let none = format!(
        "No snapshots matched the table name regular expression {} and the snapshot name regular expression {}",
        arguments.text(0),
        given(arguments, 1).unwrap_or_else(|| ".*".to_owned())
    );
    delete_after_asking(session, &found, &none)
}

fn delete_after_asking(session: &mut Session<'_>, found: &[SnapshotInfo], none: &str) -> Outcome<Value> {
    if found.is_empty() {
        session.printer.line(none)?;
        return Ok(Value::Nil);
    }
    print(session, found)?;
    session.printer.line(&format!("\nDelete the above {} snapshots (y/n)?", found.len()))?;
    if !session.ask()?.is_some_and(|answer| answer.to_lowercase().contains('y')) {
        return Ok(Value::Nil);
    }
    for snapshot in found {
        session.backend()?.delete_snapshot(&snapshot.name)?;
    }
    session.printer.line(&format!("{} snapshots successfully deleted.", found.len()))?;
    Ok(Value::Nil)
}
