//! Tombstones and version counts of new-version families, by sequence number.
//!
//! A column's puts are asked for newest first. A put is masked for good if at some moment of its life
//! (before each later tombstone, and now) VERSIONS puts with higher timestamps were alive. Tombstones
//! seen later have lower timestamps, and what they cover comes after them, so one pass is enough.
//!
//! KEEP_VERSIONS_FOR adds to that now, and before a tombstone that ends all that were alive: after any other one it
//! would be seen whether a compaction came between.

use std::collections::{BTreeMap, BTreeSet};

use super::limit::Limit;
use crate::model::{CellKind, SeqNo, StoredCell, Timestamp, Tombstone};

/// From this many on VERSIONS means all (HBase: Integer.MAX_VALUE).
const UNLIMITED: u32 = i32::MAX as u32;
/// Lives remembered for moments that are not known yet; bounds memory for very long columns.
const MAX_LIVES: usize = 65_536;

/// What became of a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Live,
    /// A tombstone ended it.
    Deleted,
    /// Masked by newer versions, or by a later put of the same timestamp.
    Gone,
}

/// What the tombstones that cover a put say.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Covering {
    /// Time of the first one written, and when that was.
    pub ended_by: Option<(Timestamp, Timestamp)>,
    /// Smallest time of one, and when that was written.
    pub lowest: Option<(Timestamp, Timestamp)>,
    /// One of them erases.
    pub erased: bool,
}

/// Whether a tombstone of the same row and family hides this put.
pub(super) fn covers(tombstone: &StoredCell, put: &StoredCell) -> bool {
    let CellKind::Tombstone(kind) = tombstone.kind else { return false };
    let in_time = match kind {
        Tombstone::Family | Tombstone::Column => put.timestamp <= tombstone.timestamp,
        Tombstone::FamilyVersion | Tombstone::Version => put.timestamp == tombstone.timestamp,
    };
    in_time
        && tombstone.seq >= put.seq
        && (tombstone.kind.is_family_tombstone() || tombstone.qualifier == put.qualifier)
}

#[derive(Clone, Copy, Debug)]
struct Marker {
    timestamp: Timestamp,
    written: Timestamp,
    erases: bool,
}

/// Tombstones of one reach (a family or a column), fed in order of falling timestamps.
#[derive(Debug, Default)]
struct Markers {
    /// Column and Family tombstones.
    ranged: BTreeMap<(SeqNo, Timestamp), Marker>,
    /// The same in the order of arrival, timestamps falling.
    ranged_by_time: Vec<(SeqNo, Timestamp)>,
    ranged_erasers: Vec<(SeqNo, Timestamp)>,
    /// Version and FamilyVersion tombstones.
    exact: BTreeMap<(Timestamp, SeqNo), Marker>,
    boundaries: BTreeSet<SeqNo>,
    exact_boundaries: BTreeSet<SeqNo>,
}

impl Markers {
    fn clear(&mut self) {
        *self = Self::default();
    }

    fn add(&mut self, cell: &StoredCell) {
        let written = cell.tags.written_at.unwrap_or(cell.timestamp);
        let marker = Marker { timestamp: cell.timestamp, written, erases: cell.tags.erases };
        self.boundaries.insert(cell.seq);
        match cell.kind {
            CellKind::Tombstone(Tombstone::Version | Tombstone::FamilyVersion) => {
                self.exact.insert((cell.timestamp, cell.seq), marker);
                self.exact_boundaries.insert(cell.seq);
            }
            _ => {
                let key = (cell.seq, cell.timestamp);
                self.ranged.insert(key, marker);
                self.ranged_by_time.push(key);
                if marker.erases {
                    self.ranged_erasers.push(key);
                }
            }
        }
    }

    fn exact_for(&self, put: &StoredCell) -> impl Iterator<Item = (SeqNo, &Marker)> {
        let t = put.timestamp;
        self.exact.range((t, put.seq)..=(t, SeqNo(u64::MAX))).map(|((_, seq), marker)| (*seq, marker))
    }

    /// The first tombstone written after the put that covers it.
    fn first(&self, put: &StoredCell) -> Option<(SeqNo, Marker)> {
        // Those of a family are all known before its named columns: some may be older than the put.
        let written_later = self.ranged.range((put.seq, Timestamp(i64::MIN))..);
        let ranged = written_later.map(|((seq, _), m)| (*seq, *m)).find(|(_, m)| m.timestamp >= put.timestamp);
        let exact = self.exact_for(put).next().map(|(seq, m)| (seq, *m));
        ranged.into_iter().chain(exact).min_by_key(|(seq, m)| (*seq, m.timestamp))
    }

