//! The answer to the question of a scan path: its rows, the families and cells of one of them, each by one scan that reads
//! no more than is asked for.

use std::collections::{BTreeSet, VecDeque};

use super::marks::Mark;
use super::question::{Pick, Question};
use crate::backend::{Backend, RowPiece};
use crate::model::{ColumnSlice, Columns, FoundCell, Piece, Qualifier, RowKey, Scan, TableName, Tells};
use crate::query::{Scope, parse, scope};
use crate::tree::place::FamilyPlace;
use crate::tree::view::View;
use crate::{Error, ErrorKind, Result};

/// Rows of a piece of the table that is looked through backwards.
const BACK: u64 = 256;
const BACK_MOST: u64 = 16_384;

/// See the module.
pub(in crate::tree) struct Answer<'a> {
    pub(in crate::tree) backend: &'a dyn Backend,
    pub(in crate::tree) question: &'a Question,
    /// All rows of it.
    pub(in crate::tree) scan: Scan,
    /// What its filter sees before it judges.
    pub(in crate::tree) scope: Scope,
}

impl<'a> Answer<'a> {
    pub fn new(backend: &'a dyn Backend, table: &TableName, view: View, question: &'a Question) -> Result<Self> {
        let mut scan = Scan { tells: Tells::Infos, ..question.scan(table, view) };
        if let Some(by) = &scan.by
            && let Some(schema) = backend.catalogue()?.tables.get(table)
        {
            schema.index_asked(by)?.narrow(schema, &mut scan);
        }
        let filter = scan.read.filter.as_deref().map(parse).transpose()?;
        Ok(Self { backend, question, scan, scope: filter.as_ref().map_or(Scope::Cell, scope) })
    }

    /// Whether what a filter says of a row depends on the rows before it: each look begins at the first.
    pub fn is_sequential(&self) -> bool {
        self.scope == Scope::Rows
    }

    /// Whether each look walks over a range of an index as a whole, wherever it begins: its entries lie in the order of
    /// values.
    pub fn walks_range(&self) -> bool {
        self.scan.by.as_ref().is_some_and(|by| by.equals.is_empty())
    }

