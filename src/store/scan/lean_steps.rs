//! A scan whose rows are read by a look at each column's first cell, row by row: see [`crate::store::read::lean`].

use super::Scanner;
use crate::Result;
use crate::format::key;
use crate::model::TakePiece;
use crate::query::{Step, Taker};
use crate::store::read::get::Loader;
use crate::store::read::lean::LeanRow;
use crate::store::read::point::VIEW_ROWS;

impl Scanner<'_> {
    /// Reads the next row of a range.
    pub(super) fn step_lean(&mut self, mut row: LeanRow, emit: TakePiece<'_>) -> Result<()> {
        if self.looked >= VIEW_ROWS {
            self.passed = row.row().or(self.passed.take());
            let lower = self.lower();
            self.renew();
            (0..self.lanes.len()).try_for_each(|at| self.open_lane(at, &lower).map(drop))?;
        } else {
            self.renew();
        }
        self.ended = self.query.is_over() || !row.enter(self.lanes.iter().filter_map(|lane| lane.cursor.as_ref()));
        if !self.ended {
            self.read_lean(&mut row, emit)?;
        }
        self.lean = Some(row);
        Ok(())
    }

    /// Reads the next row that an index has.
    pub(super) fn step_found(&mut self, mut row: LeanRow, emit: TakePiece<'_>) -> Result<()> {
        let found = if self.query.is_over() { None } else { self.next_row()? };
        self.ended = found.is_none();
        if let Some(found) = found {
            let prefix = key::row_prefix(&found);
            for at in 0..self.lanes.len() {
                self.open_lane(at, &prefix)?.lock().seek(&prefix)?;
            }
            row.enter_row(&prefix);
            self.read_lean(&mut row, emit)?;
            self.passed = Some(found);
        }
        self.lean = Some(row);
        Ok(())
    }

    /// Reads the row that was entered, at which the cursors stand, or behind it.
    fn read_lean(&mut self, row: &mut LeanRow, emit: TakePiece<'_>) -> Result<()> {
        let mut taker = Taker { loader: &mut Loader(self.engine, &self.view), emit };
        let lanes = self.lanes.iter().map(|lane| (&lane.family, lane.cursor.as_ref()));
        self.ended = row.read(&mut self.query, lanes, &mut taker)? == Step::Stop;
        Ok(())
    }
}
