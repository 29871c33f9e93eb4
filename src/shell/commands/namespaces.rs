//! Namespaces.

use super::Command;
use super::tables::java_regex;
use crate::model::{CatalogueChange, NamespaceSchema, Origin};
use crate::shell::arguments::{Arguments, Options};
use crate::shell::eval::failure::{Failure, Outcome, refuse};
use crate::shell::eval::value::Value;
use crate::shell::session::Session;
use crate::{Error, ErrorKind};

pub(super) fn find(name: &str) -> Option<Command> {
    Some(match name {
        "create_namespace" => create,
        "drop_namespace" => drop,
        "alter_namespace" => alter,
        "describe_namespace" => describe,
        "list_namespace" => list,
        "list_namespace_tables" => list_tables,
        _ => return None,
    })
}

fn known(session: &Session<'_>, name: &str) -> Outcome<NamespaceSchema> {
    let catalogue = session.backend()?.catalogue()?;
    catalogue.namespaces.get(name).cloned().ok_or_else(|| Failure::Store(missing(name)))
}

fn missing(name: &str) -> Error {
    Error::new(ErrorKind::NoSuchNamespace, format!("namespace {name} does not exist"))
}

fn hashes(arguments: &Arguments) -> Outcome<Vec<Options>> {
    let hash = |value: Value| match value {
        Value::Hash(pairs) => Ok(Options::new(&pairs)),
        other => refuse(format!("{} of {} is not of Hash type", other.class(), other.inspect())),
    };
    arguments.flat_from(1).into_iter().map(hash).collect()
}

fn change(session: &Session<'_>, change: CatalogueChange) -> Outcome<Value> {
    session.backend()?.alter(change, Origin::default())?;
    Ok(Value::Nil)
}

fn create(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let properties = hashes(arguments)?.iter().flat_map(Options::texts).collect();
    let name = arguments.text(0);
    change(session, CatalogueChange::CreateNamespace(NamespaceSchema { name, properties }))
}

fn drop(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    change(session, CatalogueChange::DropNamespace { name: arguments.text(0) })
}

/// What is set, or with `None` unset, of a namespace.
type Properties = Vec<(String, Option<String>)>;

fn changes(arguments: &Arguments) -> Outcome<Properties> {
    let mut changes = Properties::new();
    for mut options in hashes(arguments)? {
        let method = options.take("METHOD").map(|method| method.to_text()).unwrap_or_default();
        match method.as_str() {
            "set" => changes.extend(options.texts().map(|(name, value)| (name, Some(value)))),
            "unset" => changes.push((options.take("NAME").unwrap_or(Value::Nil).to_text(), None)),
            other => return refuse(format!("Unknown method {other}")),
        }
    }
    Ok(changes)
}

fn alter(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let (name, changes) = (arguments.text(0), changes(arguments)?);
    session.backend()?.alter_from(Origin::default(), &|catalogue| {
        let mut namespace = catalogue.namespaces.get(&name).cloned().ok_or_else(|| missing(&name))?;
        for (name, value) in &changes {
            match value {
                Some(value) => namespace.properties.insert(name.clone(), value.clone()),
                None => namespace.properties.remove(name),
            };
        }
        Ok(CatalogueChange::AlterNamespace(namespace))
    })?;
    Ok(Value::Nil)
}

fn describe(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    let namespace = known(session, &arguments.text(0))?;
    let properties: String = namespace.properties.iter().map(|(key, value)| format!(", {key} => '{value}'")).collect();
    session.printer.line(&format!("DESCRIPTION\n{{NAME => '{}'{properties}}}\nQuota is disabled", namespace.name))?;
    Ok(Value::Nil)
}

fn list(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    session.printer.line("NAMESPACE")?;
    let regex = if arguments.count() == 0 { ".*".to_owned() } else { arguments.text(0) };
    let regex = java_regex(&regex)?;
    let catalogue = session.backend()?.catalogue()?;
    let mut count = 0;
    for name in catalogue.namespaces.keys().filter(|name| regex.is_match(name)) {
        session.printer.line(name)?;
        count += 1;
    }
    session.printer.rows(count)?;
    Ok(Value::Nil)
}

fn list_tables(session: &mut Session<'_>, arguments: &Arguments) -> Outcome<Value> {
    session.printer.line("TABLE")?;
    let namespace = known(session, &arguments.text(0))?.name;
    let catalogue = session.backend()?.catalogue()?;
    let tables = catalogue.tables.keys().filter(|table| *table.namespace == *namespace);
    let names: Vec<String> = tables.map(|table| table.name.to_string()).collect();
    for name in &names {
        session.printer.line(name)?;
    }
    session.printer.rows(names.len() as u64)?;
    Ok(Value::Array(names.iter().map(Value::text).collect()))
}
