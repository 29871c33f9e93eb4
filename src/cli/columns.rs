//! describe --columns.

use serde_json::json;

use super::Answer;
use super::output::{Output, json_bytes};
use crate::Result;
use crate::backend::{Backend, COLUMNS_PAGE, ColumnNumbers, ColumnsPage};
use crate::model::{TableName, to_string_binary};

/// Prints what is stored under each qualifier of a table.
pub fn print(backend: &dyn Backend, table: &TableName, json: bool) -> Result<Answer> {
    let mut output = Output::new();
    let families = backend.table_columns(table)?;
    if !json {
        output.line(&line("COLUMN", ["CELLS", "BYTES", "OLDEST", "NEWEST"].map(str::to_owned)))?;
    }
    for family in &families {
        match &family.columns {
            Some(columns) => columns.iter().try_for_each(|column| one(&mut output, &family.family, column, json))?,
            None => {
                pages(backend, table, &family.family, &mut |column| one(&mut output, &family.family, column, json))?
            }
        }
    }
    output.finish()?;
    Ok(Answer::Yes)
}

/// Qualifiers of a family that are too many to be counted beforehand.
fn pages(
    backend: &dyn Backend,
    table: &TableName,
    family: &str,
    each: &mut dyn FnMut(&ColumnNumbers) -> Result<()>,
) -> Result<()> {
    let (table, family, limit) = (table.clone(), family.to_owned(), COLUMNS_PAGE);
    let mut page = ColumnsPage { table, family, after: None, limit };
    loop {
        let columns = backend.columns_page(&page)?;
        columns.iter().try_for_each(&mut *each)?;
        match columns.last() {
            Some(last) if columns.len() == limit => page.after = Some(last.qualifier.clone()),
            _ => return Ok(()),
        }
    }
}

fn one(output: &mut Output, family: &str, column: &ColumnNumbers, json: bool) -> Result<()> {
    let ColumnNumbers { qualifier, cells, bytes, oldest, newest } = column;
    if json {
        return output.json(&json!({
            "family": family,
            "qualifier": json_bytes(qualifier),
            "cells": cells,
            "bytes": bytes,
            "oldest": oldest.0,
            "newest": newest.0,
        }));
    }
    let name = format!("{family}:{}", to_string_binary(qualifier));
    let numbers = [cells.to_string(), bytes.to_string(), oldest.to_string(), newest.to_string()];
    output.line(&line(&name, numbers))
}

fn line(name: &str, [cells, bytes, oldest, newest]: [String; 4]) -> String {
    format!("{name:<30} {cells:>12} {bytes:>14} {oldest:>14} {newest:>14}")
}
