//! `.count`: how many rows a table, or the answer of a question, has; of a row or a family, how many cells.

use super::answer::{Answer, From};
use super::marks::Mark;
use super::question::{Pick, Question};
use crate::Result;
use crate::model::TableName;
use crate::tree::asking::asked::{answer, cell_mark, row_mark};
use crate::tree::asking::export::question_of;
use crate::tree::base::Tree;
use crate::tree::place::{FamilyPlace, NodeKey, Place};

/// How many there are at a place; less if `goes_on` says so.
pub fn count(tree: &Tree, key: &NodeKey, goes_on: &dyn Fn() -> bool) -> Result<u64> {
    let question = question_of(tree, key)?;
    match &key.place {
        Place::Table(table) => count_rows(tree, key, &question, table, goes_on),
        Place::Row(row) => {
            let answer = answer(tree, key, &question, &row.table)?;
            let mut count = 0;
            for family in answer.families(&row.row)? {
                let place = FamilyPlace { table: row.table.clone(), row: row.row.clone(), family };
                count += count_cells(&answer, &place, &Mark::All, goes_on)?;
            }
            Ok(count)
        }
        Place::Family(family) => {
            let mark = cell_mark(tree, key, &question, family)?;
            count_cells(&answer(tree, key, &question, &family.table)?, family, &mark, goes_on)
        }
        _ => Ok(0),
    }
}

fn count_rows(
    tree: &Tree,
    key: &NodeKey,
    question: &Question,
    table: &TableName,
    goes_on: &dyn Fn() -> bool,
) -> Result<u64> {
    let mark = row_mark(tree, key, table)?;
    let most = if let Pick::First(most) = question.pick() { Some(most) } else { None };
    let from = match mark.as_ref() {
        Mark::These(keys) => return Ok(keys.len() as u64),
        Mark::None => return Ok(0),
        Mark::From(first) => From::At(first, None),
        Mark::All | Mark::Upto(_) => From::Start,
    };
    let answer = answer(tree, key, question, table)?;
    if question.pick() == Pick::All
        && matches!(mark.as_ref(), Mark::All)
        && let Some(count) = answer.count_rows()?
    {
        return Ok(count);
    }
    let mut count = 0;
    answer.rows(from, most, |_| {
        count += 1;
        goes_on()
    })?;
    Ok(count)
}

fn count_cells(answer: &Answer<'_>, family: &FamilyPlace, mark: &Mark, goes_on: &dyn Fn() -> bool) -> Result<u64> {
    let mut count = 0;
    answer.cells(family, &mark.slice(), &mut |cell| {
        count += u64::from(mark.picks(&cell.qualifier));
        goes_on()
    })?;
    Ok(count)
}
