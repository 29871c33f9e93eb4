//! alter, truncate, incr, append.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::json;

use super::Answer;
use super::args::{AlterArgs, AppendArgs, DropArgs, IncrArgs};
use super::cells::{condition, full_column, mutated, value_argument};
use super::given::{no_table, open};
use super::output::Output;
use super::tables::{assignment, confirmed, new_family, parse_family};
use crate::model::declared::attributes::{table_attribute, table_effect, without_effect, without_effect_in};
use crate::model::{
    Append, Catalogue, CatalogueChange, ColumnDelta, FamilySchema, FileChange, Increment, IndexSchema,
    KEEP_VERSIONS_FOR, Mutation, Origin, Settings, TableName, TableSchema, Time, TimeRange, give_attributes,
    has_new_version_behavior,
};
use crate::{Error, ErrorKind, Result};

/// Bytes that a command appends in one step, which it holds.
const APPEND_MAX: u64 = 64 << 20;

pub fn alter(args: &AlterArgs) -> Result<Answer> {
    if [&args.families, &args.set, &args.unset, &args.delete].iter().all(|changes| changes.is_empty()) {
        let text = "nothing is to be changed: give families (f1,VERSIONS=3), --set, --unset or --delete";
        return Err(Error::new(ErrorKind::IllegalArgument, text));
    }
    let (backend, name) = open(&args.store, &args.table)?;
    let said = RefCell::new(Vec::new());
    backend.alter_from(Origin::default(), &|catalogue| {
        let (table, sentences) = altered(args, catalogue, &name)?;
        said.replace(sentences);
        Ok(CatalogueChange::AlterTable(table))
    })?;
    // All are about what only a store keeps or has: attributes without effect, KEEP_VERSIONS_FOR, indexes.
    if !backend.obeys_all_attributes() {
        said.borrow().iter().for_each(|sentence| super::complain(sentence));
    }
    Ok(Answer::Yes)
}

/// The table as it is to be, and what is to be said of it.
fn altered(args: &AlterArgs, catalogue: &Catalogue, name: &TableName) -> Result<(TableSchema, Vec<String>)> {
    let mut table = catalogue.tables.get(name).cloned().ok_or_else(|| no_table(name))?;
    let mut sentences = Vec::new();
    for text in &args.families {
        sentences.extend(alter_family(&mut table, text, &catalogue.settings)?);
    }
    for text in &args.set {
        let (key, value) = assignment(text)?;
        match is_attribute(key) {
            true => table.attributes.insert(key.to_owned(), table_attribute(key, value)?),
            false => table.configuration.insert(key.to_owned(), value.to_owned()),
        };
        sentences.extend(without_effect(table_effect(key), key, value));
    }
    for key in &args.unset {
        if table.attributes.remove(key).is_none() && table.configuration.remove(key).is_none() {
            return Err(Error::new(ErrorKind::NotFound, format!("table {name} does not have {key} set")));
        }
    }
    if let Some(family) = args.delete.iter().find(|family| !table.families.contains_key(*family)) {
        return Err(Error::new(ErrorKind::NoSuchFamily, format!("table {name} has no family {family}")));
    }
    sentences.extend(args.delete.iter().flat_map(|family| idle_indexes(&table, family)));
    table.families.retain(|family, _| !args.delete.contains(family));
    Ok((table, sentences))
}

/// What is to be said of the indexes that a family which goes has columns in, or is included by.
fn idle_indexes(table: &TableSchema, family: &str) -> Vec<String> {
    let name = &table.name;
    let told = |IndexSchema { name: index, columns, include, .. }: &IndexSchema| {
        if columns.iter().any(|column| column.family == family) {
            return Some(format!(
                "index {index} is of family {family} and finds nothing without it: `cellfs undrop STORE {name} {family}` \
                 brings both back, `cellfs drop-index STORE {name} {index}` drops the index"
            ));
        }
        include.contains_key(family).then(|| {
            format!(
                "index {index} includes family {family} and shows nothing of it any more: `cellfs undrop STORE {name} \
                 {family}` brings it back"
            )
        })
    };
    table.indexes.values().filter_map(told).collect()
}

fn too_much() -> Error {
    let text = format!("append takes {APPEND_MAX} bytes at once; append more in the mount: cat FILE >> PATH");
    Error::new(ErrorKind::ValueTooLarge, text)
}

