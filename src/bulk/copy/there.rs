//! What the target has of a row already: a tombstone that is written again would hide for a moment what is shown, and take
//! for good what is kept.

use super::kept::Kept;
use super::rows::{is_put, place};
use super::stream::Stream;
use super::{Job, RowKey};
use crate::Result;
use crate::backend::Versions;
use crate::model::{Cell, TimeRange};

/// Asked in the order of raw scans.
pub struct There<'a> {
    raw: Stream,
    /// Cells of one place, and the first one behind it.
    here: Vec<Cell>,
    next: Option<Cell>,
    kept: Kept<'a>,
}

impl<'a> There<'a> {
    /// `None`: it shows what the source does not show, and all is written that may hide it; or it has nothing.
    pub fn of(job: &'a Job, row: &'a RowKey) -> Result<Option<Self>> {
        let has_any = || job.to.list_families(&job.target, row, TimeRange::ALL, Versions::LiveAndKept);
        if has_any()?.is_empty() || shows_more(job, row)? {
            return Ok(None);
        }
        let mut raw = job.row_there(row, true)?;
        let next = raw.next_cell()?;
        Ok(Some(Self { raw, here: Vec::new(), next, kept: Kept::new(&job.to, &job.target, row) }))
    }

    pub fn has(&mut self, cell: &Cell) -> Result<bool> {
        if is_put(cell) {
            let end = self.kept.find(cell)?.and_then(|info| info.deleted_at);
            return Ok(end.is_some() && end == cell.tags.ended_at);
        }
        let wanted = place(cell);
        if self.here.first().is_none_or(|here| place(here) < wanted) {
            self.here.clear();
        }
        while let Some(next) = self.next.take_if(|next| place(next) <= wanted) {
            if place(&next) == wanted && !is_put(&next) {
                self.here.push(next);
            }
            self.next = self.raw.next_cell()?;
        }
        Ok(self.here.iter().any(|here| place(here) == wanted && here.kind == cell.kind))
    }
}

fn shows_more(job: &Job, row: &RowKey) -> Result<bool> {
    let mut there = job.row_there(row, false)?;
    let Some(mut shown) = there.next_cell()? else { return Ok(false) };
    let mut source = job.row(row, false)?;
    while let Some(cell) = source.next_cell()? {
        if place(&cell) > place(&shown) {
            return Ok(true);
        }
        if place(&cell) == place(&shown) {
            match there.next_cell()? {
                Some(next) => shown = next,
                None => return Ok(false),
            }
        }
    }
    Ok(true)
}
