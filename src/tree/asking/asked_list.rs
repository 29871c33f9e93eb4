//! Listings of answers: rows, families of a row, cells of a family.

use std::sync::Arc;

use super::answer::From;
use super::marks::Mark;
use super::question::{Pick, Question};
use crate::model::{CellKind, ColumnSlice, FoundCell, TableName};
use crate::tree::asking::asked::{answer, cell_mark, row_mark};
use crate::tree::base::Tree;
use crate::tree::list::entry::Entry;
use crate::tree::list::few;
use crate::tree::names::escape::{Level, NAME_MAX, STEM_MAX};
use crate::tree::names::suffix;
use crate::tree::names::suffix::Suffix;
use crate::tree::place::{FamilyPlace, NodeKey, Place, RowPlace};
use crate::{ErrorKind, Result};

/// Rows that are listed at once where each page begins at the first.
const SEQUENTIAL: usize = 32_768;
/// Rows that are listed at once at the most where each page walks over all that is asked of an index.
const RANGED: u64 = 65_536;

/// As `listing::page`, of an answer.
pub(in crate::tree) fn page_asked(
    tree: &Tree,
    dir: &NodeKey,
    question: &Question,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<Vec<Entry>> {
    match &dir.place {
        Place::Table(table) => page_asked_rows(tree, (dir, question), table, after, limit),
        Place::Row(row) => {
            let families = answer(tree, dir, question, &row.table)?.families(&row.row)?;
            Ok(few::after_cursor(families.into_iter().map(|family| few::family(dir, row, family)), after, limit))
        }
        Place::Family(family) => match page_asked_cells(tree, (dir, question), family, after, limit) {
            Err(e) if matches!(e.kind, ErrorKind::NoSuchTable | ErrorKind::NoSuchFamily) => Ok(Vec::new()),
            page => page,
        },
        _ => Ok(Vec::new()),
    }
}

/// The cursor is the row's number in the listing and its key.
fn page_asked_rows(
    tree: &Tree,
    (dir, question): (&NodeKey, &Question),
    table: &TableName,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<Vec<Entry>> {
    let answer = answer(tree, dir, question, table)?;
    let (mut number, after) = after.and_then(split_number).map_or((0, None), |(n, key)| (n, Some(key)));
    let mut left = match () {
        () if answer.is_sequential() => limit.max(SEQUENTIAL),
        // As many as were listed before: the walks are few, and the first rows come soon.
        () if answer.walks_range() => limit.max(usize::try_from(number.min(RANGED)).unwrap_or(limit)),
        () => limit,
    };
    let mut rows = Vec::new();
    let mut from = after.map_or(From::Start, From::After);
    let mark = match question.pick() {
        Pick::First(most) => {
            left = left.min(usize::try_from(most.saturating_sub(number)).unwrap_or(usize::MAX));
            Arc::new(Mark::All)
        }
        _ => row_mark(tree, dir, table)?,
    };
    match (mark.as_ref(), after) {
        (Mark::These(keys), _) => {
            let behind = keys.iter().filter(|key| after.is_none_or(|after| key.as_slice() > after));
            rows.extend(behind.take(left).cloned());
            left = 0;
        }
        (Mark::None, _) => left = 0,
        (Mark::From(first), None) => from = From::At(first, None),
        _ => {}
    }
    if left > 0 {
        answer.rows(from, Some(left as u64), |row| {
            rows.push(row);
            true
        })?;
    }
    let entry = |row: Vec<u8>| {
        number += 1;
        let name = tree.spelling.file_name(Level::Row, &row, NAME_MAX);
        let cursor = [&number.to_be_bytes()[..], &row].concat();
        Entry::new(name, dir.sibling(Place::Row(Arc::new(RowPlace { table: table.clone(), row }))), cursor)
    };
    Ok(rows.into_iter().map(entry).collect())
}

/// The cursor is the column's number in the listing, and the cell.
fn page_asked_cells(
    tree: &Tree,
    (dir, question): (&NodeKey, &Question),
    family: &FamilyPlace,
    after: Option<&[u8]>,
    limit: usize,
) -> Result<Vec<Entry>> {
    let mut lister = CellLister { number: 0, last: None, most: u64::MAX, is_raw: question.is_raw() };
    let mut slice = ColumnSlice::default();
    if let Some((number, rest)) = after.and_then(split_number)
        && let Some((at, qualifier)) = split_number(rest)
    {
        slice.from = qualifier.to_vec();
        (lister.number, lister.last) = (number, Some((qualifier.to_vec(), at)));
    }
    match question.pick_of_cells() {
        Pick::First(most) => lister.most = most,
        _ => match (cell_mark(tree, dir, question, family)?.as_ref(), after) {
            (Mark::None, _) => return Ok(Vec::new()),
            (Mark::From(first), None) => slice.from.clone_from(first),
            _ => {}
        },
    }
    let mut entries = Vec::new();
    answer(tree, dir, question, &family.table)?.cells(family, &slice, &mut |cell| {
        match lister.list(cell) {
            Listed::Passed => {}
            Listed::Over => return false,
            Listed::As(suffix) => entries.push(asked_entry(tree, (dir, family), cell, suffix, lister.cursor())),
        }
        entries.len() < limit
    })?;
    Ok(entries)
}

fn asked_entry(
    tree: &Tree,
    (dir, family): (&NodeKey, &FamilyPlace),
    cell: &FoundCell,
    suffix: Option<Suffix>,
    cursor: Vec<u8>,
) -> Entry {
    let limit = if suffix.is_some() { STEM_MAX } else { NAME_MAX };
    let stem = tree.spelling.file_name(Level::Qualifier, &cell.qualifier, limit);
    let column = Arc::new(family.column(cell.qualifier.clone()));
    let place = match suffix {
        Some(Suffix::Version(timestamp)) => Place::Version(column, timestamp),
        Some(Suffix::Deleted(timestamp, end)) => Place::Ended(column, timestamp, end),
        _ => Place::Cell(column),
    };
    // What a tombstone reads as is made when it is looked up.
    let info = cell.kind.is_put().then(|| cell.info.clone());
    let name = [stem, suffix.map_or_else(String::new, suffix::render).into_bytes()].concat();
    Entry::new(name, dir.sibling(place), cursor).with_cell(info)
}

/// Number and rest of a cursor.
fn split_number(cursor: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = cursor.split_first_chunk::<8>()?;
    Some((u64::from_be_bytes(*number), rest))
}

/// Gives cells their names: the first of a column has its name, older ones their times.
struct CellLister {
    /// Columns that have begun.
    number: u64,
    /// The last cell: its qualifier, and how far it is in the column.
    last: Option<(Vec<u8>, u64)>,
    most: u64,
    is_raw: bool,
}

enum Listed {
    /// It was listed before, or has the name of one that was.
    Passed,
    As(Option<Suffix>),
    /// No more columns are wanted.
    Over,
}

impl CellLister {
    fn list(&mut self, cell: &FoundCell) -> Listed {
        let at = rank(cell);
        let is_first = match &mut self.last {
            Some((qualifier, last)) if *qualifier == cell.qualifier => {
                if at <= *last {
                    return Listed::Passed;
                }
                *last = at;
                false
            }
            _ if self.number >= self.most => return Listed::Over,
            last => {
                *last = Some((cell.qualifier.clone(), at));
                self.number += 1;
                true
            }
        };
        let timestamp = cell.info.timestamp;
        match cell.kind {
            CellKind::Tombstone(_) => Listed::As(Some(Suffix::Deleted(timestamp, timestamp))),
            CellKind::Put if is_first && !self.is_raw => Listed::As(None),
            CellKind::Put => Listed::As(Some(Suffix::Version(timestamp))),
        }
    }

    fn cursor(&self) -> Vec<u8> {
        let (qualifier, at) = self.last.as_ref().map_or((&[][..], 0), |(qualifier, at)| (qualifier, *at));
        [&self.number.to_be_bytes(), &at.to_be_bytes(), qualifier].concat()
    }
}

/// The order of the cells of a column: newer ones first, of one time tombstones.
fn rank(cell: &FoundCell) -> u64 {
    let newer = (i64::MAX - cell.info.timestamp.0).cast_unsigned();
    newer * 2 + u64::from(cell.kind.is_put())
}
