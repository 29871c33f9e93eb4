//! The mount option `history=inline`: a family lists every version beside its cell.

use std::sync::Arc;

use super::list::{FIRST, position, version_cursor};
use super::places::{is_readable, version_name};
use crate::Result;
use crate::model::{CellInfo, ColumnKey, Qualifier};
use crate::spill::join_key;
use crate::tree::base::Tree;
use crate::tree::list::entry::Entry;
use crate::tree::names::escape::{Level, NAME_MAX, STEM_MAX, Spelling};
use crate::tree::place::{FamilyPlace, NodeKey, Place};
use crate::tree::stored;
use crate::tree::view::View;

/// A cell, then its versions as `q@ts`, newest first; then the next one.
pub(in crate::tree) fn page_inline(
    tree: &Tree,
    dir: &NodeKey,
    family: &FamilyPlace,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<Vec<Entry>> {
    let from = after.and_then(position);
    let passed = from.as_ref().map(|from| from.qualifier.as_slice());
    // Order: as for rows.
    let mut created = match dir.view {
        View::Plain => tree.uncommitted.cells(family, passed, limit),
        _ => Vec::new(),
    };
    let (table, row, name) = (&family.table, &family.row, &family.family);
    let found = stored::existing(tree.backend.list_history(table, row, name, from.as_ref(), limit))?;
    let found = found.unwrap_or_default();
    if found.len() == limit {
        created.retain(|qualifier| Some(qualifier) <= found.last().map(|(q, _)| q));
    }
    let mut entries: Vec<Entry> = Vec::with_capacity(found.len() + created.len());
    let mut column: Option<(Arc<ColumnKey>, Vec<u8>)> = None;
    for (qualifier, cell) in found {
        if column.as_ref().is_none_or(|(of, _)| of.qualifier != qualifier) {
            let of = Arc::new(family.column(qualifier.clone()));
            if passed != Some(qualifier.as_slice()) {
                let newest = tree.backend.newest(&of, dir.view.time_range())?;
                entries.extend(newest.map(|cell| cell_entry((dir, tree.spelling), &of, Some(cell))));
            }
            column = Some((of, tree.spelling.file_name(Level::Qualifier, &qualifier, STEM_MAX)));
        }
        if let Some((of, stem)) = column.as_ref().filter(|_| shows(dir.view, &cell)) {
            entries.push(version_entry(dir, of, stem, &qualifier, cell));
        }
    }
    for qualifier in created {
        let entry = cell_entry((dir, tree.spelling), &Arc::new(family.column(qualifier)), None);
        if let Err(at) = entries.binary_search_by(|other| other.cursor.cmp(&entry.cursor)) {
            entries.insert(at, entry);
        }
    }
    Ok(entries)
}

fn shows(view: View, cell: &CellInfo) -> bool {
    view.time_range().contains(cell.timestamp, cell.tags.written_at) && is_readable(cell)
}

fn cell_entry((dir, spelling): (&NodeKey, Spelling), column: &Arc<ColumnKey>, cell: Option<CellInfo>) -> Entry {
    let name = spelling.file_name(Level::Qualifier, &column.qualifier, NAME_MAX);
    let cursor = [join_key(&[&column.qualifier]), vec![FIRST]].concat();
    Entry::new(name, dir.sibling(Place::Cell(Arc::clone(column))), cursor).with_cell(cell)
}

fn version_entry(dir: &NodeKey, of: &Arc<ColumnKey>, stem: &[u8], qualifier: &Qualifier, cell: CellInfo) -> Entry {
    let cursor = version_cursor(qualifier, cell.timestamp);
    let live = CellInfo { deleted_at: None, ..cell };
    let key = dir.sibling(Place::Version(Arc::clone(of), live.timestamp));
    Entry::new(version_name(stem, &live), key, cursor).with_cell(live)
}
