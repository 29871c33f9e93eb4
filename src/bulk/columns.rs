//! The columns that the lines of `csv` and `tsv` have.

use std::collections::BTreeSet;

use crate::backend::Backend;
use crate::model::{Columns, Qualifier, TableName};
use crate::{Error, ErrorKind, Result};

/// Columns that a line has at the most.
const COLUMNS_MAX: usize = 10_000;

/// Those that are asked for by name, else all that the table has; of families that are `wanted`, ascending.
pub fn columns_of(
    backend: &dyn Backend,
    table: &TableName,
    asked: &Columns,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<(String, Qualifier)>> {
    let (mut names, mut open) = (BTreeSet::new(), Vec::new());
    let families = backend.catalogue()?.tables.get(table).map(|schema| schema.families.clone());
    for name in families.into_iter().flatten().map(|(name, _)| name).filter(|name| wanted(name)) {
        match asked.get(&name) {
            None if !asked.is_empty() => {}
            Some(Some(columns)) => names.extend(columns.iter().map(|column| (name.clone(), column.clone()))),
            _ => open.push(name),
        }
    }
    if !open.is_empty() {
        for columns in backend.table_columns(table)?.into_iter().filter(|of| open.contains(&of.family)) {
            let Some(known) = columns.columns else { return Err(too_many_columns(&columns.family)) };
            names.extend(known.into_iter().map(|column| (columns.family.clone(), column.qualifier)));
        }
    }
    Ok(names.into_iter().collect())
}

/// Refuses more columns than a line has.
pub fn check_columns(table: &TableName, columns: usize) -> Result<()> {
    if columns > COLUMNS_MAX { Err(too_many_columns(table.name.as_ref())) } else { Ok(()) }
}

fn too_many_columns(of: &str) -> Error {
    let text = format!(
        "{of} has more than {COLUMNS_MAX} columns, each of which would be a field of each line: take jsonl, or name \
         some columns (.columns in a scan path)"
    );
    Error::new(ErrorKind::Unsupported, text)
}
