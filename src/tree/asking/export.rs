//! `.export/FORMAT`: the rows of a table, of the answer of a question, of a row or of a family, written as they are read.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::answer::Answer;
use super::marks::Mark;
use super::question::{Pick, Question};
use crate::bulk::{FORMATS, Format, Out, Outline, check_columns, columns_of, writer};
use crate::model::{Columns, Piece, Qualifier, TableName, Tells};
use crate::tree::asking::asked::{answer, cell_mark, row_mark};
use crate::tree::base::Tree;
use crate::tree::place::{FamilyPlace, NodeKey, Place};
use crate::tree::view::View;
use crate::{Error, ErrorKind, Result};

/// Bytes that are given on at once.
const GIVEN: usize = 64 << 10;

/// What `.export` has in a directory: behind `.raw` what has room for tombstones and what they delete.
pub(in crate::tree) fn exports(dir: &NodeKey) -> impl Iterator<Item = (&'static str, Format)> {
    let is_raw = dir.asked.as_deref().is_some_and(Question::is_raw);
    FORMATS.into_iter().filter(move |(_, format)| !is_raw || *format == Format::Jsonl)
}

/// Writes what there is at a place; `give` takes the bytes, and says whether more are wanted.
pub fn export(tree: &Tree, key: &NodeKey, format: Format, give: &dyn Fn(&[u8]) -> bool) -> Result<()> {
    let question = question_of(tree, key)?;
    let Some(table) = key.place.table().cloned() else { return Ok(()) };
    let answer = answer(tree, key, &question, &table)?;
    let (row, family) = match &key.place {
        Place::Row(row) => (Some(row.row.as_slice()), None),
        Place::Family(family) => (Some(family.row.as_slice()), Some(family)),
        _ => (None, None),
    };
    let rows = if row.is_none() { row_mark(tree, key, &table)? } else { Mark::All.into() };
    let cells = match family {
        Some(family) => cell_mark(tree, key, &question, family)?,
        None => Mark::All.into(),
    };
    let columns = match (format.needs_columns(), row, question.pick()) {
        (false, ..) => Vec::new(),
        (true, None, Pick::First(_) | Pick::Last(_) | Pick::Sample(_)) => {
            columns_found(&answer, &table, (None, None), (&rows, &Mark::All))?
        }
        (true, Some(_), _) if family.is_some_and(|family| is_narrowed(&question, &answer, family)) => {
            columns_found(&answer, &table, (row, family), (&rows, &cells))?
        }
        (true, ..) => {
            columns_of_lines(tree, (&question, &answer), &table, (row, family.map(|family| family.family.as_str())))?
        }
    };
    let outline = Outline::of_checks(tree.backend.as_ref(), &table, &columns)?;
    let (mut writer, mut out, mut is_wanted) = (writer(format, columns, &outline), Out::new(), true);
    writer.begin(&mut out);
    let done = answer.pieces((row, family), (&rows, &cells), Tells::Values, &mut |piece| {
        writer.piece(piece, &mut out)?;
        if out.len() >= GIVEN {
            is_wanted = give(&out);
            out.clear();
        }
        // Nobody sees it: who has read is gone.
        if is_wanted { Ok(()) } else { Err(Error::new(ErrorKind::Overtaken, "nothing more is wanted")) }
    });
    if is_wanted {
        done?;
        writer.end(&mut out)?;
        give(&out);
    }
    Ok(())
}

/// What is asked at a place; of the present as it is now. Where others change it nothing keeps that, and a table that
/// has one version of each cell lacks what is changed meanwhile.
pub(in crate::tree) fn question_of(tree: &Tree, key: &NodeKey) -> Result<Question> {
    let mut question = key.asked.as_deref().cloned().unwrap_or_default();
    let is_present = key.snapshot.is_none() && key.view == View::Plain && question.moment.is_none();
    let is_present = is_present && !tree.backend.is_shared();
    if let Some(table) = key.place.table().filter(|_| is_present) {
        question.moment = Some(tree.backend.moment(table)?);
    }
    Ok(question)
}

/// The columns that a line has: those that are asked for by name, else all that the table has.
fn columns_of_lines(
    tree: &Tree,
    (question, answer): (&Question, &Answer<'_>),
    table: &TableName,
    (row, family): (Option<&[u8]>, Option<&str>),
) -> Result<Vec<(String, Qualifier)>> {
    let of_family = |name: &str| family.is_none_or(|family| family == name);
    let scan = row.map_or_else(|| answer.scan.clone(), |row| answer.of_row(answer.scan.clone(), row));
    let mut names = columns_of(tree.backend.as_ref(), &scan, answer.columns(), of_family)?;
    let slice = question.slice_of_cells();
    names.retain(|(_, qualifier)| slice.contains(qualifier));
    check_columns(table, names.len())?;
    Ok(names)
}

/// Whether only a part of a family is asked for within it, and the steps of its rows name none of its columns.
fn is_narrowed(question: &Question, answer: &Answer<'_>, family: &FamilyPlace) -> bool {
    let names = |columns: &Columns| columns.get(&family.family).is_some_and(Option::is_some);
    !question.cells.is_empty() && !names(answer.columns())
}

/// The columns that a line has of a part of the answer: those that are asked for by name, else those that are found.
fn columns_found(
    answer: &Answer<'_>,
    table: &TableName,
    (row, family): (Option<&[u8]>, Option<&Arc<FamilyPlace>>),
    (rows, cells): (&Mark, &Mark),
) -> Result<Vec<(String, Qualifier)>> {
    let asked = match family {
        None => Some(answer.columns()),
        Some(_) => answer.question.columns_of_cells(),
    };
    let slice = answer.question.slice_of_cells();
    let is_of = |name: &str, column: &[u8]| {
        family.is_none_or(|family| family.family == name && slice.contains(column) && cells.picks(column))
    };
    let named = asked.into_iter().flatten().filter_map(|(family, columns)| Some((family, columns.as_ref()?)));
    let named = named.flat_map(|(family, columns)| columns.iter().map(|column| (family.clone(), column.clone())));
    let mut names: BTreeSet<(String, Qualifier)> = named.filter(|(family, column)| is_of(family, column)).collect();
    check_columns(table, names.len())?;
    answer.pieces((row, family), (rows, cells), Tells::Infos, &mut |piece| {
        if let Piece::Found(cell) = piece {
            names.insert((cell.family.clone(), cell.qualifier.clone()));
        }
        // More than a line can have are not gathered.
        check_columns(table, names.len())
    })?;
    Ok(names.into_iter().collect())
}
