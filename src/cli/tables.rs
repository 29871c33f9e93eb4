//! create, list, describe, drop, undrop, flush, compact.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::args::{CompactArgs, CreateArgs, DescribeArgs, DropArgs, FlushArgs, ListArgs, UndropArgs};
use super::given::{self, no_table};
use super::output::Output;
use super::progress::while_compacting;
use super::{Answer, columns, constraint, index};
use crate::backend::{Backend, CompactionKind};
use crate::daemon::find::serving as sockets;
use crate::daemon::{Absent, open_backend};
use crate::error::printable;
use crate::model::declared::attributes::{all_without_effect, family_defaults, given_family_attribute};
use crate::model::{
    Catalogue, CatalogueChange, ConstraintSchema, DroppedThing, FamilySchema, Origin, Settings, TableId, TableName,
    TableSchema, TableState, Timestamp, check_family, give_attributes,
};
use crate::{Error, ErrorKind, Result};

pub fn create(args: &CreateArgs) -> Result<Answer> {
    let name = given::table(&args.table)?;
    let mut families = BTreeMap::new();
    for text in &args.families {
        let (family, attributes) = parse_family(text)?;
        if families.insert(family, attributes).is_some() {
            return Err(Error::new(ErrorKind::IllegalArgument, format!("family {text} is given twice")));
        }
    }
    // Order: what is refused makes no store.
    let absent = if args.make { Absent::Make } else { Absent::Refuse };
    let backend = open_backend(&args.store, absent)?;
    let settings = &backend.catalogue()?.settings;
    let families = families.into_iter().map(|(family, attributes)| new_family(settings, &family, attributes));
    let schema = TableSchema::new(name, families);
    let sentences = all_without_effect(&schema);
    backend.alter(CatalogueChange::CreateTable(schema), Origin::default())?;
    sentences.iter().for_each(|sentence| super::complain(sentence));
    Ok(Answer::Yes)
}

/// A family with these attributes; what is not given has the defaults for people who use files.
pub fn new_family(settings: &Settings, name: &str, given: BTreeMap<String, String>) -> FamilySchema {
    let mut attributes = settings.file_family_attributes();
    give_attributes(&mut attributes, given);
    FamilySchema::new(name, attributes)
}

/// `NAME[,ATTRIBUTE=VALUE...]`.
pub fn parse_family(text: &str) -> Result<(String, BTreeMap<String, String>)> {
    if text.starts_with('{') {
        let text =
            "a family is given as f1,VERSIONS=3,TTL=60; {NAME => 'f1', VERSIONS => 3} is understood by `cellfs shell`";
        return Err(Error::new(ErrorKind::IllegalArgument, text));
    }
    let mut parts = text.split(',');
    let name = parts.next().unwrap_or_default();
    check_family(name)?;
    if name.split_once('=').is_some_and(|(key, _)| family_defaults().any(|(known, _)| known == key)) {
        let text = format!("`{name}` is an attribute without its family; a family is given as f1,VERSIONS=3");
        return Err(Error::new(ErrorKind::IllegalArgument, text));
    }
    let mut attributes = BTreeMap::new();
    for part in parts {
        let (key, value) = assignment(part)?;
        attributes.insert(key.to_owned(), given_family_attribute(key, value)?);
    }
    Ok((name.to_owned(), attributes))
}

/// `ATTRIBUTE=VALUE`.
pub fn assignment(text: &str) -> Result<(&str, &str)> {
    text.split_once('=').ok_or_else(|| {
        let text = format!("`{text}` is not ATTRIBUTE=VALUE; a family is given as f1,VERSIONS=3");
        Error::new(ErrorKind::IllegalArgument, text)
    })
}

pub fn list(args: &ListArgs, json: bool) -> Result<Answer> {
    if args.dropped {
        return list_dropped(args, json);
    }
    let catalogue = open_backend(&args.store, Absent::Refuse)?.catalogue()?;
    let mut output = Output::new();
    for table in catalogue.user_tables() {
        let families: Vec<&String> = table.families.keys().collect();
        match json {
            true => output.json(&json!({
                "namespace": table.name.namespace,
                "table": table.name.name,
                "enabled": table.state == TableState::Enabled,
                "families": families,
            }))?,
            false => output.line(&table.name.to_string())?,
        }
    }
    output.finish()?;
    Ok(Answer::Yes)
}

/// The latest last: that is what `undrop` brings back of several of one name.
fn list_dropped(args: &ListArgs, json: bool) -> Result<Answer> {
    let catalogue = open_backend(&args.store, Absent::Refuse)?.catalogue()?;
    let mut output = Output::new();
    for dropped in &catalogue.dropped {
        let (table, family) = match &dropped.what {
            DroppedThing::Table(table) => (Some(&table.name), None),
            DroppedThing::Family(of, family) => (table_of(&catalogue, *of), Some(&family.name)),
        };
        let Some(table) = table else { continue };
        let day = |time: Timestamp| {
            jiff::Timestamp::from_millisecond(time.0).map_or_else(|_| time.to_string(), |t| t.to_string())
        };
        if json {
            output.json(&json!({
                "namespace": table.namespace,
                "table": table.name,
                "family": family,
                "dropped": dropped.at.0,
                "until": dropped.until.map(|until| until.0),
            }))?;
            continue;
        }
        let what = family.map_or_else(|| format!("table {table}"), |family| format!("family {family} of {table}"));
        let until =
            dropped.until.map_or_else(|| "until it is dropped".to_owned(), |until| format!("until {}", day(until)));
        output.line(&format!("{what}, dropped {}, kept {until}", day(dropped.at)))?;
    }
    output.finish()?;
    Ok(Answer::Yes)
}

