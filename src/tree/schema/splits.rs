//! `.schema/.table/SPLITS`: where the regions of a table begin, the first aside, one key a line as HBase writes keys.
//!
//! A cluster tells those that there are; a store has none, and remembers what was said.

use super::declared::table_schema;
use crate::Result;
use crate::model::declared::region;
use crate::model::{Catalogue, CatalogueChange, TableName, to_bytes_binary, to_string_binary};
use crate::tree::base::Tree;
use crate::tree::found::{Facts, text};
use crate::tree::place::SchemaPlace;

pub(in crate::tree) const FILE: &str = "SPLITS";

/// The file, where there is more than one region.
pub(in crate::tree) fn splits_facts(tree: &Tree, table: &TableName) -> Result<Option<Facts>> {
    let catalogue = tree.backend.catalogue()?;
    let Some(schema) = catalogue.tables.get(table) else { return Ok(None) };
    let starts: Vec<Vec<u8>> = match tree.backend.regions(table)? {
        Some(regions) if !regions.is_empty() => regions.into_iter().skip(1).map(|region| region.start).collect(),
        // A cluster has no regions of a table without families yet.
        _ => region::splits(schema),
    };
    let lines: String = starts.iter().map(|start| to_string_binary(start) + "\n").collect();
    Ok((!lines.is_empty()).then(|| text(lines.into_bytes())))
}

/// Its name in the directory of a table's attributes, if it is there.
pub(in crate::tree) fn splits_entry(tree: &Tree, dir: &SchemaPlace) -> Result<Option<(String, SchemaPlace)>> {
    let SchemaPlace::TableAttributes(table) = dir else { return Ok(None) };
    let entry = || (FILE.to_owned(), SchemaPlace::Splits(table.clone()));
    Ok(splits_facts(tree, table)?.map(|_| entry()))
}

/// Asks for regions that begin there; `None` forgets what was asked.
pub(in crate::tree) fn set(catalogue: &Catalogue, table: &TableName, value: Option<&str>) -> Result<CatalogueChange> {
    let mut schema = table_schema(catalogue, table)?;
    let lines = value.unwrap_or_default().lines().filter(|line| !line.is_empty());
    region::set_splits(&mut schema, lines.map(|line| to_bytes_binary(line.as_bytes())).collect());
    Ok(CatalogueChange::AlterTable(schema))
}
