//! An answer with its values: which rows its last step picks; of all rows or one, of all families or one.

use std::sync::Arc;

use super::answer::{Answer, From, last_of_all};
use super::marks::Mark;
use super::question::{Pick, Question};
use super::sample;
use crate::Result;
use crate::model::{Columns, Piece, Qualifier, RowKey, Scan, TakePiece, Tells, after_prefix};
use crate::query::Scope;
use crate::tree::place::FamilyPlace;

impl Answer<'_> {
    /// Which rows `.first`, `.last` and `.sample` pick.
    pub fn mark(&self, seed: u64) -> Result<Mark> {
        match self.question.pick() {
            Pick::All => Ok(Mark::All),
            Pick::First(most) => {
                let (mut count, mut last) = (0, None);
                self.rows(From::Start, Some(most), |row| {
                    count += 1;
                    last = Some(row);
                    true
                })?;
                Ok(if count == most { last.map_or(Mark::All, Mark::Upto) } else { Mark::All })
            }
            Pick::Last(most) if self.scope == Scope::Rows => {
                let keys = |each: &mut dyn FnMut(RowKey) -> bool| self.rows(From::Start, None, each);
                last_of_all(most, &keys)
            }
            Pick::Last(most) => self.last_rows(most),
            Pick::Sample(most) => sample::rows(self, most, seed).map(Mark::These),
        }
    }

    /// The scans that have the rows of one: where keys have one of several beginnings, one for each, so that what lies
    /// between them is not read.
    pub(in crate::tree) fn parts(&self, scan: Scan) -> Vec<Scan> {
        let apart = self.scope != Scope::Rows && scan.by.is_none() && !scan.reversed;
        let Some(prefixes) = self.question.prefixes().filter(|_| apart) else { return vec![scan] };
        let part = |prefix: &Vec<u8>| {
            let (mut part, stop) = (scan.clone(), after_prefix(prefix));
            if part.start < *prefix {
                (part.start, part.start_inclusive) = (prefix.clone(), true);
            }
            if !stop.is_empty() && (part.stop.is_empty() || part.stop > stop) {
                (part.stop, part.stop_inclusive) = (stop, false);
            }
            (part.stop.is_empty() || part.start < part.stop).then_some(part)
        };
        prefixes.iter().filter_map(part).collect()
    }

    /// The columns that are asked for; empty: all.
    pub fn columns(&self) -> &Columns {
        &self.scan.read.columns
    }

    /// It with its values, or what else it is to tell: of all rows or one, of all families or one; of both those that the marks pick.
    pub fn pieces(
        &self,
        (row, place): (Option<&[u8]>, Option<&Arc<FamilyPlace>>),
        (rows, cells): (&Mark, &Mark),
        tells: Tells,
        take: TakePiece<'_>,
    ) -> Result<()> {
        let mut scan = Scan { tells, ..self.scan.clone() };
        let mut chosen =
            Chosen { row: row.map(<[u8]>::to_vec), question: self.question, place, rows, cells, open: None };
        if let Some(row) = row {
            if let Some(place) = place.filter(|_| self.scope == Scope::Cell)
                && !self.narrow((&place.family, &cells.slice()), &mut scan)
            {
                return Ok(());
            }
            return match self.in_range(row) {
                true => self.backend.scan_pieces(&self.of_row(scan, row), &mut |piece| chosen.take(piece, take)),
                false => Ok(()),
            };
        }
        match (rows, self.question.pick()) {
            (Mark::None, _) => return Ok(()),
            (Mark::These(keys), _) => {
                return keys.iter().try_for_each(|row| {
                    let one = self.of_row(scan.clone(), row);
                    self.backend.scan_pieces(&one, &mut |piece| chosen.take(piece, take))
                });
            }
            (_, Pick::First(most)) => scan.limit = Some(most),
            (Mark::From(first), _) if self.scope != Scope::Rows => scan.start = first.clone(),
            _ => {}
        }
        let mut left = scan.limit;
        for mut part in self.parts(scan) {
            part.limit = left;
            self.backend.scan_pieces(&part, &mut |piece| {
                if let (Piece::Row(_), Some(left)) = (piece, &mut left) {
                    *left = left.saturating_sub(1);
                }
                chosen.take(piece, take)
            })?;
            if left == Some(0) {
                break;
            }
        }
        Ok(())
    }
}

/// Takes of an answer what is wanted.
struct Chosen<'a> {
    row: Option<RowKey>,
    question: &'a Question,
    place: Option<&'a Arc<FamilyPlace>>,
    rows: &'a Mark,
    cells: &'a Mark,
    /// The row that has begun, if it is wanted: whether it has a cell, and whether the last cell is wanted.
    open: Option<(RowKey, bool, bool)>,
}

impl Chosen<'_> {
    fn take(&mut self, piece: &Piece, take: TakePiece<'_>) -> Result<()> {
        match piece {
            Piece::Row(row) => {
                let is_wanted = self.rows.picks(row) && self.row.as_ref().is_none_or(|wanted| wanted == row);
                self.open = is_wanted.then(|| (row.clone(), false, false));
                Ok(())
            }
            Piece::Cell(cell) | Piece::Head(cell, _) => self.take_cell((&cell.family, &cell.qualifier), piece, take),
            Piece::Found(cell) => self.take_cell((&cell.family, &cell.qualifier), piece, take),
            Piece::Value(_) if self.open.as_ref().is_some_and(|(.., is_shown)| *is_shown) => take(piece),
            Piece::End if self.open.take().is_some_and(|(_, has_cell, _)| has_cell) => take(piece),
            Piece::Value(_) | Piece::End => Ok(()),
        }
    }

    fn take_cell(&mut self, (family, qualifier): (&str, &Qualifier), piece: &Piece, take: TakePiece<'_>) -> Result<()> {
        let is_wanted = self.wants(family, qualifier);
        let Some((row, has_cell, is_shown)) = &mut self.open else { return Ok(()) };
        *is_shown = is_wanted;
        if is_wanted && !std::mem::replace(has_cell, true) {
            take(&Piece::Row(row.clone()))?;
        }
        if is_wanted { take(piece) } else { Ok(()) }
    }

    fn wants(&self, family: &str, qualifier: &Qualifier) -> bool {
        let Some(place) = self.place else { return true };
        let named = self.question.columns_of_cells().and_then(|named| named.get(&place.family)?.as_ref());
        place.family == family
            && self.question.slice_of_cells().contains(qualifier)
            && named.is_none_or(|names| names.contains(qualifier))
            && self.cells.picks(qualifier)
    }
}
