//! The columns that the lines of `csv` and `tsv` have.

use std::collections::BTreeSet;

use crate::backend::Backend;
use crate::model::{Columns, Piece, Qualifier, Scan, TableName, Tells};
use crate::{Error, ErrorKind, Result};

/// Columns that a line has at the most.
const COLUMNS_MAX: usize = 10_000;

/// Those that are asked for by name, else all that the table has, or where that is not known the rows of `scan`; of
/// families that are `wanted`, ascending.
pub fn columns_of(
    backend: &dyn Backend,
    scan: &Scan,
    asked: &Columns,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<(String, Qualifier)>> {
    let table = &scan.table;
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
        let known = match backend.table_columns(table) {
            Err(e) if e.kind == ErrorKind::Unsupported => {
                names.extend(columns_of_rows(backend, scan, &open)?);
                Vec::new()
            }
            known => known?,
        };
        for columns in known.into_iter().filter(|of| open.contains(&of.family)) {
            let Some(known) = columns.columns else { return Err(too_many_columns(&columns.family)) };
            names.extend(known.into_iter().map(|column| (columns.family.clone(), column.qualifier)));
        }
    }
    Ok(names.into_iter().collect())
}

/// The columns of the rows that a scan gives: where the backend keeps no list of a table's columns, they are read twice.
fn columns_of_rows(backend: &dyn Backend, scan: &Scan, families: &[String]) -> Result<BTreeSet<(String, Qualifier)>> {
    let mut names = BTreeSet::new();
    backend.scan_pieces(&Scan { tells: Tells::Infos, ..scan.clone() }, &mut |piece| {
        if let Piece::Found(cell) = piece
            && families.contains(&cell.family)
            && names.insert((cell.family.clone(), cell.qualifier.clone()))
            && names.len() > COLUMNS_MAX
        {
            return Err(too_many_columns(scan.table.name.as_ref()));
        }
        Ok(())
    })?;
    Ok(names)
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
