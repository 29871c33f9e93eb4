//! create-index, drop-index, and the questions of scan --by.

use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use serde_json::json;

use super::Answer;
use super::args::{ByArgs, CreateIndexArgs, DropIndexArgs};
use super::given::{self, open};
use super::progress::Progress;
use crate::backend::Backend;
use crate::model::{By, ColumnSlice, IndexSchema, IndexState, Origin, Scan, TableName, after_prefix, to_bytes_binary};
use crate::tree::schema::index as schema_index;
use crate::{Error, ErrorKind, Result};

/// How often the store is asked how far it is.
const LOOK: Duration = Duration::from_millis(20);

pub fn create_index(args: &CreateIndexArgs) -> Result<Answer> {
    let mut index = IndexSchema::new(args.name.as_str());
    let unique = args.unique.then_some("true");
    let given = [
        ("columns", Some(args.columns.as_str())),
        ("include", args.include.as_deref()),
        ("unique", unique),
        ("where", args.filter.as_deref()),
    ];
    for (name, text) in given {
        index.set_attribute(name, text)?;
    }
    if index.columns.is_empty() {
        return Err(Error::new(ErrorKind::IllegalArgument, "an index has a column: --columns FAMILY:QUALIFIER"));
    }
    index.check()?;
    let (backend, table) = open(&args.store, &args.table)?;
    let backend = backend.as_ref();
    let before = backend.status()?.last_error;
    backend.alter_from(Origin::default(), &|catalogue| {
        let families = catalogue.tables.get(&table).map(|schema| &schema.families);
        let lacking = index.families().find(|family| families.is_some_and(|all| !all.contains_key(*family)));
        if let Some(family) = lacking {
            let text = format!("table {table} has no family {family}");
            return Err(Error::new(ErrorKind::NoSuchFamily, text));
        }
        schema_index::add(catalogue, &table, index.clone())
    })?;
    match complete(backend, (&table, &args.name), before)? {
        IndexState::Twofold(text) => {
            backend.alter_from(Origin::default(), &|catalogue| schema_index::remove(catalogue, &table, &args.name))?;
            let text = format!("index {} cannot be unique: {text}. Mend that, or make it without --unique", args.name);
            Err(Error::new(ErrorKind::AlreadyExists, text))
        }
        IndexState::Building | IndexState::Complete => Ok(Answer::Yes),
    }
}

/// What the index is once it is built; `before`: what had failed before that.
fn complete(backend: &dyn Backend, (table, name): (&TableName, &str), before: Option<String>) -> Result<IndexState> {
    let progress = Progress::towards(100, "building");
    loop {
        let catalogue = backend.catalogue()?;
        let index = catalogue.tables.get(table).and_then(|table| table.indexes.get(name));
        let gone = || Error::new(ErrorKind::NotFound, format!("index {name} was dropped while it was built"));
        let index = index.ok_or_else(gone)?;
        if index.is_complete() {
            return Ok(index.state.clone());
        }
        let status = backend.status()?;
        let failed = status.last_error.filter(|text| text.contains(&format!("build index {name} of")));
        if let Some(text) = status.poisoned.or(failed.filter(|text| before.as_ref() != Some(text))) {
            return Err(Error::new(ErrorKind::Io, format!("index {name} is declared and not complete: {text}")));
        }
        let percent = status.activity.rsplit_once("building index").and_then(|(_, rest)| percent_of(rest));
        progress.set(percent.unwrap_or(0));
        std::thread::sleep(LOOK);
    }
}

fn percent_of(text: &str) -> Option<u64> {
    text.split_once(" %")?.0.rsplit(' ').next()?.parse().ok()
}

/// How far an index is, in words.
pub fn state(index: &IndexSchema) -> String {
    match &index.state {
        _ if index.columns.is_empty() => "without columns".to_owned(),
        IndexState::Building => "building".to_owned(),
        IndexState::Complete => "complete".to_owned(),
        IndexState::Twofold(text) => format!("not unique: {text}"),
    }
}

/// An index as JSON.
pub fn described(index: &IndexSchema) -> serde_json::Value {
    json!({ "name": index.name, "state": state(index), "attributes": index.attributes() })
}

pub fn drop_index(args: &DropIndexArgs) -> Result<Answer> {
    let (backend, table) = open(&args.store, &args.table)?;
    let remove = |catalogue: &crate::model::Catalogue| schema_index::remove(catalogue, &table, &args.name);
    backend.alter_from(Origin::default(), &remove)?;
    Ok(Answer::Yes)
}

/// Has a scan ask an index, if one is named.
pub fn ask(backend: &dyn Backend, scan: &mut Scan, args: &ByArgs) -> Result<()> {
    let Some(by) = &args.by else { return Ok(()) };
    let text = by.as_bytes();
    let (name, values) = match text.iter().position(|byte| *byte == b'=') {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let index = String::from_utf8_lossy(name).into_owned();
    let bytes = |given: &Option<std::ffi::OsString>| given.as_deref().map(given::bytes);
    let (prefix, from, before) = (bytes(&args.value_prefix), bytes(&args.value_from), bytes(&args.value_to));
    let has_range = prefix.is_some() || from.is_some() || before.is_some();
    if values.is_some() && has_range {
        let text =
            "--by INDEX=VALUE asks for one value: with --value-from, --value-to and --value-prefix write --by INDEX";
        return Err(Error::new(ErrorKind::IllegalArgument, text));
    }
    let equals = values.map(|values| values.split(|byte| *byte == b',').map(to_bytes_binary).collect());
    let within = ColumnSlice { from: from.unwrap_or_default(), before: before.unwrap_or_default() };
    let prefixed = prefix.map(|prefix| ColumnSlice { before: after_prefix(&prefix), from: prefix });
    let within = prefixed.map_or(within.clone(), |prefixed| prefixed.and(&within));
    let by = By { index, equals: equals.unwrap_or_default(), within };
    if let Some(schema) = backend.catalogue()?.tables.get(&scan.table) {
        schema.index_asked(&by)?.narrow(schema, scan);
    }
    scan.by = Some(by);
    Ok(())
}
