//! The walk of a compaction over puts alone: without tombstones, TTLs of their own, restored and erasing puts, each column is
//! judged by itself, and most of them have one cell, which stays.

use super::{Ended, Looks, Merge, OpenRow, Scope, Walk};
use crate::Result;
use crate::format::key;
use crate::segment::ExtentFacts;
use crate::store::cursor::walk::Cursor;
use crate::store::engine::background::pace::Pace;
use crate::store::layout::far::FAR;
use crate::store::layout::runs::Run;
use crate::visibility::first_stays;

impl Merge<'_> {
    /// Whether all that is merged are such puts, none of which has to be asked for by name.
    pub(super) fn is_of_plain_puts(&self) -> bool {
        let Scope { row, qualifier } = &self.scope;
        let is_whole = row.is_none() && qualifier.is_none() && self.stale.is_none();
        is_whole && self.runs.iter().all(|run| has_plain_puts(run))
    }
}

fn has_plain_puts(run: &Run) -> bool {
    // Of what cannot be read nothing is known.
    run.extents.iter().all(|extent| extent.facts().is_some_and(ExtentFacts::has_plain_puts))
}

/// Where the walk is: what the keys of the row and of the column begin with, and the key of the column's first cell.
#[derive(Default)]
struct At {
    row: Vec<u8>,
    first: Vec<u8>,
}

impl At {
    fn column(&self) -> &[u8] {
        &self.first[..self.first.len().saturating_sub(key::SUFFIX)]
    }

    fn is_in_column(&self, key: &[u8]) -> bool {
        !self.first.is_empty() && key.starts_with(self.column())
    }

    fn enter_row(&mut self, key: &[u8]) {
        self.row.clear();
        self.row.extend_from_slice(&key[..key::row_prefix_len(key).unwrap_or(key.len())]);
    }

    fn enter_column(&mut self, key: &[u8]) {
        self.first.clear();
        self.first.extend_from_slice(key);
    }
}

impl<'a> Walk<'a, '_, '_> {
    /// As [`Walk::run`].
    pub(super) fn run_plain(
        &mut self,
        bytes: u64,
        pace: &mut Pace<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Ended> {
        let mut cursor = Cursor::of_runs(self.merge.family.id, &self.merge.runs, &[], FAR)?;
        let (mut at, mut looks) = (At::default(), Looks { looked: 0, pace, progress });
        // Of a column that has more than its first cell.
        let mut open: Option<OpenRow<'a>> = None;
        while let Some(key) = cursor.key() {
            if !looks.go_on() {
                return Ok(Ended::Stopped);
            }
            if at.is_in_column(key) {
                match &mut open {
                    Some(open) => self.pass(open, &mut cursor)?,
                    None => open = Some(self.open_column(&at, &mut cursor)?),
                }
            } else {
                open.take().map_or(Ok(()), |open| self.end_row(open))?;
                let Some(key) = cursor.key() else { break };
                if !key.starts_with(&at.row) || at.row.is_empty() {
                    at.enter_row(key);
                    if self.output.bytes() >= bytes {
                        return Ok(Ended::Before(at.row.as_slice().into()));
                    }
                }
                at.enter_column(key);
                open = self.pass_first(&at, &mut cursor)?;
            }
            cursor.advance()?;
        }
        open.map_or(Ok(()), |open| self.end_row(open))?;
        Ok(Ended::Whole)
    }

    /// Writes a column's first cell; `Some`: the rules in full judge it and those that follow.
    fn pass_first(&mut self, at: &At, cursor: &mut Cursor) -> Result<Option<OpenRow<'a>>> {
        let Merge { rules, now, .. } = *self.merge;
        if key::decode_suffix(&at.first).is_some_and(|(timestamp, ..)| first_stays(rules, now, timestamp)) {
            return self.keep(cursor).map(|()| None);
        }
        let mut open = self.start(&at.row, at.column());
        self.pass(&mut open, cursor)?;
        Ok(Some(open))
    }

    /// The second cell of a column is met: the first one is written already.
    fn open_column(&mut self, at: &At, cursor: &mut Cursor) -> Result<OpenRow<'a>> {
        let mut open = self.start(&at.row, at.column());
        self.judge(&mut open, &at.first, super::no_tags())?;
        open.written = 1;
        self.pass(&mut open, cursor)?;
        Ok(open)
    }
}
