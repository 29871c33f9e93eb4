//! Scan paths in the tree: what is in the answer.

use std::sync::Arc;

use super::answer::Answer;
use super::marks::Mark;
use super::question::{Pick, Question};
use crate::Result;
use crate::model::{CellInfo, CellKind, ColumnSlice, TableName, Timestamp, ValueRef};
use crate::tree::base::Tree;
use crate::tree::found::Facts;
use crate::tree::place::{FamilyPlace, NodeKey, Place};
use crate::tree::stored;
use crate::tree::view::View;

pub(in crate::tree) fn answer<'a>(
    tree: &'a Tree,
    key: &NodeKey,
    question: &'a Question,
    table: &TableName,
) -> Result<Answer<'a>> {
    Answer::new(tree.backend.as_ref(), table, key.view, question)
}

/// What is at a place of an answer.
pub(in crate::tree) fn asked_facts(tree: &Tree, key: &NodeKey, question: &Question) -> Result<Option<Facts>> {
    let is_there = match &key.place {
        Place::Table(table) => tree.backend.catalogue()?.tables.contains_key(table),
        Place::Times(base) => asked_facts(tree, &key.sibling(base.as_ref().clone()), question)?.is_some(),
        Place::Row(row) => {
            let answer = answer(tree, key, question, &row.table)?;
            stored::existing(answer.has_row(&row.row))?.unwrap_or(false)
                && row_mark(tree, key, &row.table)?.picks(&row.row)
        }
        Place::Family(family) if !question.cells.is_empty() => {
            let of_rows = key.asked(question.of_rows(), Place::Family(Arc::clone(family)));
            match &of_rows.asked {
                Some(question) => asked_facts(tree, &of_rows, question)?.is_some(),
                None => stored::family_exists(tree, key.view, family)?,
            }
        }
        Place::Family(family) => {
            let answer = answer(tree, key, question, &family.table)?;
            stored::existing(answer.families(&family.row))?.is_some_and(|all| all.contains(&family.family))
        }
        Place::Cell(_) | Place::Version(..) | Place::Ended(..) => {
            return Ok(stored::existing(asked_cell(tree, key, question))?.flatten().map(Facts::Cell));
        }
        _ => false,
    };
    Ok(is_there.then_some(Facts::Dir))
}

fn asked_cell(tree: &Tree, key: &NodeKey, question: &Question) -> Result<Option<CellInfo>> {
    let Some(column) = key.place.column() else { return Ok(None) };
    let family = crate::tree::place::family_of(column);
    let is_raw = question.is_raw();
    let (mut found, mut kinds) = (None, String::new());
    let answer = answer(tree, key, question, &column.table)?;
    answer.cells(&family, &ColumnSlice::of(&column.qualifier), &mut |cell| {
        match (&key.place, cell.kind) {
            (Place::Cell(_), CellKind::Put) if !is_raw => found = Some(cell.info.clone()),
            (Place::Version(_, at), CellKind::Put) if cell.info.timestamp == *at => {
                found = Some(cell.info.clone());
            }
            (Place::Ended(_, at, end), CellKind::Tombstone(kind)) if cell.info.timestamp == *at && at == end => {
                kinds.push_str(kind.name());
                kinds.push('\n');
                found = Some(CellInfo { value: ValueRef::Here(kinds.as_bytes().into()), ..cell.info.clone() });
                // Of one time there may be several.
                return true;
            }
            _ => return true,
        }
        false
    })?;
    let is_picked = found.is_some() && cell_mark(tree, key, question, &family)?.picks(&column.qualifier);
    Ok(found.filter(|_| is_picked))
}

/// Whether what a question shows stays as it is: in a snapshot, and for a walk, while nothing expires. A moment that is
/// yet to come, as where a version lies in the future, shows what is written until then.
fn is_fixed(tree: &Tree, key: &NodeKey, table: &TableName) -> Result<bool> {
    let is_over = |moment: Timestamp| moment < tree.backend.now();
    let has_moment =
        key.asked.as_ref().is_some_and(|asked| asked.moment.is_some_and(is_over)) && key.view == View::Plain;
    Ok(key.snapshot.is_some() || has_moment && !tree.backend.may_expire(table)?)
}

/// Which rows are picked.
pub(in crate::tree) fn row_mark(tree: &Tree, key: &NodeKey, table: &TableName) -> Result<Arc<Mark>> {
    let question = key.asked.as_deref().map(Question::of_rows).unwrap_or_default();
    if question.pick() == Pick::All {
        return Ok(Arc::new(Mark::All));
    }
    let dir = key.asked(question.clone(), Place::Table(Arc::new(table.clone())));
    let seed = u64::from_le_bytes(tree.backend.hash_key()[..8].try_into().unwrap_or_default());
    let seed = seed ^ question.moment.map_or(0, |moment| moment.0.cast_unsigned());
    tree.marks
        .of(&dir, (tree.backend.now(), is_fixed(tree, key, table)?), || answer(tree, key, &question, table)?.mark(seed))
}

/// Which qualifiers are picked.
pub(in crate::tree) fn cell_mark(
    tree: &Tree,
    key: &NodeKey,
    question: &Question,
    family: &FamilyPlace,
) -> Result<Arc<Mark>> {
    if question.pick_of_cells() == Pick::All {
        return Ok(Arc::new(Mark::All));
    }
    let dir = key.sibling(Place::Family(Arc::new(family.clone())));
    tree.marks.of(&dir, (tree.backend.now(), is_fixed(tree, key, &family.table)?), || {
        answer(tree, key, question, &family.table)?.mark_of_cells(family)
    })
}
