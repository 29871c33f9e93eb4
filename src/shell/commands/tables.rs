//! Tables as a whole: create, drop, enable, disable, describe, list.

use regex::Regex;

use super::change::change;
use super::{Command, alter};
use crate::error::reason;
use crate::model::declared::describe;
use crate::model::declared::region::set_splits;
use crate::model::to_string_binary;
use crate::model::{CatalogueChange, Origin, TableName, TableSchema, TableState};
use crate::shell::arguments::{Arguments, Options};
use crate::shell::eval::failure::{Failure, Outcome, refuse, table_name, words};
use crate::shell::eval::value::Value;
use crate::shell::regions::{region_of, regions, wanted_splits};
use crate::shell::schema;
use crate::shell::session::Session;

pub(super) fn find(name: &str) -> Option<Command> {
    Some(match name {
        "alter" => alter::alter,
        "alter_async" => alter::alter_async,
        "alter_status" => alter::alter_status,
        "create" => create,
        "describe" => describe_table,
        "disable" => disable,
        "disable_all" => disable_all,
        "is_disabled" => is_disabled,
        "drop" => drop,
        "drop_all" => drop_all,
        "enable" => enable,
        "enable_all" => enable_all,
        "is_enabled" => is_enabled,
        "exists" => exists,
        "list" => list,
        "show_filters" => show_filters,
        "get_table" => get_table,
        "locate_region" => locate_region,
        "list_regions" => list_regions,
        "clone_table_schema" => clone_table_schema,
        _ => return None,
    })
}

/// A pattern that must match the whole name, as Java's `matches`.
pub(super) fn java_regex(text: &str) -> Outcome<Regex> {
    Regex::new(&format!("^(?:{text})$"))
        .or_else(|e| refuse(format!("{text} is not a regular expression: {}", reason(e))))
}

/// The table, or HBase's sentence of commands that look first.
fn existing(session: &Session<'_>, arguments: &Arguments) -> Outcome<TableSchema> {
    let name = arguments.text(0);
    match session.table(&name) {
        Err(Failure::Store(error)) if error.kind == crate::ErrorKind::NoSuchTable => {
            refuse(format!("Table {name} does not exist."))
        }
        found => found,
    }
}

fn create(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let Value::Text(_) = arguments.get(0) else { return refuse("Table name must be of type String") };
    let mut table = schema::new_table(table_name(&arguments.text(0))?);
    for argument in arguments.flat_from(1) {
        match argument {
            Value::Text(_) => add_family(session, &mut table, &argument.to_text(), &mut Options::default())?,
            Value::Hash(pairs) => create_part(session, &mut table, Options::new(&pairs))?,
            other => return refuse(format!("{} of {} is not of Hash or String type", other.class(), other.inspect())),
        }
    }
    if table.families.is_empty() {
        return refuse("Table must have at least one column family");
    }
    schema::check(&table)?;
    let name = table.name.clone();
    match session.backend()?.alter(CatalogueChange::CreateTable(table), Origin::default()) {
        Err(e) if e.kind == crate::ErrorKind::NoSuchNamespace => return refuse(words(&e, &name.namespace)),
        done => done?,
    }
    session.printer.line(&format!("Created table {name}"))?;
    Ok(Value::Table(name))
}

fn create_part(session: &mut Session<'_>, table: &mut TableSchema, mut options: Options) -> Outcome<()> {
    if options.has("NAME") {
        let name = options.take("NAME").unwrap_or(Value::Nil).to_text();
        return add_family(session, table, &name, &mut options);
    }
    if options.take("METHOD").is_some_and(|method| method.to_text() != "table_att") {
        return refuse("table_att is currently the only supported method");
    }
    if let Some(splits) = wanted_splits(&mut options)? {
        set_splits(table, splits);
    }
    schema::set_table_attributes(table, &mut options)?;
    alter::ignored_as(session, &options, ("table", "An argument ignored (unknown or overridden)"))
}

/// Adds a family that a hash describes, and says what of the hash was not understood.
fn add_family(session: &mut Session<'_>, table: &mut TableSchema, name: &str, options: &mut Options) -> Outcome<()> {
    let family = alter::family_of(session, name, options, None)?;
    if table.families.contains_key(name) {
        session.printer.line(&format!("Family '{name}' already exists, the old one will be replaced"))?;
    }
    table.declare(family);
    Ok(())
}

