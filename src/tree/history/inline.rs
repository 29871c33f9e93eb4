//! The mount option `history=inline`: a family lists every version beside its cell.

use std::sync::Arc;

use super::list::{FIRST, position, version_cursor};
use super::places::{is_readable, version_name};
use crate::Result;
use crate::backend::HistoryFrom;
use crate::model::{CellInfo, ColumnKey, Qualifier};
use crate::spill::join_key;
use crate::tree::base::Tree;
use crate::tree::list::entry::Entry;
use crate::tree::names::escape::{Level, NAME_MAX, STEM_MAX, Spelling};
use crate::tree::place::{FamilyPlace, NodeKey, Place};
use crate::tree::stored;
use crate::tree::view::View;

/// Entries that are asked for at once, at most, where few of them are shown.
const MOST_ENTRIES: usize = 1 << 14;

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
    // Each version may have its cell before it.
    let most = 2 * limit;
    // Order: as for rows.
    let mut created = match dir.view {
        View::Plain => tree.uncommitted.cells(family, passed, most),
        _ => Vec::new(),
    };
    let (mut entries, ended_before) = stored_entries(tree, dir, family, from, limit)?;
    if let Some(reached) = ended_before {
        created.retain(|qualifier| *qualifier <= reached);
    }
    for qualifier in created {
        let entry = cell_entry((dir, tree.spelling), &Arc::new(family.column(qualifier)), None);
        if let Err(at) = entries.binary_search_by(|other| other.cursor.cmp(&entry.cursor)) {
            entries.insert(at, entry);
        }
    }
    entries.truncate(most);
    Ok(entries)
}

/// At least `limit` entries of what is stored, fewer at its end; the column that was reached, if more may come.
fn stored_entries(
    tree: &Tree,
    dir: &NodeKey,
    family: &FamilyPlace,
    mut from: Option<HistoryFrom>,
    limit: usize,
) -> Result<(Vec<Entry>, Option<Qualifier>)> {
    let passed = from.as_ref().map(|from| from.qualifier.clone());
    let (table, row, name) = (&family.table, &family.row, &family.family);
    let (mut entries, mut asked) = (Vec::new(), limit);
    let mut column: Option<(Arc<ColumnKey>, Vec<u8>)> = None;
    while entries.len() < limit {
        let found = stored::existing(tree.backend.list_history(table, row, name, from.as_ref(), asked))?;
        let found = found.unwrap_or_default();
        let ended = found.len() < asked;
        // As for versions: behind a page of what is not shown a larger one.
        asked = (2 * asked).min(MOST_ENTRIES.max(limit));
        for (qualifier, cell) in found {
            if column.as_ref().is_none_or(|(of, _)| of.qualifier != qualifier) {
                let of = Arc::new(family.column(qualifier.clone()));
                if passed.as_ref() != Some(&qualifier) {
                    let newest = tree.backend.newest(&of, dir.view.time_range())?;
                    entries.extend(newest.map(|cell| cell_entry((dir, tree.spelling), &of, Some(cell))));
                }
                column = Some((of, tree.spelling.file_name(Level::Qualifier, &qualifier, STEM_MAX)));
            }
            from = Some(HistoryFrom { qualifier: qualifier.clone(), before: Some(cell.timestamp) });
            if let Some((of, stem)) = column.as_ref().filter(|_| shows(dir.view, &cell)) {
                entries.push(version_entry(dir, of, stem, &qualifier, cell));
            }
        }
        if ended {
            return Ok((entries, None));
        }
    }
    Ok((entries, from.map(|from| from.qualifier)))
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
