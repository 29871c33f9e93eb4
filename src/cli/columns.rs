//! describe --columns.

use serde_json::json;

use super::Answer;
use super::output::{Output, json_bytes};
use crate::Result;
use crate::backend::{Backend, ColumnNumbers};
use crate::model::{TableName, to_string_binary};

/// Prints what is stored under each qualifier of a table.
pub fn print(backend: &dyn Backend, table: &TableName, json: bool) -> Result<Answer> {
    let mut output = Output::new();
    let families = backend.table_columns(table)?;
    if !json {
        output.line(&line("COLUMN", ["CELLS", "BYTES", "OLDEST", "NEWEST"].map(str::to_owned)))?;
    }
    for family in &families {
        let Some(columns) = &family.columns else {
            uncounted(&mut output, &family.family, json)?;
            continue;
        };
        for column in columns {
            let ColumnNumbers { qualifier, cells, bytes, oldest, newest } = column;
            if json {
                output.json(&json!({
                    "family": family.family,
                    "qualifier": json_bytes(qualifier),
                    "cells": cells,
                    "bytes": bytes,
                    "oldest": oldest.0,
                    "newest": newest.0,
                }))?;
            } else {
                let name = format!("{}:{}", family.family, to_string_binary(qualifier));
                let numbers = [cells.to_string(), bytes.to_string(), oldest.to_string(), newest.to_string()];
                output.line(&line(&name, numbers))?;
            }
        }
    }
    output.finish()?;
    Ok(Answer::Yes)
}

fn uncounted(output: &mut Output, family: &str, json: bool) -> Result<()> {
    match json {
        true => output.json(&json!({ "family": family, "uncounted": "more than 10,000 qualifiers" })),
        false => output.line(&format!("{family}: more than 10,000 qualifiers, not counted one by one")),
    }
}

fn line(name: &str, [cells, bytes, oldest, newest]: [String; 4]) -> String {
    format!("{name:<30} {cells:>12} {bytes:>14} {oldest:>14} {newest:>14}")
}