fn describe_table(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let table = existing(session, arguments)?;
    let printer = &mut session.printer;
    for line in describe::lines(&table) {
        printer.line(&line)?;
    }
    printer.rows(table.families.len() as u64)?;
    printer.line("Quota is disabled")?;
    Ok(Value::Nil)
}

/// Brings a table into a state that it may be in already.
pub(super) fn set_state(session: &Session<'_>, table: &TableSchema, state: TableState) -> Outcome<()> {
    if table.state == state {
        return Ok(());
    }
    change(session, CatalogueChange::SetTableState { name: table.name.clone(), state })
}

fn disable(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let table = existing(session, arguments)?;
    set_state(session, &table, TableState::Disabled).map(|()| Value::Nil)
}

fn enable(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let table = existing(session, arguments)?;
    set_state(session, &table, TableState::Enabled).map(|()| Value::Nil)
}

fn drop(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let table = existing(session, arguments)?;
    if table.state == TableState::Enabled {
        return refuse(format!("Table {} is enabled. Disable it first.", table.name));
    }
    change(session, CatalogueChange::SetTableAside { name: table.name }).map(|()| Value::Nil)
}

/// Tables whose names match, in order.
fn matching(session: &Session<'_>, regex: &str) -> Outcome<Vec<TableSchema>> {
    let regex = java_regex(regex)?;
    let catalogue = session.backend()?.catalogue()?;
    let matches = |name: &TableName| {
        let full = format!("{}:{}", name.namespace, name.name);
        regex.is_match(&name.to_string()) || regex.is_match(&full)
    };
    Ok(catalogue.user_tables().filter(|table| matches(&table.name)).cloned().collect())
}

