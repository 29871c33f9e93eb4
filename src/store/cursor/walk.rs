//! A forward walk over the cells of memtables and extents of a family as one sorted sequence.
//!
//! Holds no lock between calls, and keeps the files that it reads by its view.

use std::borrow::Cow;
use std::sync::Arc;

use super::front::Front;
use super::lane::{Copied, Lane, MemoryLane, RunLane};
use super::lent::{Lent, no_tags};
use super::looks::Looks;
use super::view::{ReadView, in_doubt};
use crate::Result;
use crate::format::key;
use crate::model::{CellKind, FamilyId, Generation, SeqNo, StoredCell, Tags, Tombstone};
use crate::segment::{Extent, ExtentCursor, Reading};
use crate::store::layout::far::FAR;
use crate::store::layout::runs::Run;
use crate::store::memory::memtable::MemCell;

/// See the module.
pub struct Cursor {
    family: FamilyId,
    read_point: SeqNo,
    /// First key that is past what is wanted; [`FAR`]: there is none, and no key has to be compared with it.
    end: End,
    is_endless: bool,
    front: Front,
    /// After a step: so many bytes exactly the next key shares with the one before, 0: that is not known.
    pub(super) shared: usize,
    looks: Looks,
}

/// Where a walk ends.
pub type End = Cow<'static, [u8]>;

impl Cursor {
    /// The cells of a family in `[from, end)`; the first page of a memtable has `first` cells at most.
    ///
    /// Errors: while it is not known what was lost, as all that walk over columns or rows.
    pub fn new(view: &ReadView, family: FamilyId, from: &[u8], end: impl Into<End>, first: usize) -> Result<Self> {
        Self::copying(view, (family, Copied::All), from, end, first)
    }

    /// As [`Cursor::new`]; what is copied of a memtable beforehand is said.
    pub fn copying(
        view: &ReadView,
        (family, copied): (FamilyId, Copied),
        from: &[u8],
        end: impl Into<End>,
        first: usize,
    ) -> Result<Self> {
        view.check_doubt()?;
        let reading = if first > 16 { Reading::Walk } else { Reading::Point };
        let mut cursor = Self::of_memtables(view, (family, copied), from, end, first)?;
        if let Some(runs) = view.layout.runs(family) {
            for run in &runs.runs {
                cursor.add_run(run, from, reading)?;
            }
        }
        cursor.order();
        Ok(cursor)
    }

    /// As [`Cursor::new`], of the memtables alone.
    pub fn in_memory(
        view: &ReadView,
        family: FamilyId,
        from: &[u8],
        end: impl Into<End>,
        first: usize,
    ) -> Result<Self> {
        Self::of_memtables(view, (family, Copied::All), from, end, first)
    }

    fn of_memtables(
        view: &ReadView,
        (family, copied): (FamilyId, Copied),
        from: &[u8],
        end: impl Into<End>,
        first: usize,
    ) -> Result<Self> {
        let read_point = view.read_point;
        let mut cursor = Self::empty(family, end.into(), read_point);
        cursor.looks = Looks::counted_by(&view.looks);
        for table in view.tables.of(family) {
            let mut lane = MemoryLane::new(table, copied, from, first);
            lane.fill(&cursor.end, read_point);
            cursor.add(Lane::Memory(Box::new(lane)));
        }
        cursor.order();
        Ok(cursor)
    }

    /// The cells of runs alone.
    pub fn of_runs(family: FamilyId, runs: &[Arc<Run>], from: &[u8], end: impl Into<End>) -> Result<Self> {
        let mut cursor = Self::empty(family, end.into(), SeqNo(u64::MAX));
        for run in runs {
            cursor.add_run(run, from, Reading::Walk)?;
        }
        cursor.order();
        Ok(cursor)
    }

    fn empty(family: FamilyId, end: End, read_point: SeqNo) -> Self {
        let (is_endless, looks) = (*end == *FAR, Looks::default());
        Self { family, read_point, end, is_endless, front: Front::default(), shared: 0, looks }
    }

    /// Another run; [`Cursor::order`] comes after.
    fn add_run(&mut self, run: &Arc<Run>, from: &[u8], reading: Reading) -> Result<()> {
        if run.first_key() >= &*self.end || run.last_key() < from {
            return Ok(());
        }
        let generation = Generation(run.last_layer);
        let mut lane = RunLane { run: Arc::clone(run), generation, reading, at: 0, cursor: None };
        lane.seek(from)?;
        self.add(Lane::Run(Box::new(lane)));
        Ok(())
    }