    fn lowest(&self, put: &StoredCell) -> Option<(Timestamp, Timestamp)> {
        if let Some((_, exact)) = self.exact_for(put).next() {
            return Some((exact.timestamp, exact.written));
        }
        let reaching = self.ranged_by_time.partition_point(|(_, t)| *t >= put.timestamp);
        let lowest = self.ranged_by_time[..reaching].iter().rev().find(|(seq, _)| *seq >= put.seq)?;
        self.ranged.get(lowest).map(|marker| (marker.timestamp, marker.written))
    }

    fn erases(&self, put: &StoredCell) -> bool {
        let covers = |(seq, t): &(SeqNo, Timestamp)| *seq >= put.seq && *t >= put.timestamp;
        self.ranged_erasers.iter().any(covers) || self.exact_for(put).any(|(_, m)| m.erases)
    }
}

/// Live puts at some moment.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    puts: u32,
    /// The timestamps of the newest and of the oldest.
    greatest: Timestamp,
    least: Timestamp,
}

impl Count {
    /// With one put more, older than all.
    fn and(self, timestamp: Timestamp) -> Self {
        let greatest = if self.puts == 0 { timestamp } else { self.greatest };
        Self { puts: self.puts.saturating_add(1), greatest, least: timestamp }
    }
}

/// How a deleted put stood among those that were alive with it to the end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rank {
    /// When it ceased to be the newest; `None`: when it was deleted.
    pub newest_until: Option<Timestamp>,
    /// Only KEEP_VERSIONS_FOR keeps it.
    pub beyond_versions: bool,
}

/// Judges the puts of one column after the other.
#[derive(Debug)]
pub(super) struct ColumnJudge {
    limit: Limit,
    now: Timestamp,
    family: Markers,
    column: Markers,
    /// Live puts before each boundary; one that is absent has none.
    counts: BTreeMap<SeqNo, Count>,
    live_now: Count,
    /// Of the put that was judged last.
    rank: Rank,
    /// First and last sequence number of the counted puts' lives, and their timestamps.
    lives: Vec<(SeqNo, SeqNo, Timestamp)>,
    previous: Option<(Timestamp, SeqNo)>,
}

impl ColumnJudge {
    pub fn new(limit: Limit, now: Timestamp) -> Self {
        Self {
            limit,
            now,
            family: Markers::default(),
            column: Markers::default(),
            counts: BTreeMap::new(),
            live_now: Count::default(),
            rank: Rank::default(),
            lives: Vec::new(),
            previous: None,
        }
    }

    /// Forgets the column; tombstones of the family stay.
    pub fn start_column(&mut self) {
        self.column.clear();
        self.counts.clear();
        self.live_now = Count::default();
        self.lives.clear();
        self.previous = None;
    }

    /// Remembers a tombstone of the family or of the current column.
    pub fn add(&mut self, tombstone: &StoredCell) {
        let boundary = tombstone.seq;
        if !self.family.boundaries.contains(&boundary) && !self.column.boundaries.contains(&boundary) {
            let alive = self.lives.iter().filter(|(from, to, _)| *from <= boundary && boundary <= *to);
            let count = alive.fold(Count::default(), |count, (.., timestamp)| count.and(*timestamp));
            if count.puts > 0 {
                self.counts.insert(boundary, count);
            }
        }
        if tombstone.kind.is_family_tombstone() { self.family.add(tombstone) } else { self.column.add(tombstone) }
    }

    /// As many puts are alive as are kept now.
    pub fn is_full(&self) -> bool {
        !self.limit.has_room(self.live_now.puts, self.live_now.least, self.now)
    }

    /// How the put that was judged last stood among the others.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// What became of the next put of the column.
    pub fn fate(&mut self, put: &StoredCell) -> Fate {
        let replaced = self.previous.filter(|(t, _)| *t == put.timestamp).map(|(_, seq)| seq);
        // As in HBase (NewVersionBehaviorTracker.prepare): by the last put of that timestamp, however many there were.
        if replaced.is_none() {
            self.previous = Some((put.timestamp, put.seq));
        }
        let killers = [self.family.first(put), self.column.first(put)].into_iter().flatten();
        let died = killers.min_by_key(|(seq, marker)| (*seq, marker.timestamp));
        if self.is_masked(put, died, replaced) || replaced.is_some() {
            return Fate::Gone;
        }
        if died.is_some() { Fate::Deleted } else { Fate::Live }
    }

