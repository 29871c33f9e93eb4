//! What each command does: arguments to calls of the backend, answers to HBase's output.

mod alter;
mod change;
mod general;
mod namespaces;
mod read;
mod regions;
mod snapshots;
mod tables;
mod tools;
mod write;

pub use general::version_text;

use super::arguments::Arguments;
use super::eval::failure::{Failure, Outcome, refuse, table_name};
use super::eval::value::Value;
use super::regions::region_of;
use super::registry::Entry;
use super::session::Session;
use crate::model::declared::describe;
use crate::model::{RowKey, TableName, TableSchema, TableState, check_row};
use crate::{Error, ErrorKind};

/// A command: prints what it has to say and yields what irb shows after `=>`.
type Command = fn(&mut Session<'_>, &Arguments) -> Outcome<Value>;

/// Runs a command whose arguments were counted.
pub fn run(session: &mut Session<'_>, entry: &Entry, arguments: Arguments) -> Outcome<Value> {
    let command = match entry.group {
        "general" => general::find(entry.name),
        "ddl" => tables::find(entry.name),
        "namespace" => namespaces::find(entry.name),
        "dml" => read::find(entry.name).or_else(|| write::find(entry.name)),
        "snapshots" => snapshots::find(entry.name),
        _ => tools::find(entry.name).or_else(|| regions::find(entry.name)),
    };
    match command {
        Some(command) => command(session, &arguments),
        None => match session.backend()?.cluster_numbers() {
            Ok(None) => refuse(meaningless(entry)),
            Ok(Some(_)) | Err(_) => {
                refuse(format!("{}: cellfs does not ask a cluster for this; use HBase's own shell", entry.name))
            }
        },
    }
}

/// Why a command of HBase's shell does nothing here.
pub fn meaningless(entry: &Entry) -> String {
    let name = entry.name;
    match entry.group {
        "replication" => format!("{name}: a store is one directory and is not replicated"),
        "security" | "visibility labels" => {
            format!("{name}: the permissions of files decide who may use a store; there are no others")
        }
        "quotas" => format!("{name}: quotas are set with hbase.namespace.quota.maxtables of a namespace"),
        _ => format!("{name}: it is about the servers of a cluster; a store has none"),
    }
}

/// What `t.get_all_columns` yields.
pub fn all_columns(session: &Session<'_>, table: &TableName) -> Outcome<Value> {
    let table = session.table(&table.to_string())?;
    Ok(Value::Array(table.families.keys().map(|name| Value::text(format!("{name}:"))).collect()))
}

impl Session<'_> {
    /// The schema of a table.
    pub(super) fn table(&self, text: &str) -> Outcome<TableSchema> {
        let name = table_name(text)?;
        let catalogue = self.backend()?.catalogue()?;
        let missing = || Failure::Store(Error::new(ErrorKind::NoSuchTable, format!("table {name} does not exist")));
        catalogue.tables.get(&name).cloned().ok_or_else(missing)
    }

    /// The schema of a table that must take reads and writes.
    fn enabled_table(&self, text: &str) -> Outcome<TableSchema> {
        let table = self.table(text)?;
        match table.state {
            TableState::Enabled => Ok(table),
            TableState::Disabled => {
                Err(Failure::Store(Error::new(ErrorKind::TableDisabled, format!("table {text} is disabled"))))
            }
        }
    }
}

/// Refuses families that the table does not have, as the region of the row does.
fn check_families<'f>(
    session: &Session<'_>,
    table: &TableSchema,
    row: &[u8],
    mut families: impl Iterator<Item = &'f str>,
) -> Outcome<()> {
    let Some(missing) = families.find(|family| !table.families.contains_key(*family)) else { return Ok(()) };
    // A cluster that cannot tell its regions now has nothing else to say of them.
    let region = region_of(&*session.backend()?, table, row).ok().flatten();
    let region = region.map_or_else(String::new, |region| format!("region {} in ", region.name));
    refuse(format!(
        "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException: Column family {missing} does not exist in \
         {region}table {}",
        describe::table(table)
    ))
}

/// A row key as Mutation and Get take it.
fn row_key(bytes: Vec<u8>) -> Outcome<RowKey> {
    if bytes.is_empty() {
        return refuse("Row length is 0");
    }
    check_row(&bytes)?;
    Ok(bytes)
}

/// A column as the shell writes it: `family`, `family:qualifier`, `family:qualifier:converter`.
struct ColumnText {
    family: String,
    qualifier: Option<Vec<u8>>,
    converter: Option<String>,
}

impl ColumnText {
    fn parse(text: &[u8]) -> Self {
        let split = |text: &[u8]| -> (Vec<u8>, Option<Vec<u8>>) {
            match text.iter().position(|byte| *byte == b':') {
                Some(at) => (text[..at].to_vec(), Some(text[at + 1..].to_vec())),
                None => (text.to_vec(), None),
            }
        };
        let (family, rest) = split(text);
        let (qualifier, converter) = match rest.as_deref().map(split) {
            Some((qualifier, converter)) => (Some(qualifier), converter),
            None => (None, None),
        };
        let lossy = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self { family: lossy(family), qualifier, converter: converter.map(lossy) }
    }
}
