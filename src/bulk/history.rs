//! Every version of the rows of a range, as lines: what an export with its history writes.
//!
//! As below `.history`, each version that was deleted and is kept says when, so that no order of lines matters. A
//! tombstone hides what was put before it in families with NEW_VERSION_BEHAVIOR, and has nothing left to say there; in
//! the others, where it hides by its timestamp whatever is put, it is a line itself. Holds a page of the history of a row
//! and one value.

use super::Out;
use super::json::line;
use crate::backend::{Backend, HistoryFrom, RowListing, Versions};
use crate::model::{
    Cell, CellInfo, CellKind, Columns, Piece, Qualifier, RowKey, Scan, TableSchema, Tags, Tells, TimeRange,
};
use crate::{Error, ErrorKind, Result};

/// Rows, and versions of a row, that are looked at in one step.
const PAGE: usize = 1000;

/// Takes bytes out as they are made; an error ends it.
pub type GiveOut<'g> = &'g mut dyn FnMut(&mut Out) -> Result<()>;

/// Writes all versions of the columns and rows that a scan asks for, of which its range and its columns count; what was
/// not taken is left in `out`.
pub fn history(backend: &dyn Backend, scan: &Scan, out: &mut Out, give: GiveOut<'_>) -> Result<()> {
    let catalogue = backend.catalogue()?;
    let Some(table) = catalogue.tables.get(&scan.table) else {
        // Says what is missing.
        return backend.scan_pieces(scan, &mut |_| Ok(()));
    };
    check_families(scan, table)?;
    if table.families.values().any(|family| !family.rules.new_version_behavior) {
        tombstones(backend, scan, table, out, give)?;
    }
    rows(backend, scan, out, give)
}

/// Refuses families that are not there, as a scan does.
fn check_families(scan: &Scan, table: &TableSchema) -> Result<()> {
    let Some(lacking) = scan.read.columns.keys().find(|family| !table.families.contains_key(*family)) else {
        return Ok(());
    };
    let known: Vec<&str> = table.families.keys().map(String::as_str).collect();
    let (name, lacking) = (&scan.table, lacking.escape_debug());
    let text = format!("table {name} has no family {lacking}; it has {}", known.join(", "));
    Err(Error::new(ErrorKind::NoSuchFamily, text))
}

/// Tombstones of the families in which they hide by their timestamps.
fn tombstones(backend: &dyn Backend, scan: &Scan, table: &TableSchema, out: &mut Out, give: GiveOut<'_>) -> Result<()> {
    let mut scan = scan.clone();
    let asked = std::mem::take(&mut scan.read.columns);
    let classic = table.families.values().filter(|family| !family.rules.new_version_behavior);
    let classic = classic.filter(|family| asked.is_empty() || asked.contains_key(&family.name));
    // A raw scan takes no qualifiers (HBase).
    scan.read.columns = classic.map(|family| (family.name.clone(), None)).collect();
    (scan.read.raw, scan.read.max_versions, scan.tells) = (true, u32::MAX, Tells::Infos);
    if scan.read.columns.is_empty() {
        return Ok(());
    }
    let mut row = RowKey::new();
    backend.scan_pieces(&scan, &mut |piece| {
        match piece {
            Piece::Row(key) => row.clone_from(key),
            Piece::Found(found) if !found.kind.is_put() => {
                let is_wanted = found.kind.is_family_tombstone() || has(&asked, &found.family, &found.qualifier);
                if is_wanted {
                    // What it has taken for good is not there to be taken again.
                    let tags = Tags { ttl_ms: found.info.tags.ttl_ms, ..Tags::default() };
                    let (family, qualifier) = (found.family.clone(), found.qualifier.clone());
                    let (timestamp, kind) = (found.info.timestamp, found.kind);
                    line(&row, &Cell { family, qualifier, timestamp, kind, tags, value: Vec::new() }, out);
                }
            }
            _ => {}
        }
        give(out)
    })
}

fn has(columns: &Columns, family: &str, qualifier: &Qualifier) -> bool {
    columns.get(family).and_then(Option::as_ref).is_none_or(|names| names.contains(qualifier))
}

/// Live and kept versions of all rows.
fn rows(backend: &dyn Backend, scan: &Scan, out: &mut Out, give: GiveOut<'_>) -> Result<()> {
    let mut after = None;
    if !scan.stop.is_empty() && scan.stop <= scan.start {
        return Ok(());
    }
    if !scan.start.is_empty() {
        row(backend, scan, &scan.start, out, give)?;
        after = Some(scan.start.clone());
    }
    loop {
        let keys = backend.list_rows(&RowListing {
            table: scan.table.clone(),
            after: after.clone(),
            before: scan.stop.clone(),
            time_range: TimeRange::ALL,
            which: Versions::LiveAndKept,
            limit: PAGE,
        })?;
        for key in keys.iter() {
            row(backend, scan, key, out, give)?;
        }
        if keys.len() < PAGE {
            return Ok(());
        }
        after = keys.last().map(<[u8]>::to_vec);
    }
}

fn row(backend: &dyn Backend, scan: &Scan, key: &[u8], out: &mut Out, give: GiveOut<'_>) -> Result<()> {
    let asked = &scan.read.columns;
    let families = backend.list_families(&scan.table, key, TimeRange::ALL, Versions::LiveAndKept)?;
    for family in families.iter().filter(|family| asked.is_empty() || asked.contains_key(*family)) {
        let mut from: Option<HistoryFrom> = None;
        loop {
            let page = backend.list_history(&scan.table, key, family, from.as_ref(), PAGE)?;
            for (qualifier, info) in page.iter().filter(|(qualifier, _)| has(&scan.read.columns, family, qualifier)) {
                line(key, &cell(backend, family, qualifier, info)?, out);
                give(out)?;
            }
            if page.len() < PAGE {
                break;
            }
            from = page
                .into_iter()
                .next_back()
                .map(|(qualifier, info)| HistoryFrom { qualifier, before: Some(info.timestamp) });
        }
    }
    Ok(())
}

/// A version with its value. A deleted one says when it was.
fn cell(backend: &dyn Backend, family: &str, qualifier: &Qualifier, info: &CellInfo) -> Result<Cell> {
    let value = backend.read_value(info, 0, usize::try_from(info.len()).unwrap_or(usize::MAX))?;
    let mut tags = info.tags.clone();
    tags.ended_at = info.deleted_at;
    let (family, qualifier) = (family.to_owned(), qualifier.clone());
    Ok(Cell { family, qualifier, timestamp: info.timestamp, kind: CellKind::Put, tags, value })
}