/// Whether a key is an attribute's name and no setting's, which has dots or small letters.
fn is_attribute(key: &str) -> bool {
    table_effect(key).is_some() || key.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// A family that is there gets the attributes that are given, a new one is made as by `create`. What is to be said of
/// attributes without effect, of those that are given.
fn alter_family(table: &mut TableSchema, text: &str, settings: &Settings) -> Result<Vec<String>> {
    let (name, attributes) = parse_family(text)?;
    let parts: Vec<_> = text.split(',').skip(1).map(assignment).collect::<Result<_>>()?;
    let mut said = Vec::new();
    match table.families.get_mut(&name) {
        None => table.declare(new_family(settings, &name, attributes)),
        Some(family) => {
            let before = family.attributes.clone();
            give_attributes(&mut family.attributes, attributes);
            said.extend(keeps_less(family, &before));
        }
    }
    let Some(family) = table.families.get(&name) else { return Ok(said) };
    said.extend(parts.iter().filter_map(|(key, value)| without_effect_in(&family.attributes, key, value)));
    Ok(said)
}

/// What is to be said where KEEP_VERSIONS_FOR has gone with what was given.
fn keeps_less(family: &FamilySchema, before: &BTreeMap<String, String>) -> Option<String> {
    let seconds = before.get(KEEP_VERSIONS_FOR).filter(|_| !family.attributes.contains_key(KEEP_VERSIONS_FOR))?;
    let name = &family.name;
    let gone =
        format!("family {name} keeps no more than its VERSIONS now: {KEEP_VERSIONS_FOR} ({seconds} s) goes with");
    Some(match has_new_version_behavior(&family.attributes) {
        Some(true) => format!(
            "{gone} fewer of them; to keep it, give it as well: {name},VERSIONS=N,{KEEP_VERSIONS_FOR}={seconds}"
        ),
        _ => format!("{gone} NEW_VERSION_BEHAVIOR, without which it has no effect"),
    })
}

/// Into the trash, as a dropped table of that name; `--now` for good.
pub fn truncate(args: &DropArgs) -> Result<Answer> {
    let (backend, name) = open(&args.store, &args.table)?;
    if args.now && !confirmed(&format!("drop all cells of {name} for good")) {
        return Ok(Answer::No);
    }
    if args.now {
        backend.alter(CatalogueChange::TruncateTable { name: name.clone() }, Origin::default())?;
        backend.alter(CatalogueChange::ForgetTable { name }, Origin::default())?;
    } else {
        backend.alter(CatalogueChange::SetCellsAside { name }, Origin::default())?;
    }
    Ok(Answer::Yes)
}

pub fn incr(args: &IncrArgs, as_json: bool) -> Result<Answer> {
    let (backend, table) = open(&args.store, &args.table)?;
    let row = args.key.row(backend.as_ref(), &table, &args.row)?;
    let (family, qualifier) = full_column(&args.column)?;
    let condition = condition(&args.condition, Some((&family, &qualifier)))?;
    let columns = vec![ColumnDelta { family, qualifier, delta: args.amount }];
    let (file, time_range) = (FileChange::default(), TimeRange::ALL);
    let increment = Increment { columns, time: Time::AfterNewest, ttl_ms: args.ttl, file, time_range };
    let done = mutated(backend.as_ref(), table, row, Mutation::Increment(increment), condition)?;
    let counter = done.results.first().and_then(|cell| cell.value.as_slice().try_into().ok()).map(i64::from_be_bytes);
    let mut output = Output::new();
    if let Some(value) = counter {
        if as_json { output.json(&json!({ "value": value }))? } else { output.line(&value.to_string())? }
    }
    output.finish()?;
    Ok(if done.applied { Answer::Yes } else { Answer::No })
}

pub fn append(args: &AppendArgs) -> Result<Answer> {
    let (backend, table) = open(&args.store, &args.table)?;
    let row = args.key.row(backend.as_ref(), &table, &args.row)?;
    let (family, qualifier) = full_column(&args.column)?;
    let condition = condition(&args.condition, Some((&family, &qualifier)))?;
    let limit = backend.value_limit().min(APPEND_MAX);
    let delta = value_argument(&args.value, &family, &qualifier, limit).map_err(|e| match e.kind {
        ErrorKind::ValueTooLarge if limit == APPEND_MAX => too_much(),
        _ => e,
    })?;
    let columns = vec![ColumnDelta { family, qualifier, delta }];
    let append = Append { ttl_ms: args.ttl, ..Append::to_newest(columns) };
    let done = mutated(backend.as_ref(), table, row, Mutation::Append(append), condition)?;
    Ok(if done.applied { Answer::Yes } else { Answer::No })
}
