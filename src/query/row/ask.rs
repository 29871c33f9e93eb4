//! What a filter says of a cell, and from where it wants to read on.

use crate::Result;
use crate::model::{RowKey, StoredCell};
use crate::query::ValueLoader;
use crate::query::collect::FamilyCursor;
use crate::query::filters::filter::{Candidate, Decision, Filter, Hint, Included};
use crate::query::lent::LentCell;

/// From where a row and family is read on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Onward {
    /// The next cell.
    Next,
    NextColumn,
    /// This column, or where it would be; never back.
    Column(Vec<u8>),
    /// The rest of the row is not wanted in this family.
    NextRow,
}

/// How a cell is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    No,
    Whole,
    /// With an empty value.
    KeyOnly,
}

/// A cell about which a filter was asked.
pub(super) struct Asked {
    pub cell: StoredCell,
    value: Option<Vec<u8>>,
    shown: Shown,
    pub onward: Onward,
}

impl Asked {
    /// The cell, if it is in the answer.
    pub fn included(self, family: &str) -> Option<Included> {
        let Self { cell, value, shown, .. } = self;
        let key_only = shown == Shown::KeyOnly;
        (shown != Shown::No).then(|| Included { value, key_only, ..Included::whole(family, cell) })
    }
}

/// Asks about a cell.
pub(super) fn of_stored(
    filter: &mut dyn Filter,
    (family, cell): (&str, StoredCell),
    loader: &mut dyn ValueLoader,
    cursor: &mut FamilyCursor,
    next_row: &mut Option<RowKey>,
) -> Result<Asked> {
    if filter.is_done() {
        return Ok(Asked { cell, value: None, shown: Shown::No, onward: Onward::NextRow });
    }
    let mut candidate = Candidate::stored(family, &cell, loader);
    let decision = filter.judge(&mut candidate)?;
    let value = candidate.into_loaded();
    if decision.includes() && cursor.exceeds_versions(&cell) {
        return Ok(Asked { cell, value, shown: Shown::No, onward: Onward::NextColumn });
    }
    let onward = onward(filter, decision, next_row);
    Ok(Asked { cell, value, shown: shown(filter, decision), onward })
}

/// Asks about the one cell of a column that a filter sees.
pub(super) fn of_lent(
    filter: &mut dyn Filter,
    (family, cell): (&str, &LentCell<'_>),
    next_row: &mut Option<RowKey>,
) -> Result<(Shown, Onward)> {
    if filter.is_done() {
        return Ok((Shown::No, Onward::NextRow));
    }
    let decision = filter.judge(&mut Candidate::lent(family, cell))?;
    let shown = shown(filter, decision);
    Ok((shown, onward(filter, decision, next_row)))
}

fn shown(filter: &dyn Filter, decision: Decision) -> Shown {
    match decision.includes() {
        false => Shown::No,
        true if filter.empties_values() => Shown::KeyOnly,
        true => Shown::Whole,
    }
}

fn onward(filter: &dyn Filter, decision: Decision, next_row: &mut Option<RowKey>) -> Onward {
    match decision {
        Decision::Include | Decision::Skip => Onward::Next,
        Decision::IncludeNextColumn | Decision::NextColumn => Onward::NextColumn,
        Decision::NextRow => Onward::NextRow,
        Decision::Seek => match filter.hint() {
            Some(Hint::Column(column)) => Onward::Column(column),
            Some(Hint::Row(row)) => {
                *next_row = Some(row);
                Onward::NextRow
            }
            None => Onward::Next,
        },
    }
}