    /// As [`Cursor::add_run`], in order.
    pub fn with_run(mut self, run: &Arc<Run>, from: &[u8], reading: Reading) -> Result<Self> {
        self.add_run(run, from, reading)?;
        self.order();
        Ok(self)
    }

    /// Where a column's first cell stands in front: older runs are left out that cannot have it.
    ///
    /// Errors: what was lost may have been newer.
    pub fn first_of(view: &ReadView, family: FamilyId, row: &[u8], column: &[u8]) -> Result<Self> {
        let cursor = Self::first_found(view, family, row, column)?;
        match view.doubt {
            Some(upto) if !cursor.is_settled(upto) => Err(in_doubt(upto)),
            _ => Ok(cursor),
        }
    }

    /// Whether the cell in front was written behind a number and hides for good what was there before.
    fn is_settled(&self, upto: SeqNo) -> bool {
        let Some((_, kind, seq)) = self.key().and_then(key::decode_suffix) else { return false };
        let hides = match kind {
            // What was below one that expires shows again; one that was restored with its end hides nothing.
            CellKind::Put => self.tags().is_some_and(|t| t.ttl_ms.is_none() && t.ended_at.is_none()),
            CellKind::Tombstone(Tombstone::Column | Tombstone::Family) => true,
            CellKind::Tombstone(Tombstone::Version | Tombstone::FamilyVersion) => false,
        };
        seq > upto && hides
    }

    fn first_found(view: &ReadView, family: FamilyId, row: &[u8], column: &[u8]) -> Result<Self> {
        let mut cursor = Self::in_memory(view, family, column, key::prefix_end(column), 1)?;
        let Some(runs) = view.layout.runs(family) else { return Ok(cursor) };
        for (at, run) in runs.runs.iter().enumerate().rev() {
            let found = cursor.key().and_then(key::decode_suffix).map(|(timestamp, ..)| timestamp);
            if found.is_some_and(|found| runs.runs[..=at].iter().all(|older| older.greatest < found)) {
                break;
            }
            if run.may_hold(column, &|extent| extent.may_hold_column(row, column))? {
                cursor = cursor.with_run(run, column, Reading::Point)?;
            }
        }
        Ok(cursor)
    }

    /// The cells of a row that decide about a column: all of it, and the row's tombstones of the family; others may be
    /// among them.
    pub fn of_column(view: &ReadView, family: FamilyId, row: &[u8], column: &[u8]) -> Result<Self> {
        if view.doubt.is_some() {
            Self::first_of(view, family, row, column)?;
        }
        let mut cursor = Self::in_memory(view, family, row, key::prefix_end(row), 16)?;
        for run in view.layout.runs(family).iter().flat_map(|runs| &runs.runs) {
            let needed =
                |extent: &Extent| Ok(extent.may_hold_column(row, column)? || extent.may_hold_family_tombstone(row)?);
            if run.may_hold(row, &needed)? {
                cursor = cursor.with_run(run, row, Reading::Point)?;
            }
        }
        Ok(cursor)
    }

    /// The bytes of the next cell's value, or of its root.
    pub fn load_value(&mut self, out: &mut Vec<u8>) -> Result<()> {
        out.clear();
        match self.front.first_mut() {
            Some(Lane::Memory(lane)) => {
                out.extend_from_slice(lane.page.get(lane.at).map_or(&[], MemCell::stored));
                Ok(())
            }
            Some(Lane::Run(lane)) => lane.cursor.as_mut().map_or(Ok(()), |cursor| cursor.read_value(out)),
            None => Ok(()),
        }
    }

    fn add(&mut self, lane: Lane) {
        self.looks.add();
        if lane.key().is_some_and(|key| key < &*self.end) {
            self.front.push(lane);
        }
    }

    /// Lanes were added or have moved far.
    fn order(&mut self) {
        let (end, is_endless) = (&*self.end, self.is_endless);
        self.front.order(|key| is_endless || key < end);
        self.shared = 0;
    }

    /// Whether the next cell has a prefix, of which it has as much as the last step has shared.
    #[inline]
    pub fn goes_on_with(&self, prefix: &[u8]) -> bool {
        let Some(key) = self.key() else { return false };
        let (Some(rest), Some(wanted)) = (key.get(self.shared..), prefix.get(self.shared..)) else { return true };
        // Mostly the first byte tells.
        rest.first() == wanted.first() && rest.starts_with(wanted) || wanted.is_empty()
    }

    /// The next key, without moving.
    pub fn key(&self) -> Option<&[u8]> {
        self.front.first().and_then(Lane::key)
    }

    /// As [`Cursor::key`].
    pub fn peek(&mut self) -> Result<Option<&[u8]>> {
        Ok(self.key())
    }

