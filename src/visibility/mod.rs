//! The one place that decides what a read sees and what a flush or a compaction may drop.
//!
//! Classic families follow HBase's query matchers; families with NEW_VERSION_BEHAVIOR judge puts and
//! tombstones by the order in which they were written. Pure: the time is given, cells come from a
//! [`CellSource`]. Must not know how cells are stored, nor filters.

mod classic;
mod column;
mod compaction;
mod delete_tracker;
mod kept;
mod limit;
mod markers;
mod newversion;
mod reader;
mod source;
mod visible;

pub use column::{Past, expiry, expiry_at, hides_what_comes, list_versions, newest, past_of, version_info};
pub use compaction::{FlushMatcher, MajorMatcher, Verdict, major_compaction};
pub use reader::FamilyReader;
pub use source::{CellSource, SliceSource};
pub use visible::VisibleCell;

use std::collections::BTreeSet;

use crate::model::{CellKind, FamilyRules, Qualifier, SeqNo, StoredCell, Tags, TimeRange, Timestamp};

/// What a read of one family asks for.
#[derive(Clone, Copy, Debug)]
pub struct ReadRules<'a> {
    pub family: &'a FamilyRules,
    /// The clock at the time of the read.
    pub now: Timestamp,
    pub time_range: TimeRange,
    /// Versions of each column at most.
    pub max_versions: u32,
    /// `None`: all columns.
    pub columns: Option<&'a BTreeSet<Qualifier>>,
    pub view: View,
    /// A filter runs on the answer; it may choose among VERSIONS cells (classic families).
    pub filtered: bool,
    /// New-version families: no put lies behind a tombstone of its column with a greater number than this that was
    /// written later than the tombstone.
    pub settled_after: SeqNo,
}

/// Which of the stored cells a read is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// What users see: live puts, and in a range of the past deleted ones that are kept.
    Plain,
    /// Plain, and every deleted version that is kept, with the time of the tombstone that ended it.
    WithKept,
    /// Everything stored, tombstones too.
    Raw,
}

impl<'a> ReadRules<'a> {
    /// A plain read of the newest version of every column.
    pub fn plain(family: &'a FamilyRules, now: Timestamp) -> Self {
        Self {
            family,
            now,
            time_range: TimeRange::ALL,
            max_versions: 1,
            columns: None,
            view: View::Plain,
            filtered: false,
            settled_after: SeqNo(u64::MAX),
        }
    }

    /// Cells older than this are expired by the family's TTL.
    pub(crate) fn oldest(&self) -> i64 {
        if self.view == View::Raw { 0 } else { oldest(self.family, self.now) }
    }
}

/// Whether a column whose first stored cell is this one shows it, in a plain read of its newest version from a row and family
/// in which no tombstone of the family is stored. If not, [`FamilyReader`] has to be asked.
///
/// Tombstones that cover a put sort before it, in classic families as in those with NEW_VERSION_BEHAVIOR.
pub fn shows_by_itself(rules: &ReadRules<'_>, (timestamp, kind): (Timestamp, CellKind), tags: &Tags) -> bool {
    kind.is_put()
        && tags.ttl_ms.is_none()
        && tags.ended_at.is_none()
        && timestamp.0 >= rules.oldest()
        && rules.time_range.contains(timestamp, tags.written_at)
}

/// Whether a compaction keeps the first stored cell of a column whatever the others are, where it merges puts alone: no
/// tombstones, TTLs of cells, restored or erasing puts. There each column is judged by itself.
pub fn first_stays(family: &FamilyRules, now: Timestamp, timestamp: Timestamp) -> bool {
    timestamp.0 >= oldest(family, now)
}

/// Whether a version with so many newer ones, the oldest of them `least`, is beyond what the family keeps.
pub fn is_outranked(family: &FamilyRules, newer: u32, least: Timestamp, now: Timestamp) -> bool {
    match family.new_version_behavior {
        true => !limit::Limit::of(family).has_room(newer, least, now),
        false => newer >= family.versions,
    }
}

/// Cells with a smaller timestamp are expired by the family's TTL (age == TTL is still alive).
fn oldest(family: &FamilyRules, now: Timestamp) -> i64 {
    match family.ttl_ms {
        Some(ttl) => now.0.saturating_sub(i64::try_from(ttl).unwrap_or(i64::MAX)),
        None => i64::MIN,
    }
}

/// Whether no read sees a cell of this timestamp any more because of the family's TTL, whatever else is stored.
pub fn past_family_ttl(family: &FamilyRules, timestamp: Timestamp, now: Timestamp) -> bool {
    family.min_versions == 0 && timestamp.0 < oldest(family, now)
}

/// Whether the rules of a family may drop superseded versions that those of another keep.
pub fn keeps_fewer(family: &FamilyRules, other: &FamilyRules) -> bool {
    family.versions < other.versions || family.keep_versions_for_ms < other.keep_versions_for_ms
}

/// Whether the cell's own TTL has passed.
fn cell_expired(cell: &StoredCell, now: Timestamp) -> bool {
    cell.tags.alive_until(cell.timestamp).is_some_and(|last| last < now.0)
}

/// Cells that their own TTL has ended, and older puts of the same timestamp where a change of attributes
/// put the version again (`Tags::erases`): the TTL that was set ends the version, not only the newest put of it.
#[derive(Default)]
struct Expiry(Option<(Qualifier, Timestamp)>);

impl Expiry {
    /// Asked of every cell of a row and family in HBase's order.
    fn ends(&mut self, cell: &StoredCell, now: Timestamp) -> bool {
        let replaced = self.0.as_ref().is_some_and(|(q, t)| *t == cell.timestamp && *q == cell.qualifier);
        if replaced && cell.kind.is_put() {
            return true;
        }
        let expired = cell_expired(cell, now);
        if expired && cell.kind.is_put() && cell.tags.erases {
            self.0 = Some((cell.qualifier.clone(), cell.timestamp));
        }
        expired
    }
}

/// Last millisecond at which something written at `timestamp` with this TTL is alive.
fn last_alive(timestamp: Timestamp, ttl_ms: u64) -> i64 {
    timestamp.0.saturating_add(i64::try_from(ttl_ms).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