    pub fn covering(&self, put: &StoredCell) -> Covering {
        let both = [&self.family, &self.column];
        let first = both.iter().filter_map(|m| m.first(put)).min_by_key(|(seq, m)| (*seq, m.timestamp));
        Covering {
            ended_by: first.map(|(_, m)| (m.timestamp, m.written)),
            lowest: both.iter().filter_map(|m| m.lowest(put)).min(),
            erased: both.iter().any(|m| m.erases(put)),
        }
    }

    /// Counts a put at each boundary of its life, until it is masked.
    fn is_masked(&mut self, put: &StoredCell, died: Option<(SeqNo, Marker)>, replaced: Option<SeqNo>) -> bool {
        if self.limit.versions >= UNLIMITED {
            return false;
        }
        let end = died.map(|(seq, _)| seq).into_iter().chain(replaced).min();
        let last = end.unwrap_or(SeqNo(u64::MAX));
        if replaced.is_some() {
            self.count_replaced(put, last);
            return true;
        }
        self.rank = Rank::default();
        for boundary in self.boundaries(put.seq, last) {
            let ends_it = died.filter(|(seq, _)| *seq == boundary).map(|(_, marker)| marker);
            let is_kept = self.count_at(boundary, put.timestamp)
                || ends_it.is_some_and(|marker| self.is_recent_at(boundary, marker, put.timestamp));
            if !is_kept {
                self.remember(put.seq, SeqNo(boundary.0.saturating_sub(1)), put.timestamp);
                return true;
            }
        }
        self.remember(put.seq, last, put.timestamp);
        if end.is_some() {
            return false;
        }
        if self.is_full() {
            return true;
        }
        self.live_now = self.live_now.and(put.timestamp);
        false
    }

    /// A put that a later one of its timestamp replaced counts where HBase can know of it
    /// (NewVersionBehaviorTracker.isDeleted): before tombstones of single versions, and what becomes known
    /// between two of those takes over the count of the next; never before tombstones of a whole range.
    fn count_replaced(&mut self, put: &StoredCell, last: SeqNo) {
        let (mut since, mut counted) = (put.seq, None);
        for boundary in self.boundaries(put.seq, last) {
            if self.is_exact(boundary) {
                if !self.count_at(boundary, put.timestamp) {
                    break;
                }
                counted = Some(boundary);
            }
            if self.is_ranged(boundary) {
                self.remember_until(since, counted.take(), put.timestamp);
                since = SeqNo(boundary.0 + 1);
            }
        }
        self.remember_until(since, counted, put.timestamp);
    }

    /// Counts one put more; `false`: there are VERSIONS already.
    fn count_at(&mut self, boundary: SeqNo, timestamp: Timestamp) -> bool {
        let count = self.counts.entry(boundary).or_default();
        self.rank.newest_until = (count.puts > 0).then_some(count.least);
        let has_room = count.puts < self.limit.versions;
        if has_room {
            *count = count.and(timestamp);
        }
        has_room
    }

    /// Whether a put beyond VERSIONS was kept by KEEP_VERSIONS_FOR until this tombstone ended it and all others.
    fn is_recent_at(&mut self, boundary: SeqNo, tombstone: Marker, timestamp: Timestamp) -> bool {
        let newer = self.counts.get(&boundary).copied().unwrap_or_default();
        let ends_all = tombstone.timestamp >= newer.greatest;
        if !ends_all || !self.limit.has_room(newer.puts, newer.least, tombstone.written) {
            return false;
        }
        self.rank.beyond_versions = true;
        self.counts.insert(boundary, newer.and(timestamp));
        true
    }

    fn is_exact(&self, boundary: SeqNo) -> bool {
        self.family.exact_boundaries.contains(&boundary) || self.column.exact_boundaries.contains(&boundary)
    }

    fn is_ranged(&self, boundary: SeqNo) -> bool {
        let has = |m: &Markers| {
            m.ranged.range((boundary, Timestamp(i64::MIN))..).next().is_some_and(|((s, _), _)| *s == boundary)
        };
        has(&self.family) || has(&self.column)
    }

    fn remember_until(&mut self, from: SeqNo, to: Option<SeqNo>, timestamp: Timestamp) {
        if let Some(to) = to {
            self.remember(from, to, timestamp);
        }
    }

    fn boundaries(&self, from: SeqNo, last: SeqNo) -> Vec<SeqNo> {
        let family = self.family.boundaries.range(from..=last);
        let mut found: Vec<SeqNo> = family.chain(self.column.boundaries.range(from..=last)).copied().collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    fn remember(&mut self, from: SeqNo, to: SeqNo, timestamp: Timestamp) {
        if from <= to && self.lives.len() < MAX_LIVES {
            self.lives.push((from, to, timestamp));
        }
    }
}