/// Asks, then does something to every table that matches; `verb` and `done` are its words.
fn for_all(
    session: &mut Session<'_>,
    arguments: &Arguments,
    (verb, done): (&str, &str),
    action: impl Fn(&Session<'_>, &TableSchema) -> Outcome<()>,
) -> Outcome<Value> {
    let regex = arguments.text(0);
    let tables = matching(session, &regex)?;
    for table in &tables {
        session.printer.line(&table.name.to_string())?;
    }
    if tables.is_empty() {
        session.printer.line(&format!("No tables matched the regex {regex}"))?;
        return Ok(Value::Nil);
    }
    session.printer.line(&format!("\n{verb} the above {} tables (y/n)?", tables.len()))?;
    if !session.ask()?.is_some_and(|answer| answer.to_lowercase().contains('y')) {
        return Ok(Value::Nil);
    }
    let mut failed = Vec::new();
    for table in &tables {
        let name = table.name.to_string();
        match action(session, table) {
            Ok(()) => {}
            Err(Failure::Store(error)) => {
                session.printer.line(&format!("table:{name}, error:{}", words(&error, &name)))?;
                failed.push(name);
            }
            Err(other) => return Err(other),
        }
    }
    session.printer.line(&format!("{} tables successfully {done}", tables.len() - failed.len()))?;
    if !failed.is_empty() {
        let text = format!("{} tables not {done} due to an exception: {}", failed.len(), failed.join(","));
        session.printer.line(&text)?;
    }
    Ok(Value::Nil)
}

fn disable_all(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    for_all(session, arguments, ("Disable", "disabled"), |session, table| {
        set_state(session, table, TableState::Disabled)
    })
}

fn enable_all(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    for_all(session, arguments, ("Enable", "enabled"), |session, table| set_state(session, table, TableState::Enabled))
}

fn drop_all(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    for_all(session, arguments, ("Drop", "dropped"), |session, table| {
        if table.state == TableState::Enabled {
            let text = format!("table {} is enabled", table.name);
            return Err(Failure::Store(crate::Error::new(crate::ErrorKind::TableEnabled, text)));
        }
        change(session, CatalogueChange::SetTableAside { name: table.name.clone() })
    })
}

fn flag(session: &mut Session<'_>, flag: bool) -> Outcome<Value> {
    session.printer.line(&flag.to_string())?;
    Ok(Value::Boolean(flag))
}

fn is_enabled(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let state = session.table(&arguments.text(0))?.state;
    flag(session, state == TableState::Enabled)
}

fn is_disabled(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let state = session.table(&arguments.text(0))?.state;
    flag(session, state == TableState::Disabled)
}

fn exists(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let name = table_name(&arguments.text(0))?;
    let exists = session.backend()?.catalogue()?.tables.contains_key(&name);
    let answer = if exists { "does exist" } else { "does not exist" };
    session.printer.line(&format!("Table {name} {answer}"))?;
    Ok(Value::Boolean(exists))
}

fn list(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    session.printer.line("TABLE")?;
    let regex = if arguments.count() == 0 { ".*".to_owned() } else { arguments.text(0) };
    let names: Vec<String> = matching(session, &regex)?.iter().map(|table| table.name.to_string()).collect();
    for name in &names {
        session.printer.line(name)?;
    }
    session.printer.rows(names.len() as u64)?;
    Ok(Value::Array(names.iter().map(Value::text).collect()))
}

/// In the order in which HBase's hash map has them.
const FILTERS: &[&str] = &[
    "DependentColumnFilter",
    "KeyOnlyFilter",
    "ColumnCountGetFilter",
    "SingleColumnValueFilter",
    "PrefixFilter",
    "SingleColumnValueExcludeFilter",
    "FirstKeyOnlyFilter",
    "ColumnRangeFilter",
    "ColumnValueFilter",
    "TimestampsFilter",
    "FamilyFilter",
    "QualifierFilter",
    "ColumnPrefixFilter",
    "RowFilter",
    "MultipleColumnPrefixFilter",
    "InclusiveStopFilter",
    "PageFilter",
    "ValueFilter",
    "ColumnPaginationFilter",
];

fn show_filters(session: &mut Session<'_>, _: &Arguments) -> Outcome<Value> {
    for name in FILTERS {
        session.printer.line(name)?;
    }
    Ok(Value::Array(FILTERS.iter().map(Value::text).collect()))
}

fn get_table(_: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    Ok(Value::Table(table_name(&arguments.text(0))?))
}

fn locate_region(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let table = session.table(&arguments.text(0))?;
    let found = region_of(&*session.backend()?, &table, &arguments.bytes(1))?;
    let Some(region) = found else { return Ok(Value::Nil) };
    session.printer.heading("HOST", "REGION")?;
    let text = format!(
        "{{ENCODED => {}, NAME => '{}', STARTKEY => '{}', ENDKEY => '{}'}}",
        region.encoded,
        region.name,
        to_string_binary(&region.start),
        to_string_binary(&region.end)
    );
    session.printer.row(&region.host(), &text)?;
    session.printer.rows(1)?;
    Ok(Value::Nil)
}

fn list_regions(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let table = session.table(&arguments.text(0))?;
    if table.state == TableState::Disabled {
        return refuse(format!("Table {} must be enabled.", table.name));
    }
    let rows: Vec<[String; 4]> = regions(&*session.backend()?, &table)?
        .into_iter()
        .map(|r| [r.server, r.name, to_string_binary(&r.start), to_string_binary(&r.end)])
        .collect();
    let heads = [("SERVER_NAME", 12), ("REGION_NAME", 12), ("START_KEY", 10), ("END_KEY", 10)];
    let widths: Vec<usize> = heads
        .iter()
        .enumerate()
        .map(|(at, (_, least))| rows.iter().map(|row| row[at].len()).max().unwrap_or(0).max(*least))
        .collect();
    let line = |cells: [&str; 4]| -> String {
        cells.iter().zip(&widths).map(|(cell, width)| format!(" {cell:>width$} |")).collect()
    };
    session.printer.line(&line(heads.map(|(head, _)| head)))?;
    let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    session.printer.line(&rules.iter().map(|rule| format!(" {rule} |")).collect::<String>())?;
    for row in &rows {
        session.printer.line(&line([&row[0], &row[1], &row[2], &row[3]]))?;
    }
    session.printer.line(&format!(" {} rows", rows.len()))?;
    Ok(Value::Nil)
}

fn clone_table_schema(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let mut table = session.table(&arguments.text(0))?;
    table.name = table_name(&arguments.text(1))?;
    table.state = TableState::Enabled;
    if *arguments.get(2) == Value::Boolean(false) {
        set_splits(&mut table, Vec::new());
    }
    let name = table.name.to_string();
    match session.backend()?.alter(CatalogueChange::CreateTable(table), Origin::default()) {
        Err(e) => refuse(words(&e, &name)),
        Ok(()) => Ok(Value::Nil),
    }
}