    /// Calls `each` with the rows of `[from, ...)` or behind `after`, ascending, while it answers true.
    pub fn rows(&self, from: From<'_>, most: Option<u64>, mut each: impl FnMut(RowKey) -> bool) -> Result<()> {
        let mut scan = self.keys();
        if self.scope != Scope::Rows {
            from.narrow(&mut scan);
            scan.limit = most;
        }
        let mut left = most.unwrap_or(u64::MAX);
        for part in self.parts(scan) {
            for result in self.backend.scan(&part)? {
                let row = result?.row;
                if self.scope == Scope::Rows && !from.has(&row) {
                    continue;
                }
                left = left.saturating_sub(1);
                if !each(row) || left == 0 {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// How many rows it has, where that is known without a look at each.
    pub fn count_rows(&self) -> Result<Option<u64>> {
        self.backend.count_rows(&self.scan)
    }

    /// A scan of which only the keys of rows are of interest.
    fn keys(&self) -> Scan {
        let mut scan = self.scan.clone();
        if self.scope == Scope::Cell {
            scan.read.max_per_family = Some(1);
        }
        scan
    }

    /// The same of one row, or up to it where its filter has to see what is before.
    pub(in crate::tree) fn of_row(&self, mut scan: Scan, row: &[u8]) -> Scan {
        if self.scope != Scope::Rows {
            (scan.start, scan.start_inclusive, scan.limit) = (row.to_vec(), true, Some(1));
        }
        (scan.stop, scan.stop_inclusive) = (row.to_vec(), true);
        scan
    }

    /// Whether a row lies in the range that is asked for.
    pub(in crate::tree) fn in_range(&self, row: &[u8]) -> bool {
        row >= self.scan.start.as_slice() && (self.scan.stop.is_empty() || row < self.scan.stop.as_slice())
    }

    /// Whether a row is in it, if all of them are wanted.
    pub fn has_row(&self, row: &[u8]) -> Result<bool> {
        if !self.in_range(row) {
            return Ok(false);
        }
        let mut last = None;
        for result in self.backend.scan(&self.of_row(self.keys(), row))? {
            last = Some(result?.row);
        }
        Ok(last.as_deref() == Some(row))
    }

    /// Families of a row with a cell in it, ascending.
    pub fn families(&self, row: &[u8]) -> Result<BTreeSet<String>> {
        let mut families = BTreeSet::new();
        if self.in_range(row) {
            self.found(&self.of_row(self.keys(), row), row, &mut |cell| {
                if !families.contains(&cell.family) {
                    families.insert(cell.family.clone());
                }
                true
            })?;
        }
        Ok(families)
    }

    /// Cells of a row and family within a slice of what is asked for, in HBase's order, while `each` answers true.
    pub fn cells(
        &self,
        place: &FamilyPlace,
        slice: &ColumnSlice,
        each: &mut dyn FnMut(&FoundCell) -> bool,
    ) -> Result<()> {
        let (family, named) = (&place.family, self.question.columns_of_cells());
        let slice = slice.and(&self.question.slice_of_cells());
        let mut scan = self.scan.clone();
        if self.scope == Scope::Cell && !self.narrow((family, &slice), &mut scan) {
            return Ok(());
        }
        if !self.in_range(&place.row) {
            return Ok(());
        }
        let wanted = |qualifier: &Qualifier| {
            let of_family = named.and_then(|named| named.get(family)).and_then(Option::as_ref);
            slice.contains(qualifier) && of_family.is_none_or(|names| names.contains(qualifier))
        };
        self.found(&self.of_row(scan, &place.row), &place.row, &mut |cell| {
            cell.family != *family || !wanted(&cell.qualifier) || each(cell)
        })
    }

    /// Narrows a scan to what is asked for of a family, and to a slice of its columns; whether there can be any. Not where
    /// a filter has to see more than the cell that it judges.
    pub(in crate::tree) fn narrow(&self, (family, slice): (&str, &ColumnSlice), scan: &mut Scan) -> bool {
        let named = self.question.columns_of_cells().filter(|_| !scan.read.raw);
        let Some(columns) = narrowed(&scan.read.columns, family, named) else { return false };
        (scan.read.columns, scan.read.slice) = (columns, slice.and(&self.question.slice_of_cells()));
        true
    }

    fn found(&self, scan: &Scan, row: &[u8], each: &mut dyn FnMut(&FoundCell) -> bool) -> Result<()> {
        let (mut is_here, mut enough) = (false, false);
        let done = self.backend.scan_pieces(scan, &mut |piece| {
            match piece {
                Piece::Row(of) => is_here = of.as_slice() == row,
                Piece::Found(cell) if is_here => enough = !each(cell),
                _ => {}
            }
            // Nothing but an error ends such a scan.
            if enough { Err(Error::new(ErrorKind::Overtaken, "nothing more is wanted")) } else { Ok(()) }
        });
        if enough { Ok(()) } else { done }
    }

    /// The table is looked through backwards piece by piece, each piece forwards: in a reversed scan some filters judge
    /// otherwise.
    pub(in crate::tree) fn last_rows(&self, most: u64) -> Result<Mark> {
        if self.scan.read.filter.is_none() {
            let (first, count) = self.back(None, most)?;
            return Ok(first.filter(|_| count == most).map_or(Mark::All, Mark::From));
        }
        let (mut found, mut before, mut piece) = (0, None::<RowKey>, most.clamp(1, BACK));
        loop {
            let (first, count) = self.back(before.as_deref(), piece)?;
            let Some(first) = first else { return Ok(Mark::All) };
            let mut rows = VecDeque::new();
            let wanted = usize::try_from(most - found).unwrap_or(usize::MAX);
            self.rows(From::At(&first, before.as_deref()), None, |row| {
                rows.push_back(row);
                if rows.len() > wanted {
                    rows.pop_front();
                }
                true
            })?;
            found += rows.len() as u64;
            if found == most {
                return Ok(rows.pop_front().map_or(Mark::All, Mark::From));
            }
            if count < piece {
                return Ok(Mark::All);
            }
            before = Some(first);
            piece = (piece * 2).min(BACK_MOST);
        }
    }

    /// The first of at most so many rows before one, or at the end, whatever the filter says; and how many there are.
    fn back(&self, before: Option<&[u8]>, most: u64) -> Result<(Option<RowKey>, u64)> {
        let mut scan = self.scan.clone();
        (scan.start, scan.stop) = (before.unwrap_or(&scan.stop).to_vec(), scan.start);
        (scan.start_inclusive, scan.stop_inclusive) = (false, true);
        (scan.reversed, scan.limit, scan.read.filter) = (true, Some(most), None);
        scan.read.max_per_family = Some(1);
        let (mut first, mut count) = (None, 0);
        for result in self.backend.scan(&scan)? {
            first = Some(result?.row);
            count += 1;
        }
        Ok((first, count))
    }

    /// Which qualifiers of a family `.first` and `.last` pick.
    pub fn mark_of_cells(&self, place: &FamilyPlace) -> Result<Mark> {
        let columns = |each: &mut dyn FnMut(Qualifier) -> bool| {
            let mut last: Option<Qualifier> = None;
            self.cells(place, &ColumnSlice::default(), &mut |cell| {
                if last.as_ref() == Some(&cell.qualifier) {
                    return true;
                }
                last = Some(cell.qualifier.clone());
                each(cell.qualifier.clone())
            })
        };
        match self.question.pick_of_cells() {
            Pick::First(most) => {
                let (mut count, mut last) = (0, None);
                columns(&mut |qualifier| {
                    count += 1;
                    last = Some(qualifier);
                    count < most
                })?;
                Ok(if count == most { last.map_or(Mark::All, Mark::Upto) } else { Mark::All })
            }
            Pick::Last(most) => match self.last_columns(place, most)? {
                Some(mark) => Ok(mark),
                None => last_of_all(most, &columns),
            },
            Pick::All | Pick::Sample(_) => Ok(Mark::All),
        }
    }

    /// By a walk backwards over the columns of the row; `None`: there is no such walk, or it would not tell.
    fn last_columns(&self, place: &FamilyPlace, most: u64) -> Result<Option<Mark>> {
        if self.scope != Scope::Cell || self.scan.read.raw {
            return Ok(None);
        }
        let FamilyPlace { table, row, family } = place;
        let slice = self.question.slice_of_cells();
        let (mut before, mut found) = (slice.before.clone(), 0);
        loop {
            let page = usize::try_from((most - found).min(BACK)).unwrap_or(1);
            let range = self.scan.read.time_range;
            let Some(columns) = self.backend.last_columns((table, row, family), &before, range, page)? else {
                return Ok(None);
            };
            for qualifier in &columns {
                if *qualifier < slice.from {
                    return Ok(Some(Mark::All));
                }
                let mut is_there = false;
                self.cells(place, &ColumnSlice::of(qualifier), &mut |_| {
                    is_there = true;
                    false
                })?;
                found += u64::from(is_there);
                if found == most {
                    return Ok(Some(Mark::From(qualifier.clone())));
                }
            }
            match columns.into_iter().next_back() {
                // Nothing is before the empty qualifier.
                Some(last) if !last.is_empty() => before = last,
                _ => return Ok(Some(Mark::All)),
            }
        }
    }

    /// Its rows in a piece of the table at random; `None`: there are no such pieces.
    pub fn draw(&self, number: u64) -> Result<Option<Vec<RowKey>>> {
        let range = (self.scan.start.as_slice(), self.scan.stop.as_slice());
        let Some(RowPiece { from, before }) = self.backend.draw_piece(&self.scan.table, range, number)? else {
            return Ok(None);
        };
        let mut rows = Vec::new();
        let first = from.unwrap_or_default();
        self.rows(From::At(first.as_slice().max(range.0), before.as_deref()), None, |row| {
            rows.push(row);
            true
        })?;
        Ok(Some(rows))
    }
}

/// Where a walk over rows begins.
#[derive(Clone, Copy, Debug)]
pub(in crate::tree) enum From<'k> {
    Start,
    After(&'k [u8]),
    /// At a row, and before another.
    At(&'k [u8], Option<&'k [u8]>),
}

impl From<'_> {
    fn has(self, row: &[u8]) -> bool {
        match self {
            From::Start => true,
            From::After(after) => row > after,
            From::At(first, before) => row >= first && before.is_none_or(|before| row < before),
        }
    }

    fn narrow(self, scan: &mut Scan) {
        match self {
            From::Start => {}
            From::After(after) if after >= scan.start.as_slice() => {
                (scan.start, scan.start_inclusive) = (after.to_vec(), false);
            }
            From::After(_) => {}
            From::At(first, before) => {
                scan.start = first.to_vec();
                if let Some(before) = before.filter(|before| scan.stop.is_empty() || *before < scan.stop.as_slice()) {
                    scan.stop = before.to_vec();
                }
            }
        }
    }
}

/// The family, and those of its columns that both ask for; `None`: nothing.
fn narrowed(columns: &Columns, family: &str, named: Option<&Columns>) -> Option<Columns> {
    let of = |columns: &Columns| columns.get(family).cloned();
    let asked = if columns.is_empty() { None } else { of(columns)? };
    let names = match (asked, named.and_then(of).flatten()) {
        (Some(asked), Some(named)) => Some(asked.intersection(&named).cloned().collect()),
        (asked, named) => asked.or(named),
    };
    names
        .as_ref()
        .is_none_or(|names: &BTreeSet<Qualifier>| !names.is_empty())
        .then(|| Columns::from([(family.to_owned(), names)]))
}

/// Calls what it is given with each of many keys, while that answers true.
type Keys<'k> = dyn Fn(&mut dyn FnMut(Vec<u8>) -> bool) -> Result<()> + 'k;

/// Of keys that come ascending: they are counted, then the first of the last so many is found.
pub(in crate::tree) fn last_of_all(most: u64, keys: &Keys<'_>) -> Result<Mark> {
    let mut count = 0_u64;
    keys(&mut |_| {
        count += 1;
        true
    })?;
    let Some(mut before) = count.checked_sub(most).filter(|before: &u64| *before > 0) else { return Ok(Mark::All) };
    let mut first = None;
    keys(&mut |key| {
        let is_first = before == 0;
        before = before.saturating_sub(1);
        first = is_first.then_some(key);
        !is_first
    })?;
    Ok(first.map_or(Mark::None, Mark::From))
}
