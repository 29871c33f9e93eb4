//! create, list, describe, drop, flush, compact.

use std::collections::BTreeMap;

use serde_json::json;

use super::args::{CompactArgs, CreateArgs, DescribeArgs, FlushArgs, ListArgs, TableArgs, UndropArgs};
use super::output::Output;
use super::{Answer, columns};
use crate::backend::CompactionKind;
use crate::daemon::{Absent, open_backend};
use crate::model::{
    Catalogue, CatalogueChange, DroppedThing, FamilyId, FamilyRules, FamilySchema, Origin, TableId, TableName,
    TableSchema, TableState, check_family, file_family_attributes,
};
use crate::{Error, ErrorKind, Result};

pub fn create(args: &CreateArgs) -> Result<Answer> {
    let name = TableName::parse(&args.table)?;
    let mut families = BTreeMap::new();
    for text in &args.families {
        let family = parse_family(text)?;
        if families.insert(family.name.clone(), family).is_some() {
            return Err(Error::new(ErrorKind::IllegalArgument, format!("family {text} is given twice")));
        }
    }
    let schema = TableSchema {
        name,
        id: TableId(0),
        state: TableState::Enabled,
        attributes: BTreeMap::new(),
        metadata: BTreeMap::new(),
        configuration: BTreeMap::new(),
        families,
    };
    open_backend(&args.store, Absent::Make)?.alter(CatalogueChange::CreateTable(schema), Origin::default())?;
    Ok(Answer::Yes)
}

/// `NAME[,ATTRIBUTE=VALUE...]`; what is not given has the defaults for people who use files.
pub fn parse_family(text: &str) -> Result<FamilySchema> {
    let mut parts = text.split(',');
    let name = parts.next().unwrap_or_default();
    check_family(name)?;
    let mut attributes = file_family_attributes();
    for part in parts {
        let (key, value) = assignment(part)?;
        attributes.insert(key.to_owned(), value.to_owned());
    }
    Ok(FamilySchema {
        name: name.to_owned(),
        id: FamilyId(0),
        attributes,
        metadata: BTreeMap::new(),
        configuration: BTreeMap::new(),
        rules: FamilyRules::default(),
    })
}

/// `ATTRIBUTE=VALUE`.
pub fn assignment(text: &str) -> Result<(&str, &str)> {
    text.split_once('=').ok_or_else(|| {
        let text = format!("`{text}` is not ATTRIBUTE=VALUE; a family is given as f1,VERSIONS=3");
        Error::new(ErrorKind::IllegalArgument, text)
    })
}

pub fn undrop(args: &UndropArgs) -> Result<Answer> {
    let table = TableName::parse(&args.table)?;
    let change = CatalogueChange::Undrop { table, family: args.family.clone() };
    open_backend(&args.store, Absent::Refuse)?.alter(change, Origin::default())?;
    Ok(Answer::Yes)
}

fn list_dropped(catalogue: &Catalogue, json: bool) -> Result<Answer> {
    let mut output = Output::new();
    for dropped in &catalogue.dropped {
        let (table, family) = match &dropped.what {
            DroppedThing::Table(table) => (Some(table.name.to_string()), None),
            DroppedThing::Family(id, family) => {
                let table = catalogue.tables.values().find(|table| table.id == *id);
                (table.map(|table| table.name.to_string()), Some(&family.name))
            }
        };
        let (at, until) = (dropped.at.0, dropped.until.map(|until| until.0));
        match json {
            true => output.json(&json!({ "table": table, "family": family, "dropped": at, "until": until }))?,
            false => {
                let name =
                    [table.unwrap_or_default(), family.map(|f| format!(" family {f}")).unwrap_or_default()].concat();
                let until = until.map_or("for ever".to_owned(), |until| format!("until {until}"));
                output.line(&format!("{name}, dropped {at}, kept {until}"))?;
            }
        }
    }
    output.finish()?;
    Ok(if catalogue.dropped.is_empty() { Answer::No } else { Answer::Yes })
}

pub fn list(args: &ListArgs, json: bool) -> Result<Answer> {
    let catalogue = open_backend(&args.store, Absent::Refuse)?.catalogue()?;
    if args.dropped {
        return list_dropped(&catalogue, json);
    }
    let mut output = Output::new();
    for table in catalogue.tables.values() {
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

pub fn describe(args: &DescribeArgs, json: bool) -> Result<Answer> {
    let name = TableName::parse(&args.table)?;
    let backend = open_backend(&args.store, Absent::Refuse)?;
    let catalogue = backend.catalogue()?;
    let table = catalogue.tables.get(&name).ok_or_else(|| no_table(&name))?;
    if args.columns {
        return columns::print(backend.as_ref(), &name, json);
    }
    let mut output = Output::new();
    if json {
        let families: BTreeMap<_, _> = table.families.values().map(|f| (&f.name, &f.attributes)).collect();
        output.json(&json!({
            "namespace": name.namespace,
            "table": name.name,
            "enabled": table.state == TableState::Enabled,
            "attributes": table.attributes,
            "families": families,
        }))?;
    } else {
        let state = if table.state == TableState::Enabled { "enabled" } else { "disabled" };
        output.line(&format!("table {name} ({state}){}", attributes(&table.attributes)))?;
        for family in table.families.values() {
            output.line(&format!("  family {}{}", family.name, attributes(&family.attributes)))?;
        }
    }
    output.finish()?;
    Ok(Answer::Yes)
}

fn attributes(map: &BTreeMap<String, String>) -> String {
    map.iter().map(|(key, value)| format!(" {key}={value}")).collect()
}

pub fn no_table(name: &TableName) -> Error {
    Error::new(ErrorKind::NoSuchTable, format!("there is no table {name}; `cellfs list` shows what there is"))
}

pub fn drop(args: &TableArgs) -> Result<Answer> {
    let name = TableName::parse(&args.table)?;
    open_backend(&args.store, Absent::Refuse)?.alter(CatalogueChange::DropTable { name }, Origin::default())?;
    Ok(Answer::Yes)
}

pub fn flush(args: &FlushArgs) -> Result<Answer> {
    let table = args.table.as_deref().map(TableName::parse).transpose()?;
    open_backend(&args.store, Absent::Refuse)?.flush(table.as_ref())?;
    Ok(Answer::Yes)
}

pub fn compact(args: &CompactArgs) -> Result<Answer> {
    let table = TableName::parse(&args.table)?;
    let kind = if args.major { CompactionKind::Major } else { CompactionKind::Minor };
    open_backend(&args.store, Absent::Refuse)?.compact(&table, args.family.as_deref(), kind)?;
    Ok(Answer::Yes)
}
