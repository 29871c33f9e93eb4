//! A scan of the newest versions without more, row by row: see [`crate::store::plain`].

use super::{Loader, Scanner};
use crate::Result;
use crate::format::key;
use crate::model::TakePiece;
use crate::query::Step;
use crate::store::plain::{PlainRow, Taker};
use crate::store::read::SNAPSHOT_ROWS;

impl Scanner<'_> {
    /// Reads the next row of a range.
    pub(super) fn step_plain(&mut self, mut row: PlainRow, emit: TakePiece<'_>) -> Result<()> {
        if self.looked >= SNAPSHOT_ROWS {
            self.passed = row.row().or(self.passed.take());
            let lower = self.lower();
            self.renew();
            (0..self.lanes.len()).try_for_each(|at| self.open_lane(at, &lower).map(drop))?;
        } else {
            self.renew();
        }
        self.ended = self.query.is_over() || !row.enter(self.lanes.iter().filter_map(|lane| lane.cursor.as_ref()));
        if !self.ended {
            self.read_plain(&mut row, emit)?;
        }
        self.plain = Some(row);
        Ok(())
    }

    /// Reads the next row that an index has.
    pub(super) fn step_found(&mut self, mut row: PlainRow, emit: TakePiece<'_>) -> Result<()> {
        let found = if self.query.is_over() { None } else { self.next_row()? };
        self.ended = found.is_none();
        if let Some(found) = found {
            let prefix = key::row_prefix(&found);
            for at in 0..self.lanes.len() {
                self.open_lane(at, &prefix)?.lock().seek(&prefix)?;
            }
            row.enter_row(&prefix);
            self.read_plain(&mut row, emit)?;
            self.passed = Some(found);
        }
        self.plain = Some(row);
        Ok(())
    }

    /// Reads the row that was entered, at which the cursors stand, or behind it.
    fn read_plain(&mut self, row: &mut PlainRow, emit: TakePiece<'_>) -> Result<()> {
        let mut taker = Taker { loader: &mut Loader(self.engine, &self.snapshot), emit };
        for lane in &self.lanes {
            let Some(cursor) = &lane.cursor else { continue };
            row.read((&lane.family, self.query.now()), &mut cursor.lock(), &mut taker)?;
        }
        if row.finish(taker.emit)? {
            self.ended = self.query.count_row() == Step::Stop;
        }
        Ok(())
    }
}
