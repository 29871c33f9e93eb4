//! One walk of a compaction over runs of a family: each row is judged as a whole, with bounded memory, and what stays
//! is written.
//!
//! Takes no lock: cells that are flushed meanwhile belong to later layers, were written after all that is judged, and
//! do not decide about it.

mod plain;

use std::ops::Range;
use std::sync::Arc;

use crate::backend::CompactionKind;
use crate::format::key;
use crate::model::{FamilyRules, FamilySchema, Generation, Qualifier, RowKey, StoredCell, Tags, Timestamp, ValueBytes};
use crate::segment::{NewCell, StoredValue};
use crate::store::cursor::lent::{Lent, no_tags};
use crate::store::cursor::walk::Cursor;
use crate::store::engine::background::pace::Pace;
use crate::store::extents::flush::judged;
use crate::store::extents::writing::Output;
use crate::store::layout::runs::Run;
use crate::store::secondary::stale::Stale;
use crate::visibility::{FlushMatcher, MajorMatcher, Verdict};
use crate::{Error, Result};

/// Cells that are looked at before the pace is asked.
const PIECE: u64 = 4096;
/// Rows whose tombstones go that are remembered one by one.
const ROWS: usize = 1000;
/// Cells of a row and their bytes that are held until all of it is judged; a larger row is read once more.
const HELD_CELLS: usize = 16_384;
const HELD_BYTES: usize = 4 << 20;

/// Which cells a walk may drop.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// `Some`: only cells of this row.
    pub row: Option<RowKey>,
    /// `Some`: only cells of this column, and no tombstone of the family.
    pub qualifier: Option<Qualifier>,
}

impl Scope {
    fn holds_row(&self, prefix: &[u8]) -> bool {
        self.row.as_ref().is_none_or(|row| key::row_prefix(row) == prefix)
    }

    fn holds(&self, cell: &StoredCell) -> bool {
        let of_column = |qualifier: &Qualifier| !cell.kind.is_family_tombstone() && cell.qualifier == *qualifier;
        self.qualifier.as_ref().is_none_or(of_column)
    }
}

/// What a compaction merges.
pub struct Merge<'a> {
    pub family: &'a FamilySchema,
    /// By these the cells are judged; they may be other ones than the family's.
    pub rules: &'a FamilyRules,
    pub kind: CompactionKind,
    /// Of what it makes.
    pub layers: (u32, u32),
    pub runs: Vec<Arc<Run>>,
    /// No put of these has a smaller timestamp.
    pub earliest_put: Timestamp,
    pub now: Timestamp,
    pub scope: Scope,
    /// `Some`: what is merged are entries of a secondary index.
    pub stale: Option<Stale<'a>>,
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

/// How far a walk went.
pub enum Ended {
    /// To the end.
    Whole,
    /// To the row of this key, which and whatever follows is not written.
    Before(Arc<[u8]>),
    /// The store stops: nothing of it counts.
    Stopped,
}

enum Matcher<'a> {
    Minor(Box<FlushMatcher<'a>>),
    Major(MajorMatcher<'a>),
}

/// What becomes of a cell that was judged.
enum Fate {
    Goes,
    Stays,
    /// All of its row decides.
    Waits,
}

/// A cell that waits for the verdict over its row.
struct Waiting {
    key: Range<usize>,
    tags: Option<Box<Tags>>,
    value: Range<usize>,
    /// `Some`: the value is a root of one of so many bytes.
    root: Option<u64>,
    /// Why the value cannot be read, which only matters if it is kept.
    unread: Option<Box<Error>>,
}

/// A row, or a column of plain puts, in the middle of being judged.
struct OpenRow<'a> {
    /// What the keys of the row begin with, and those of all that is judged.
    prefix: Vec<u8>,
    whole: Vec<u8>,
    matcher: Matcher<'a>,
    /// Of each cell, in order: whether it goes.
    dropped: Vec<bool>,
    /// So many of the first are written already.
    written: usize,
    tombstones: bool,
    /// What waits; empty once there was too much.
    waiting: Vec<Waiting>,
    bytes: Vec<u8>,
    overflowed: bool,
}

/// Counts the cells that a walk looks at, and asks the pace now and then.
struct Looks<'l, 'p> {
    looked: u64,
    pace: &'l mut Pace<'p>,
    progress: &'l mut dyn FnMut(u64),
}

impl Looks<'_, '_> {
    /// One more; false: the store stops.
    fn go_on(&mut self) -> bool {
        self.looked += 1;
        if !self.looked.is_multiple_of(PIECE) {
            return true;
        }
        (self.progress)(PIECE);
        self.pace.go_on()
    }
}

