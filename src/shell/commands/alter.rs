//! alter and alter_status.

use super::change::change_at;
use crate::ErrorKind;
use crate::model::declared::attributes::not_an_attribute;
use crate::model::{CatalogueChange, FamilySchema, TableSchema};
use crate::shell::arguments::{Arguments, Options};
use crate::shell::eval::constants::is_constant;
use crate::shell::eval::failure::{Failure, Outcome, refuse, table_name};
use crate::shell::eval::value::Value;
use crate::shell::schema;
use crate::shell::session::Session;
use crate::tree::schema::constraint::no_check;

pub(super) fn alter(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    if apply(session, arguments)? {
        session.printer.line("Updating all regions with the new schema...")?;
        return alter_status(session, arguments);
    }
    Ok(Value::Nil)
}

pub(super) fn alter_async(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    apply(session, arguments).map(|_| Value::Nil)
}

pub(super) fn alter_status(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let table = known(session, arguments)?;
    let count = super::regions::count(session, &table)?;
    session.printer.line(&format!("{count}/{count} regions updated.\nDone."))?;
    Ok(Value::Nil)
}

fn known(session: &Session<'_>, arguments: &Arguments) -> Outcome<TableSchema> {
    let Value::Text(_) = arguments.get(0) else { return refuse("Table name must be of type String") };
    let name = table_name(&arguments.text(0))?;
    match session.backend()?.catalogue()?.tables.get(&name) {
        Some(table) => Ok(table.clone()),
        None => refuse(format!("Can't find a table: {name}")),
    }
}

/// Changes the schema; whether there was something to change.
fn apply(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<bool> {
    loop {
        match try_apply(session, arguments) {
            Err(Failure::Store(e)) if e.kind == ErrorKind::Overtaken => {}
            done => return done,
        }
    }
}

fn try_apply(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<bool> {
    let version = session.backend()?.catalogue()?.version;
    let mut table = known(session, arguments)?;
    if arguments.count() < 2 {
        return refuse("There should be at least one argument but the table name");
    }
    for argument in arguments.flat_from(1) {
        match argument {
            Value::Hash(pairs) => alter_part(session, &mut table, Options::new(&pairs))?,
            name => put_family(session, &mut table, &name.to_text(), &mut Options::default())?,
        }
    }
    schema::check(&table)?;
    change_at(session, CatalogueChange::AlterTable(table), Some(version))?;
    Ok(true)
}

fn alter_part(session: &mut Session<'_>, table: &mut TableSchema, mut options: Options) -> Outcome<()> {
    if let Some(family) = options.take("delete") {
        table.families.remove(&family.to_text());
        return ignored(session, &options);
    }
    let method = options.take("METHOD").map(|method| method.to_text());
    let name = options.take("NAME").filter(|name| *name != Value::Nil);
    match (method.as_deref(), name) {
        (None, Some(name)) => return put_family(session, table, &name.to_text(), &mut options),
        (None | Some("table_att"), _) => {
            set_coprocessors(table, &mut options);
            schema::set_table_attributes(table, &mut options)?;
        }
        (Some(method @ ("delete" | "delete_check" | "table_att_unset" | "table_conf_unset")), None) => {
            return refuse(format!("NAME parameter missing for {method} method"));
        }
        (Some("delete"), Some(name)) => {
            table.families.remove(&name.to_text());
        }
        (Some("delete_check"), Some(name)) => delete_check(table, &name.to_text(), &mut options)?,
        (Some(method @ ("table_att_unset" | "table_conf_unset")), Some(name)) => unset(table, method, &name)?,
        (Some(other), _) => return refuse(format!("Unknown method: {other}")),
    }
    ignored(session, &options)
}

/// Drops a constraint of a family; ours.
fn delete_check(table: &mut TableSchema, family: &str, options: &mut Options) -> Outcome<()> {
    let Some(check) = options.take("CHECK") else { return refuse("CHECK parameter missing for delete_check method") };
    let name = table.name.clone();
    let Some(family) = table.families.get_mut(family) else { return refuse(format!("{name} has no family {family}")) };
    match family.constraints.remove(&check.to_text()) {
        Some(_) => Ok(()),
        None => refuse(no_check(&name, family, &check.to_text()).message),
    }
}

fn ignored(session: &mut Session<'_>, options: &Options) -> Outcome<()> {
    ignored_as(session, options, ("table", "Unknown argument ignored"))
}

/// What was not understood: HBase's sentence where the shell knows the word at another place; any other is refused, as on
/// every way to set attributes.
pub(super) fn ignored_as(session: &mut Session<'_>, options: &Options, (of, sentence): (&str, &str)) -> Outcome<()> {
    if let Some(unknown) = options.keys().find(|key| !is_constant(key)) {
        return Err(not_an_attribute(of, &unknown.escape_debug().to_string()).into());
    }
    for key in options.keys() {
        session.printer.line(&format!("{sentence}: {key}"))?;
    }
    Ok(())
}

fn put_family(session: &mut Session<'_>, table: &mut TableSchema, name: &str, options: &mut Options) -> Outcome<()> {
    let family = family_of(session, name, options, table.families.get(name))?;
    table.declare(family);
    Ok(())
}

/// The family of a hash; says what of the hash was not understood.
pub(super) fn family_of(
    session: &mut Session<'_>,
    name: &str,
    options: &mut Options,
    known: Option<&FamilySchema>,
) -> Outcome<FamilySchema> {
    let defaults = session.backend()?.catalogue()?.settings.family_attributes();
    let family = schema::family(name, options, known, defaults)?;
    let sentence = format!("Unknown argument ignored for column family {name}");
    ignored_as(session, options, ("column family", &sentence))?;
    Ok(family)
}

fn unset(table: &mut TableSchema, method: &str, name: &Value) -> Outcome<()> {
    let names = match name {
        Value::Array(names) => names.clone(),
        name => vec![name.clone()],
    };
    for name in names.iter().map(Value::to_text) {
        let configured = table.configuration.remove(&name).is_some();
        let attribute = method == "table_att_unset"
            && (table.attributes.remove(&name).is_some() | table.metadata.remove(&name).is_some());
        if !configured && !attribute {
            let what = if method == "table_att_unset" { "attribute" } else { "configuration" };
            return refuse(format!("Could not find {what}: {name}"));
        }
    }
    Ok(())
}

/// `'coprocessor' => 'path|class|priority|arguments'`: the next free number of `coprocessor$N`.
fn set_coprocessors(table: &mut TableSchema, options: &mut Options) {
    let keys: Vec<String> =
        options.keys().filter(|key| key.to_lowercase().contains("coprocessor")).map(str::to_owned).collect();
    for key in keys {
        let Some(value) = options.take(&key) else { continue };
        let numbers = table.attributes.keys().filter_map(|key| key.strip_prefix("coprocessor$")?.parse::<u32>().ok());
        let next = numbers.max().unwrap_or(0).saturating_add(1);
        table.attributes.insert(format!("coprocessor${next}"), value.to_text());
    }
}
