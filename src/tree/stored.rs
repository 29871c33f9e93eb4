//! Whether a row, a family or versions are stored, or made and not yet written.

use super::base::Tree;
use super::names::keys::KeyFileState;
use super::place::{FamilyPlace, Place, RowPlace};
use super::view::View;
use crate::backend::{HistoryFrom, Versions};
use crate::model::ColumnKey;
use crate::{ErrorKind, Result};

/// A store that lacks the table or family holds nothing there.
pub(super) fn existing<T>(answer: Result<T>) -> Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(e) if matches!(e.kind, ErrorKind::NoSuchTable | ErrorKind::NoSuchFamily) => Ok(None),
        Err(e) => Err(e),
    }
}

pub fn row_exists(tree: &Tree, view: View, place: &RowPlace) -> Result<bool> {
    let which = match view {
        View::Plain if tree.uncommitted.dirs.has_row(place)? => return Ok(true),
        View::History if tree.restored.has_row(place)? => return Ok(true),
        View::History => Versions::LiveAndKept,
        View::Plain | View::At(_) => Versions::Live,
    };
    let families = tree.backend.list_families(&place.table, &place.row, view.time_range(), which);
    Ok(existing(families)?.is_some_and(|families| !families.is_empty()))
}

/// Whether the family's directory exists in that row.
pub fn family_exists(tree: &Tree, view: View, place: &FamilyPlace) -> Result<bool> {
    match view {
        View::Plain if tree.uncommitted.dirs.has_family(place)? => Ok(true),
        View::History if tree.restored.has_family(place)? => Ok(true),
        _ => family_has_cells(tree, view, place),
    }
}

/// Whether a visible cell is stored there; in the history also a kept one.
pub fn family_has_cells(tree: &Tree, view: View, place: &FamilyPlace) -> Result<bool> {
    let (table, row, family) = (&place.table, &place.row, &place.family);
    if view == View::History {
        let versions = existing(tree.backend.list_history(table, row, family, None, 1))?;
        return Ok(versions.is_some_and(|versions| !versions.is_empty()));
    }
    let columns = tree.backend.list_columns(table, row, family, None, view.time_range(), 1);
    Ok(existing(columns)?.is_some_and(|columns| !columns.is_empty()))
}

/// Whether a row's directory is in the history.
pub(super) fn row_has_history(tree: &Tree, place: &RowPlace) -> Result<bool> {
    row_exists(tree, View::History, place)
}

/// Whether a key file is there: since it was written, or with what is stored of its key.
pub(super) fn key_file_exists(tree: &Tree, place: &Place, stored: impl FnOnce() -> Result<bool>) -> Result<bool> {
    match tree.keys.key_file(place)? {
        KeyFileState::Written => Ok(true),
        KeyFileState::Unlinked => Ok(false),
        KeyFileState::Untouched => stored(),
    }
}

pub(super) fn has_versions(tree: &Tree, column: &ColumnKey) -> Result<bool> {
    let from = HistoryFrom { qualifier: column.qualifier.clone(), before: None };
    let found = tree.backend.list_history(&column.table, &column.row, &column.family, Some(&from), 1);
    Ok(existing(found)?.is_some_and(|found| found.iter().any(|(of, _)| *of == column.qualifier)))
}
