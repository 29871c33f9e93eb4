//! One walk of a compaction over the cells of a family: each row is judged as a whole, with bounded memory.
//!
//! Takes no lock: cells that are flushed meanwhile belong to later layers, were written after all that is judged,
//! and do not decide about it.

use super::cursor::{Cursor, stored_cell};
use super::doomed::{Doomed, Gone};
use super::engine::Engine;
use super::pace::Pace;
use crate::Result;
use crate::backend::CompactionKind;
use crate::index::{Index, IndexRow, key};
use crate::model::{FamilyId, FamilySchema, Generation, Qualifier, RowKey, StoredCell, Timestamp};
use crate::visibility::{FlushMatcher, MajorMatcher, Verdict};

/// Cells that are looked at before the pace is asked.
const PIECE: u64 = 4096;
/// Rows whose tombstones go that are remembered one by one.
const ROWS: usize = 1000;

/// What a compaction judges: the cells of the generations behind `after` up to `upto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub kind: CompactionKind,
    pub after: Generation,
    pub upto: Generation,
    /// No put of these has a smaller timestamp.
    pub earliest_put: Timestamp,
}

/// Which cells of a family a walk looks at, and which of them it may drop.
pub struct Reach {
    from: Vec<u8>,
    end: Vec<u8>,
    /// `Some`: only cells of this column, and no tombstone of the family.
    qualifier: Option<Qualifier>,
}

impl Reach {
    fn family(id: FamilyId) -> Self {
        Self { from: key::family_prefix(id), end: key::family_end(id), qualifier: None }
    }

    /// A row, or one column of it.
    pub fn row(id: FamilyId, row: &[u8], qualifier: Option<Qualifier>) -> Self {
        let from = key::row_prefix(id, row);
        Self { end: key::prefix_end(&from), from, qualifier }
    }

    fn holds(&self, cell: &StoredCell) -> bool {
        let of_column = |qualifier: &Qualifier| !cell.kind.is_family_tombstone() && cell.qualifier == *qualifier;
        self.qualifier.as_ref().is_none_or(of_column)
    }
}

/// What a walk found.
pub struct Swept {
    /// Rows with a cell that stayed.
    pub rows: u64,
    pub earliest_put: Timestamp,
    pub uncovered: Uncovered,
}

/// Rows of a classic family whose tombstones went: unflushed puts of theirs may show now.
pub enum Uncovered {
    Rows(Vec<RowKey>),
    TooMany,
}

impl Uncovered {
    fn add(&mut self, row: &[u8]) {
        match self {
            Self::Rows(rows) if rows.len() < ROWS => rows.push(row.to_vec()),
            Self::Rows(_) => *self = Self::TooMany,
            Self::TooMany => {}
        }
    }
}

enum Matcher<'a> {
    Minor(Box<FlushMatcher<'a>>),
    Major(MajorMatcher<'a>),
}

/// A row in the middle of being judged.
struct OpenRow<'a> {
    prefix: Vec<u8>,
    row: RowKey,
    matcher: Matcher<'a>,
    taken: u64,
    dropped: u64,
    tombstones: u64,
}

/// See the module.
pub struct Sweep<'e> {
    engine: &'e Engine,
    family: &'e FamilySchema,
    extent: Extent,
    now: Timestamp,
    reach: Reach,
    doomed: Doomed<'e>,
    swept: Swept,
}

impl<'e> Sweep<'e> {
    pub fn new(engine: &'e Engine, family: &'e FamilySchema, extent: Extent) -> Self {
        let swept = Swept { rows: 0, earliest_put: Timestamp(i64::MAX), uncovered: Uncovered::Rows(Vec::new()) };
        let doomed = Doomed::new(engine, family.id);
        Self { engine, family, extent, now: engine.now(), reach: Reach::family(family.id), doomed, swept }
    }

