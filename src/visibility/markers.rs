//! Tombstones and version counts of new-version families, by sequence number.
//!
//! A column's puts are asked for newest first. A put is masked for good if at some moment of its life
//! (before each later tombstone, and now) VERSIONS puts with higher timestamps were alive, and KEEP_VERSIONS_FOR did not
//! keep it. Tombstones seen later have lower timestamps, and what they cover comes after them, so one pass is enough.

use std::collections::{BTreeMap, BTreeSet};

use super::limit::{Count, Life, Limit, Lives};
use crate::model::{CellKind, SeqNo, StoredCell, Timestamp, Tombstone};

/// From this many on VERSIONS means all (HBase: Integer.MAX_VALUE).
const UNLIMITED: u32 = i32::MAX as u32;

/// When something was written: by the clock, and within a millisecond by the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    pub clock: Timestamp,
    pub seq: SeqNo,
}

impl Moment {
    pub const ALWAYS: Self = Self::at(i64::MIN);
    pub const NEVER: Self = Self::at(i64::MAX);

    /// The first one of this millisecond.
    pub const fn at(clock: i64) -> Self {
        Self { clock: Timestamp(clock), seq: SeqNo(0) }
    }
}

/// What became of a put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Live,
    /// A tombstone ended it.
    Deleted,
    /// A tombstone ended it, and later it was put again: so.
    Again(SeqNo),
    /// Masked by newer versions, or by a later put of the same timestamp.
    Gone,
}

/// What the tombstones that cover a put say.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Covering {
    /// Time of the first one written, and when that was.
    pub ended_by: Option<(Timestamp, Moment)>,
    /// Smallest time of one, and when that was written.
    pub lowest: Option<(Timestamp, Timestamp)>,
    /// When the first one of them that erases was written.
    pub erased: Option<Moment>,
}

/// Whether a tombstone of the same row and family hides this put.
pub(super) fn covers(tombstone: &StoredCell, put: &StoredCell) -> bool {
    covers_time(tombstone.kind, tombstone.timestamp, put.timestamp)
        && tombstone.seq >= put.seq
        && (tombstone.kind.is_family_tombstone() || tombstone.qualifier == put.qualifier)
}

/// Whether a cell is a tombstone that is there for puts of a time.
pub(super) fn covers_time(kind: CellKind, at: Timestamp, put: Timestamp) -> bool {
    match kind {
        CellKind::Put => false,
        CellKind::Tombstone(Tombstone::Family | Tombstone::Column) => put <= at,
        CellKind::Tombstone(Tombstone::FamilyVersion | Tombstone::Version) => put == at,
    }
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
    ranged_erasers: BTreeSet<(SeqNo, Timestamp)>,
    /// Version and FamilyVersion tombstones.
    exact: BTreeMap<(Timestamp, SeqNo), Marker>,
    exact_erasers: BTreeSet<(Timestamp, SeqNo)>,
    /// When they were written.
    boundaries: BTreeMap<SeqNo, Timestamp>,
}

impl Markers {
    fn clear(&mut self) {
        *self = Self::default();
    }