    /// The next cell, without moving.
    pub fn cell(&self) -> Option<Lent<'_>> {
        match self.front.first()? {
            Lane::Memory(lane) => lane.page.get(lane.at).map(Lent::Memory),
            Lane::Run(lane) => lane.cursor.as_ref().and_then(ExtentCursor::cell).map(Lent::Stored),
        }
    }

    /// What rides along with the next cell.
    pub fn tags(&self) -> Option<Cow<'_, Tags>> {
        match self.front.first()? {
            Lane::Memory(lane) => lane.page.get(lane.at).map(|cell| Cow::Borrowed(cell.tags().unwrap_or(no_tags()))),
            Lane::Run(lane) => match lane.cursor.as_ref()? {
                cursor if cursor.has_tags() => cursor.cell().map(|cell| Cow::Owned(Lent::Stored(cell).tags())),
                // Most have none: no cell is made to say so.
                cursor => cursor.key().map(|_| Cow::Borrowed(no_tags())),
            },
        }
    }

    /// The value of the next cell, if it stands beside its key and the cell has no tags.
    #[inline]
    pub fn bare_value(&self) -> Option<&[u8]> {
        match self.front.first()? {
            Lane::Memory(lane) => lane.page.get(lane.at).and_then(MemCell::bare_value),
            Lane::Run(lane) => lane.cursor.as_ref().and_then(ExtentCursor::bare_value),
        }
    }

    /// The flush that brought the next cell; 0: it is in memory.
    pub fn generation(&self) -> Generation {
        match self.front.first() {
            Some(Lane::Run(lane)) => lane.generation,
            Some(Lane::Memory(_)) | None => Generation(0),
        }
    }

    /// Passes the next cell by.
    #[inline]
    pub fn advance(&mut self) -> Result<()> {
        self.step(|lane, end, read_point| lane.advance(end, read_point))
    }

    /// Moves the lane in front, which tells how much its next key shares with the one before.
    #[inline]
    fn step(&mut self, step: impl FnOnce(&mut Lane, &[u8], SeqNo) -> Result<usize>) -> Result<()> {
        let Some(lane) = self.front.first_for_step() else { return Ok(()) };
        let shared = step(lane, &self.end, self.read_point)?;
        self.looks.add();
        let has_next = lane.key().is_some_and(|key| self.is_endless || key < &*self.end);
        self.shared = if has_next { self.front.settle(shared) } else { self.front.end_first() };
        Ok(())
    }

    /// Moves to the first cell that is not before `target`; never back.
    pub fn seek(&mut self, target: &[u8]) -> Result<()> {
        let mut moved = false;
        for lane in self.front.lanes_mut() {
            if lane.key().is_some_and(|key| key < target) {
                lane.seek(target, &self.end, self.read_point)?;
                self.looks.add();
                moved = true;
            }
        }
        if moved {
            self.order();
        }
        Ok(())
    }

    /// The next cell as the rules of visibility see it, if it is before `end`; `row_len`: of the key's part that names
    /// the row.
    pub fn next_before(&mut self, end: &[u8], row_len: usize) -> Result<Option<StoredCell>> {
        if self.key().is_none_or(|key| key >= end) {
            return Ok(None);
        }
        let stored = self.stored(row_len);
        self.advance()?;
        Ok(stored)
    }

    /// Moves past the row of a prefix, in which it stands and before whose end all of its lanes are in that row.
    #[inline]
    pub(super) fn leave(&mut self, prefix: &[u8]) -> Result<()> {
        let (end, is_endless, read_point) = (&*self.end, self.is_endless, self.read_point);
        // Nobody asks then what goes on as before.
        self.shared = 0;
        let counts = |key: &[u8]| is_endless || key < end;
        let steps = self.front.pass_row(prefix, counts, |lane| lane.next_row(prefix, end, read_point))?;
        self.looks.add_all(steps);
        Ok(())
    }

    /// As [`Cursor::next_before`], without moving.
    pub fn stored(&self, row_len: usize) -> Option<StoredCell> {
        stored_cell(self.family, self.key()?, &self.cell()?, row_len, self.generation())
    }
}

/// A cell as the rules of visibility see it; `None` for a broken key.
fn stored_cell(
    family: FamilyId,
    key: &[u8],
    cell: &Lent<'_>,
    row_len: usize,
    generation: Generation,
) -> Option<StoredCell> {
    let (timestamp, kind, seq) = key::decode_suffix(key)?;
    let qualifier = key::qualifier_of(key, row_len)?;
    let (tags, value) = (cell.tags(), cell.value(family, key));
    Some(StoredCell { qualifier, timestamp, kind, seq, generation, tags, value, ordinal: 0 })
}