    /// Looks at a part of the family only.
    pub fn within(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// Judges everything and tells `progress` how many cells were looked at; `None`: the store stops, the rest is
    /// left as it was.
    pub fn run(mut self, pace: &mut Pace<'_>, progress: &mut dyn FnMut(u64)) -> Result<Option<Swept>> {
        // Order: before a copy can be dropped, what it was copied from is.
        self.engine.end_moves()?;
        let mut cursor = index_cursor(&self.engine.index, &self.reach.from, self.reach.end.clone());
        let mut open: Option<OpenRow<'e>> = None;
        let mut looked = 0;
        while let Some((key, row)) = cursor.pop()? {
            looked += 1;
            if looked % PIECE == 0 {
                progress(looked);
                if !pace.go_on() {
                    return Ok(None);
                }
            }
            if row.generation <= self.extent.after || row.generation > self.extent.upto {
                continue;
            }
            if open.as_ref().is_none_or(|open| !key.starts_with(&open.prefix)) {
                self.end_row(open.take())?;
                open = self.start_row(&key);
            }
            if let Some(open) = &mut open {
                self.judge(open, key, row)?;
            }
        }
        self.end_row(open)?;
        self.doomed.apply()?;
        Ok(Some(self.swept))
    }

    fn start_row(&self, key: &[u8]) -> Option<OpenRow<'e>> {
        let rules = &self.family.rules;
        let matcher = match self.extent.kind {
            CompactionKind::Minor => Matcher::Minor(Box::new(FlushMatcher::new(rules, self.now))),
            CompactionKind::Major => Matcher::Major(MajorMatcher::new(rules, self.now, self.extent.earliest_put)),
        };
        let prefix = key[..key::row_prefix_len(key)?].to_vec();
        Some(OpenRow { row: key::row_of(key)?, prefix, matcher, taken: 0, dropped: 0, tombstones: 0 })
    }

    fn judge(&mut self, open: &mut OpenRow<'_>, key: Vec<u8>, row: IndexRow) -> Result<()> {
        let Some(cell) = stored_cell(&key, row.clone(), open.prefix.len()) else { return Ok(()) };
        let (before, put) = (open.dropped, cell.kind.is_put().then_some(cell.timestamp));
        open.taken += 1;
        match &mut open.matcher {
            Matcher::Minor(matcher) => {
                if matcher.judge(&cell) == Verdict::Drop {
                    open.dropped += 1;
                    self.doomed.drop_now(Gone { key, row })?;
                }
            }
            Matcher::Major(matcher) => matcher.push(cell, &mut |cell| {
                if !self.reach.holds(&cell) {
                    return Ok(());
                }
                open.dropped += 1;
                open.tombstones += u64::from(!cell.kind.is_put());
                self.doomed.hold(&open.row, cell)
            })?,
        }
        // In new-version families, where this may be decided later, it is only a bound.
        if let Some(timestamp) = put.filter(|_| open.dropped == before || self.family.rules.new_version_behavior) {
            self.swept.earliest_put = self.swept.earliest_put.min(timestamp);
        }
        Ok(())
    }

    fn end_row(&mut self, open: Option<OpenRow<'_>>) -> Result<()> {
        let Some(OpenRow { row, matcher, taken, mut dropped, mut tombstones, .. }) = open else { return Ok(()) };
        if let Matcher::Major(matcher) = matcher {
            matcher.finish(&mut |cell| {
                if !self.reach.holds(&cell) {
                    return Ok(());
                }
                dropped += 1;
                tombstones += u64::from(!cell.kind.is_put());
                self.doomed.hold(&row, cell)
            })?;
            self.doomed.end_row()?;
        }
        self.swept.rows += u64::from(dropped < taken);
        if tombstones > 0 && !self.family.rules.new_version_behavior {
            self.swept.uncovered.add(&row);
        }
        Ok(())
    }
}

/// The index alone.
pub fn index_cursor<'s>(index: &'s Index, from: &[u8], end: Vec<u8>) -> Cursor<'s> {
    Cursor::in_index(index, from, end, 256)
}