/// See the module.
pub struct Walk<'a, 'o, 'e> {
    merge: &'a Merge<'a>,
    output: &'o mut Output<'e>,
    pub uncovered: Uncovered,
    value: Vec<u8>,
}

impl<'a, 'o, 'e> Walk<'a, 'o, 'e> {
    pub fn new(merge: &'a Merge<'a>, output: &'o mut Output<'e>) -> Self {
        Self { merge, output, uncovered: Uncovered::Rows(Vec::new()), value: Vec::new() }
    }

    /// Judges and writes rows until so many bytes are written, and tells `progress` of cells that were looked at.
    pub fn run(&mut self, bytes: u64, pace: &mut Pace<'_>, progress: &mut dyn FnMut(u64)) -> Result<Ended> {
        if self.merge.is_of_plain_puts() {
            return self.run_plain(bytes, pace, progress);
        }
        let mut cursor = Cursor::of_runs(self.merge.family.id, &self.merge.runs, &[], crate::store::layout::far::FAR)?;
        let mut open: Option<OpenRow<'a>> = None;
        let mut looks = Looks { looked: 0, pace, progress };
        while let Some(key) = cursor.key() {
            if !looks.go_on() {
                return Ok(Ended::Stopped);
            }
            if open.as_ref().is_none_or(|open| !key.starts_with(&open.prefix)) {
                let next = self.start_row(key);
                if let Some(open) = open.take() {
                    self.end_row(open)?;
                    if self.output.bytes() >= bytes {
                        return Ok(Ended::Before(next.prefix.into()));
                    }
                }
                open = Some(next);
            }
            if let Some(open) = &mut open {
                self.pass(open, &mut cursor)?;
            }
            cursor.advance()?;
        }
        if let Some(open) = open {
            self.end_row(open)?;
        }
        Ok(Ended::Whole)
    }

