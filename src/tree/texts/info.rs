//! `TABLE/.info/`: what can be said about a table, each noun a small text made when it is asked for.

use std::fmt::Write;
use std::sync::Arc;

use super::{complete, qualifiers};
use crate::backend::{Backend, FamilyNumbers, RowListing};
use crate::model::declared::describe;
use crate::model::{TableName, TimeRange};
use crate::tree::found::{Facts, absent, text};
use crate::tree::names::escape::{Level, shown};
use crate::tree::place::{Place, TableNoun};
use crate::{ErrorKind, Result};

/// Rows that are counted one by one before their number is estimated.
const ROWS_COUNTED: usize = 10_000;

/// Names and nouns of the directory, ascending.
pub const NOUNS: [(&str, TableNoun); 8] = [
    ("complete", TableNoun::Complete),
    ("describe", TableNoun::Describe),
    ("families", TableNoun::Families),
    ("qualifiers", TableNoun::Qualifiers),
    ("regions", TableNoun::Regions),
    ("rows", TableNoun::Rows),
    ("size", TableNoun::Size),
    ("stats", TableNoun::Stats),
];

/// What a name in the directory stands for.
pub fn target(table: &Arc<TableName>, name: &[u8]) -> Result<Place> {
    let noun = NOUNS.iter().find(|(known, _)| known.as_bytes() == name);
    noun.map(|(_, noun)| Place::TableInfo(Arc::clone(table), *noun)).ok_or_else(|| absent(name))
}

/// The name of a noun's file, or of the directory.
pub fn name_of(noun: TableNoun) -> &'static str {
    NOUNS.iter().find(|(_, known)| *known == noun).map_or(".info", |(name, _)| name)
}

/// What is there; `None` without such a table.
pub fn facts(backend: &dyn Backend, table: &TableName, noun: TableNoun) -> Result<Option<Facts>> {
    let catalogue = backend.catalogue()?;
    let Some(schema) = catalogue.tables.get(table) else { return Ok(None) };
    let content = match noun {
        TableNoun::Dir => return Ok(Some(Facts::Dir)),
        TableNoun::Complete => complete::text(backend, table, None),
        TableNoun::Describe => Ok(describe::lines(schema).join("\n") + "\n"),
        TableNoun::Families => families(backend, table),
        TableNoun::Qualifiers => qualifiers::text(backend, table),
        TableNoun::Regions => regions(backend, table),
        TableNoun::Rows => rows(backend, table),
        TableNoun::Size => {
            backend.table_numbers(table).map(|all| format!("{}\n", all.iter().map(|family| family.bytes).sum::<u64>()))
        }
        TableNoun::Stats => stats(backend, table),
    };
    match content {
        Ok(content) => Ok(Some(text(content.into_bytes()))),
        // It was dropped meanwhile.
        Err(e) if e.kind == ErrorKind::NoSuchTable => Ok(None),
        // What is not counted is told in its place: one such file does not take the others away.
        Err(e) if e.kind == ErrorKind::Unsupported => Ok(Some(text(format!("{}\n", e.message).into_bytes()))),
        Err(e) => Err(e),
    }
}

/// The least and the most rows that there can be.
fn bounds(families: &[FamilyNumbers]) -> (u64, u64) {
    let least = families.iter().map(|family| family.least_rows).max().unwrap_or(0);
    (least, families.iter().map(|family| family.most_rows).sum::<u64>().max(least))
}

fn rows(backend: &dyn Backend, table: &TableName) -> Result<String> {
    let listing = RowListing {
        table: table.clone(),
        after: None,
        before: Vec::new(),
        time_range: TimeRange::ALL,
        which: crate::backend::Versions::Live,
        limit: ROWS_COUNTED + 1,
    };
    let counted = backend.list_rows(&listing)?.len();
    if counted <= ROWS_COUNTED {
        return Ok(format!("{counted}\texact\n"));
    }
    let (least, most) = bounds(&backend.table_numbers(table)?);
    let (least, most) = (least.max(counted as u64), most.max(counted as u64));
    Ok(format!("{most}\testimate: {least} to {most}, deleted ones among them; `cellfs count` counts them\n"))
}

/// A line each; in a store all of a table is one piece.
fn regions(backend: &dyn Backend, table: &TableName) -> Result<String> {
    let mut content = "start\tend\tserver\tname\n".to_owned();
    match backend.regions(table)? {
        None => content.push_str("\t\t\t\n"),
        Some(regions) => {
            for region in regions {
                let (start, end) = (shown(Level::Row, &region.start), shown(Level::Row, &region.end));
                let _ = writeln!(content, "{start}\t{end}\t{}\t{}", region.server, region.encoded);
            }
        }
    }
    Ok(content)
}

fn families(backend: &dyn Backend, table: &TableName) -> Result<String> {
    let mut content = "family\tcells\tunflushed\tbytes\tlayers\n".to_owned();
    for FamilyNumbers { name, cells, unflushed, bytes, layers, .. } in backend.table_numbers(table)? {
        let name = shown(Level::Family, name.as_bytes());
        let _ = writeln!(content, "{name}\t{cells}\t{unflushed}\t{bytes}\t{layers}");
    }
    Ok(content)
}

fn stats(backend: &dyn Backend, table: &TableName) -> Result<String> {
    let all = backend.table_numbers(table)?;
    let sum = |of: fn(&FamilyNumbers) -> u64| all.iter().map(of).sum::<u64>();
    let (least, most) = bounds(&all);
    let compaction = backend.status()?.compaction.filter(|compaction| compaction.table == *table);
    let compaction = compaction.map_or("none".to_owned(), |c| format!("{} {} %", c.family, c.percent));
    let lines = [
        ("families", all.len().to_string()),
        ("cells", sum(|family| family.cells).to_string()),
        ("unflushed", sum(|family| family.unflushed).to_string()),
        ("bytes", sum(|family| family.bytes).to_string()),
        ("layers", sum(|family| family.layers).to_string()),
        ("rows_at_least", least.to_string()),
        ("rows_at_most", most.to_string()),
        ("compaction", compaction),
    ];
    Ok(lines.iter().map(|(name, value)| format!("{name}\t{value}\n")).collect())
}