/// The table of an id, present or dropped.
fn table_of(catalogue: &Catalogue, id: TableId) -> Option<&TableName> {
    let dropped = catalogue.dropped.iter().filter_map(|dropped| match &dropped.what {
        DroppedThing::Table(table) => Some(table),
        DroppedThing::Family(..) => None,
    });
    catalogue.tables.values().chain(dropped).find(|table| table.id == id).map(|table| &table.name)
}

pub fn undrop(args: &UndropArgs) -> Result<Answer> {
    let (table, family) = (given::table(&args.table)?, args.family.clone());
    let change = CatalogueChange::Undrop { table, family };
    open_backend(&args.store, Absent::Refuse)?.alter(change, Origin::default())?;
    Ok(Answer::Yes)
}

pub fn describe(args: &DescribeArgs, json: bool) -> Result<Answer> {
    let name = given::table(&args.table)?;
    let backend = open_backend(&args.store, Absent::Refuse)?;
    let catalogue = backend.catalogue()?;
    let table = catalogue.tables.get(&name).ok_or_else(|| no_table(&name))?;
    if args.columns {
        return columns::print(backend.as_ref(), &name, json);
    }
    let mut output = Output::new();
    if json {
        let families: BTreeMap<_, _> = table.families.values().map(|f| (&f.name, family_json(f))).collect();
        output.json(&json!({
            "namespace": name.namespace,
            "table": name.name,
            "enabled": table.state == TableState::Enabled,
            "attributes": table.attributes,
            "metadata": table.metadata,
            "configuration": table.configuration,
            "families": families,
            "checks": checks(table).map(constraint::described).collect::<Vec<_>>(),
            "indexes": table.indexes.values().map(index::described).collect::<Vec<_>>(),
        }))?;
    } else {
        let state = if table.state == TableState::Enabled { "enabled" } else { "disabled" };
        let set = [&table.attributes, &table.metadata, &table.configuration].map(attributes).concat();
        output.line(&format!("table {name} ({state}){set}"))?;
        for family in table.families.values() {
            let set = [&family.attributes, &family.metadata, &family.configuration].map(attributes).concat();
            output.line(&format!("  family {}{set}", family.name))?;
        }
        for (family, of) in checks(table) {
            output.line(&format!("  check {} of {}{}", of.name, family.name, attributes(of.attributes())))?;
        }
        for of in table.indexes.values() {
            output.line(&format!("  index {} ({}){}", of.name, index::state(of), attributes(&of.attributes())))?;
        }
    }
    output.finish()?;
    Ok(Answer::Yes)
}

/// The constraints of all families.
fn checks(table: &TableSchema) -> impl Iterator<Item = (&FamilySchema, &ConstraintSchema)> {
    table.families.values().flat_map(|family| family.constraints.values().map(move |of| (family, of)))
}

/// Its attributes, and what else was set of it under the names that HBase has for that.
fn family_json(family: &FamilySchema) -> Json {
    let mut object = json!(family.attributes);
    for (name, map) in [("METADATA", &family.metadata), ("CONFIGURATION", &family.configuration)] {
        if !map.is_empty() {
            object[name] = json!(map);
        }
    }
    object
}

/// Keys and values are what somebody has written.
fn attributes(map: &BTreeMap<String, String>) -> String {
    map.iter().map(|(key, value)| printable(&format!(" {key}={value}"))).collect()
}

/// Into the trash, from which undrop brings it back; `--now` for good.
pub fn drop(args: &DropArgs) -> Result<Answer> {
    let name = given::table(&args.table)?;
    if args.now && !confirmed(&format!("drop {name} for good")) {
        return Ok(Answer::No);
    }
    let backend = open_backend(&args.store, Absent::Refuse)?;
    if args.now {
        backend.alter(CatalogueChange::DropTable { name: name.clone() }, Origin::default())?;
        backend.alter(CatalogueChange::ForgetTable { name }, Origin::default())?;
    } else {
        backend.alter(CatalogueChange::SetTableAside { name }, Origin::default())?;
    }
    Ok(Answer::Yes)
}

/// Asks a person; a program has decided.
pub(super) fn confirmed(what: &str) -> bool {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return true;
    }
    eprint!("{what}? [y/N] ");
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

pub fn flush(args: &FlushArgs) -> Result<Answer> {
    let table = args.table.as_deref().map(given::table).transpose()?;
    open_backend(&args.store, Absent::Refuse)?.flush(table.as_ref())?;
    Ok(Answer::Yes)
}

pub fn compact(args: &CompactArgs) -> Result<Answer> {
    let table = given::table(&args.table)?;
    let kind = if args.major { CompactionKind::Major } else { CompactionKind::Minor };
    let backend = open_backend(&args.store, Absent::Refuse)?;
    // What is in memory holds the segments that it would be replayed from.
    backend.flush(Some(&table))?;
    let compact = || backend.compact(&table, args.family.as_deref(), kind);
    // A connection does one thing at a time: another one watches.
    let watch = match sockets::serving(&args.store) {
        Ok(Some(client)) => Arc::new(client) as Arc<dyn Backend>,
        _ => Arc::clone(&backend),
    };
    while_compacting(watch, compact)?;
    Ok(Answer::Yes)
}