    fn start_row(&self, key: &[u8]) -> OpenRow<'a> {
        let prefix = &key[..key::row_prefix_len(key).unwrap_or(key.len())];
        self.start(prefix, prefix)
    }

    fn start(&self, prefix: &[u8], whole: &[u8]) -> OpenRow<'a> {
        let Merge { rules, now, earliest_put, .. } = *self.merge;
        let matcher = match self.merge.kind {
            CompactionKind::Minor => Matcher::Minor(Box::new(FlushMatcher::new(rules, now))),
            CompactionKind::Major => Matcher::Major(MajorMatcher::new(rules, now, earliest_put)),
        };
        OpenRow {
            prefix: prefix.to_vec(),
            whole: whole.to_vec(),
            matcher,
            dropped: Vec::new(),
            written: 0,
            tombstones: false,
            waiting: Vec::new(),
            bytes: Vec::new(),
            overflowed: false,
        }
    }

    /// Judges the next cell. Only the value of one that stays is read: what is damaged may go.
    fn pass(&mut self, open: &mut OpenRow<'a>, cursor: &mut Cursor) -> Result<()> {
        let (Some(key), Some(cell)) = (cursor.key(), cursor.cell()) else { return Ok(()) };
        match self.judge(open, key, &cell.tags())? {
            Fate::Goes => Ok(()),
            Fate::Stays => self.keep(cursor),
            Fate::Waits if open.overflowed => Ok(()),
            Fate::Waits => {
                let read = cursor.load_value(&mut self.value);
                if let (Some(key), Some(cell)) = (cursor.key(), cursor.cell()) {
                    self.hold(open, key, &cell, read.err());
                }
                Ok(())
            }
        }
    }

    /// Writes the next cell.
    fn keep(&mut self, cursor: &mut Cursor) -> Result<()> {
        if !cursor.cell().is_some_and(|cell| cell.is_inline()) {
            cursor.load_value(&mut self.value)?;
        }
        match (cursor.key(), cursor.cell()) {
            (Some(key), Some(cell)) => self.write(key, &cell),
            _ => Ok(()),
        }
    }

    fn judge(&self, open: &mut OpenRow<'a>, key: &[u8], tags: &Tags) -> Result<Fate> {
        let ordinal = open.dropped.len();
        open.dropped.push(false);
        let Some(mut stored) = judged(key, Some(tags), open.prefix.len(), Generation(1)) else {
            return Err(Error::new(crate::ErrorKind::Corrupt, "a stored cell has a key that is none"));
        };
        if !self.merge.scope.holds_row(&open.prefix) {
            return Ok(Fate::Stays);
        }
        stored.ordinal = ordinal;
        let is_immediate = !self.merge.rules.new_version_behavior || matches!(open.matcher, Matcher::Minor(_));
        let OpenRow { dropped, tombstones, matcher, .. } = open;
        match matcher {
            Matcher::Minor(matcher) => dropped[ordinal] = matcher.judge(&stored) == Verdict::Drop,
            Matcher::Major(matcher) => {
                matcher.push(stored, &mut |cell| note(&self.merge.scope, &cell, dropped, tombstones))?;
            }
        }
        if !is_immediate {
            return Ok(Fate::Waits);
        }
        let goes = open.dropped[ordinal] || self.is_stale(key)?;
        Ok(if goes { Fate::Goes } else { Fate::Stays })
    }

    fn is_stale(&self, key: &[u8]) -> Result<bool> {
        self.merge.stale.as_ref().map_or(Ok(false), |stale| stale.is_stale(key))
    }

    /// Writes a cell, whose value was loaded if it does not stand in it.
    fn write(&mut self, key: &[u8], cell: &Lent<'_>) -> Result<()> {
        let value = match cell {
            Lent::Stored(stored) => match stored.value {
                StoredValue::Root { len, bytes } => ValueBytes::Root { len, bytes },
                StoredValue::Inline(bytes) => ValueBytes::Bytes(bytes),
                StoredValue::Area(_) => ValueBytes::Bytes(&self.value),
            },
            Lent::Memory(_) => ValueBytes::Bytes(&self.value),
        };
        if cell.is_plain() {
            return self.output.add(&NewCell { key, tags: no_tags(), value });
        }
        self.output.add(&NewCell { key, tags: &cell.tags(), value })
    }

    fn hold(&self, open: &mut OpenRow<'a>, key: &[u8], cell: &Lent<'_>, unread: Option<Error>) {
        if open.waiting.len() >= HELD_CELLS || open.bytes.len() >= HELD_BYTES {
            open.overflowed = true;
            (open.waiting, open.bytes) = (Vec::new(), Vec::new());
            return;
        }
        let mut put = |bytes: &[u8]| {
            let start = open.bytes.len();
            open.bytes.extend_from_slice(bytes);
            start..open.bytes.len()
        };
        let (key, value) = (put(key), put(&self.value));
        let root = match cell {
            Lent::Stored(stored) => {
                if let StoredValue::Root { len, .. } = stored.value {
                    Some(len)
                } else {
                    None
                }
            }
            Lent::Memory(_) => None,
        };
        let tags = (!cell.is_plain()).then(|| Box::new(cell.tags()));
        open.waiting.push(Waiting { key, tags, value, root, unread: unread.map(Box::new) });
    }

    fn end_row(&mut self, open: OpenRow<'a>) -> Result<()> {
        let OpenRow { prefix, whole, matcher, mut dropped, written, mut tombstones, waiting, bytes, overflowed } = open;
        if let Matcher::Major(matcher) = matcher {
            matcher.finish(&mut |cell| note(&self.merge.scope, &cell, &mut dropped, &mut tombstones))?;
        }
        for (held, _) in waiting.into_iter().zip(&dropped[written..]).filter(|(_, dropped)| !**dropped) {
            held.unread.map_or(Ok(()), |unread| Err(*unread))?;
            let value = &bytes[held.value.clone()];
            let value = held.root.map_or(ValueBytes::Bytes(value), |len| ValueBytes::Root { len, bytes: value });
            let tags = held.tags.as_deref().unwrap_or(no_tags());
            self.output.add(&NewCell { key: &bytes[held.key.clone()], tags, value })?;
        }
        if overflowed {
            self.write_again(&whole, (written, &dropped))?;
        }
        if tombstones
            && !self.merge.rules.new_version_behavior
            && let Some(row) = key::row_of(&prefix)
        {
            self.uncovered.add(&row);
        }
        Ok(())
    }

    /// Reads a large row once more and writes what stays behind the first ones.
    fn write_again(&mut self, whole: &[u8], (written, dropped): (usize, &[bool])) -> Result<()> {
        let end = key::prefix_end(whole);
        let mut cursor = Cursor::of_runs(self.merge.family.id, &self.merge.runs, whole, end)?;
        for (at, dropped) in dropped.iter().enumerate() {
            if !dropped && at >= written {
                self.keep(&mut cursor)?;
            }
            cursor.advance()?;
        }
        Ok(())
    }
}

fn note(scope: &Scope, cell: &StoredCell, dropped: &mut [bool], tombstones: &mut bool) -> Result<()> {
    if scope.holds(cell)
        && let Some(dropped) = dropped.get_mut(cell.ordinal)
    {
        *dropped = true;
        *tombstones |= !cell.kind.is_put();
    }
    Ok(())
}