    fn add(&mut self, cell: &StoredCell) {
        let written = cell.tags.written_at.unwrap_or(cell.timestamp);
        let marker = Marker { timestamp: cell.timestamp, written, erases: cell.tags.erases };
        self.boundaries.insert(cell.seq, written);
        match cell.kind {
            CellKind::Tombstone(Tombstone::Version | Tombstone::FamilyVersion) => {
                self.exact.insert((cell.timestamp, cell.seq), marker);
                if marker.erases {
                    self.exact_erasers.insert((cell.timestamp, cell.seq));
                }
            }
            _ => {
                let key = (cell.seq, cell.timestamp);
                self.ranged.insert(key, marker);
                self.ranged_by_time.push(key);
                if marker.erases {
                    self.ranged_erasers.insert(key);
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

    /// When the first one was written that covers the put and erases.
    fn erased(&self, put: &StoredCell) -> Option<Moment> {
        let written_later = self.ranged_erasers.range((put.seq, Timestamp(i64::MIN))..);
        let ranged = written_later.filter(|(_, t)| *t >= put.timestamp).map(|(seq, _)| *seq).next();
        let t = put.timestamp;
        let exact = self.exact_erasers.range((t, put.seq)..=(t, SeqNo(u64::MAX))).map(|(_, seq)| *seq).next();
        let seq = ranged.into_iter().chain(exact).min()?;
        self.boundaries.get(&seq).map(|written| Moment { clock: *written, seq })
    }

    /// When the last one before this number was written.
    fn before(&self, seq: SeqNo) -> Option<Timestamp> {
        self.boundaries.range(..seq).next_back().map(|(_, written)| *written)
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
    /// Puts of the column so far.
    puts: u32,
    /// Whether so many puts were seen that VERSIONS may mask one: until then their lives tell what is counted.
    is_counting: bool,
    /// Live puts before each boundary; one that is absent has none.
    counts: BTreeMap<SeqNo, Count>,
    live_now: Count,
    /// Of the put that was judged last.
    rank: Rank,
    lives: Lives,
    previous: Option<(Timestamp, SeqNo)>,
}

impl ColumnJudge {
    pub fn new(limit: Limit, now: Timestamp) -> Self {
        Self {
            limit,
            now,
            family: Markers::default(),
            column: Markers::default(),
            puts: 0,
            is_counting: false,
            counts: BTreeMap::new(),
            live_now: Count::default(),
            rank: Rank::default(),
            lives: Lives::default(),
            previous: None,
        }
    }

    /// Forgets the column; tombstones of the family stay.
    pub fn start_column(&mut self) {
        self.column.clear();
        (self.puts, self.is_counting) = (0, false);
        self.counts.clear();
        self.live_now = Count::default();
        self.lives.clear();
        self.previous = None;
    }

    /// Remembers a tombstone of the family or of the current column.
    pub fn add(&mut self, tombstone: &StoredCell) {
        let boundary = tombstone.seq;
        let is_known = |markers: &Markers| markers.boundaries.contains_key(&boundary);
        if self.is_counting && !is_known(&self.family) && !is_known(&self.column) {
            self.count_lives(boundary);
        }
        if tombstone.kind.is_family_tombstone() { self.family.add(tombstone) } else { self.column.add(tombstone) }
    }

    /// Counts the lives that a boundary lies in.
    fn count_lives(&mut self, boundary: SeqNo) {
        let count = self.lives.count_at(boundary);
        if count.puts > 0 {
            self.counts.insert(boundary, count);
        }
    }

    /// As many puts are alive as are kept now.
    pub fn is_full(&self) -> bool {
        !self.limit.has_room(self.live_now.puts, self.live_now.least, self.now)
    }

    /// How the put that was judged last stood among the others.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// What became of the next put of the column; `ranks`: how it stood is asked for if it was deleted.
    pub fn fate(&mut self, put: &StoredCell, ranks: bool) -> Fate {
        let newer = self.previous.replace((put.timestamp, put.seq));
        let replaced = newer.filter(|(t, _)| *t == put.timestamp).map(|(_, seq)| seq);
        let killers = [self.family.first(put), self.column.first(put)].into_iter().flatten();
        let died = killers.min_by_key(|(seq, marker)| (*seq, marker.timestamp));
        if self.is_masked(put, died, replaced, ranks) {
            return Fate::Gone;
        }
        match (died, replaced) {
            (Some((died, _)), Some(again)) if died < again => Fate::Again(again),
            (_, Some(_)) => Fate::Gone,
            (Some(_), None) => Fate::Deleted,
            (None, None) => Fate::Live,
        }
    }

    /// When what has this number was written: not before, as far as the tombstones tell.
    pub fn known(&self, seq: SeqNo) -> Moment {
        let before = [&self.family, &self.column].into_iter().filter_map(|m| m.before(seq)).max();
        Moment { clock: before.unwrap_or(Moment::ALWAYS.clock), seq }
    }

    pub fn covering(&self, put: &StoredCell) -> Covering {
        let both = [&self.family, &self.column];
        let first = both.iter().filter_map(|m| m.first(put)).min_by_key(|(seq, m)| (*seq, m.timestamp));
        Covering {
            ended_by: first.map(|(seq, m)| (m.timestamp, Moment { clock: m.written, seq })),
            lowest: both.iter().filter_map(|m| m.lowest(put)).min(),
            erased: both.iter().filter_map(|m| m.erased(put)).min(),
        }
    }

    /// Counts a put at each boundary of its life, until it is masked.
    fn is_masked(
        &mut self,
        put: &StoredCell,
        died: Option<(SeqNo, Marker)>,
        replaced: Option<SeqNo>,
        ranks: bool,
    ) -> bool {
        if self.limit.versions >= UNLIMITED {
            return false;
        }
        // A tombstone of the same mutation as the put that replaces it finds that one.
        let replaced = replaced.map(|seq| SeqNo(seq.0.saturating_sub(1)));
        let end = died.map(|(seq, _)| seq).into_iter().chain(replaced).min();
        let last = end.unwrap_or(SeqNo(u64::MAX));
        self.rank = Rank::default();
        if !self.counts_next() {
            self.rank.newest_until = died.filter(|_| ranks).and_then(|(died, _)| self.lives.oldest_at(died));
            self.lives.push(Life { from: put.seq, to: last, timestamp: put.timestamp });
            if end.is_none() {
                self.live_now = self.live_now.and(put.timestamp);
            }
            return false;
        }
        for boundary in self.boundaries(put.seq, last) {
            if !self.count_at(boundary, put.timestamp) {
                let to = SeqNo(boundary.0.saturating_sub(1));
                self.lives.push(Life { from: put.seq, to, timestamp: put.timestamp });
                return true;
            }
        }
        self.lives.push(Life { from: put.seq, to: last, timestamp: put.timestamp });
        if end.is_some() {
            return false;
        }
        if self.is_full() {
            return true;
        }
        self.live_now = self.live_now.and(put.timestamp);
        false
    }

    /// Whether the next put has to be counted: with as many as are kept none of them is masked.
    fn counts_next(&mut self) -> bool {
        self.puts = self.puts.saturating_add(1);
        let begins = !self.is_counting && (self.puts > self.limit.versions || self.lives.are_full());
        if begins {
            self.is_counting = true;
            self.boundaries(SeqNo(0), SeqNo(u64::MAX)).into_iter().for_each(|boundary| self.count_lives(boundary));
        }
        self.is_counting
    }

    /// Counts one put more; `false`: as many as were kept then are there already.
    fn count_at(&mut self, boundary: SeqNo, timestamp: Timestamp) -> bool {
        let count = self.counts.entry(boundary).or_default();
        let beyond_versions = count.puts >= self.limit.versions;
        self.rank = Rank { newest_until: (count.puts > 0).then_some(count.least), beyond_versions };
        let written = || [&self.family, &self.column].iter().find_map(|of| of.boundaries.get(&boundary)).copied();
        if beyond_versions && !self.limit.has_room(count.puts, count.least, written().unwrap_or(self.now)) {
            return false;
        }
        *count = count.and(timestamp);
        true
    }

    fn boundaries(&self, from: SeqNo, last: SeqNo) -> Vec<SeqNo> {
        if from > last {
            return Vec::new();
        }
        let family = self.family.boundaries.range(from..=last);
        let both = family.chain(self.column.boundaries.range(from..=last));
        let mut found: Vec<SeqNo> = both.map(|(seq, _)| *seq).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}
