//! How many versions of a column new-version families keep, and those that are counted.

use crate::model::{FamilyRules, SeqNo, Timestamp};

/// Versions that KEEP_VERSIONS_FOR keeps of a column at most: what an editor saves in an hour, not what a program writes.
pub(super) const MOST: u32 = 100;
/// Lives remembered for moments that are not known yet; bounds memory for very long columns.
const MAX_LIVES: usize = 65_536;

/// VERSIONS, and for how long after a newer one what is beyond them stays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub versions: u32,
    keep_for_ms: u64,
}

impl Limit {
    pub fn of(family: &FamilyRules) -> Self {
        Self { versions: family.versions, keep_for_ms: family.keep_versions_for_ms }
    }

    /// Whether one more version was kept at a moment where there were so many newer ones, the oldest of them `least`:
    /// until then the next one was the newest.
    pub fn has_room(self, newer: u32, least: Timestamp, at: Timestamp) -> bool {
        newer < self.versions || newer < MOST && self.is_recent(least, at)
    }

    /// Whether what is beyond VERSIONS stays for some time.
    pub fn keeps_recent(self) -> bool {
        self.keep_for_ms > 0
    }

    /// Whether at a moment so long has not passed since `ended`.
    pub fn is_recent(self, ended: Timestamp, at: Timestamp) -> bool {
        self.keep_for_ms > 0 && at.0 < ended.0.saturating_add_unsigned(self.keep_for_ms)
    }
}

/// Live puts at some moment.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub puts: u32,
    /// The timestamp of the oldest.
    pub least: Timestamp,
}

impl Count {
    /// With one put more, older than all.
    pub fn and(self, timestamp: Timestamp) -> Self {
        Self { puts: self.puts.saturating_add(1), least: timestamp }
    }
}

/// First and last sequence number of a put's life, and its timestamp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Life {
    pub from: SeqNo,
    pub to: SeqNo,
    pub timestamp: Timestamp,
}

impl Life {
    fn holds(&self, boundary: SeqNo) -> bool {
        self.from <= boundary && boundary <= self.to
    }
}

/// The lives of a column's puts, timestamps falling.
#[derive(Debug, Default)]
pub(super) struct Lives(Vec<Life>);

impl Lives {
    /// One that ends before it begins is none.
    pub fn push(&mut self, life: Life) {
        if life.from > life.to {
            return;
        }
        // What was put again and again has one.
        let follows =
            |last: &&mut Life| last.timestamp == life.timestamp && last.from.0.checked_sub(1) == Some(life.to.0);
        if let Some(last) = self.0.last_mut().filter(follows) {
            last.from = life.from;
        } else if !self.are_full() {
            self.0.push(life);
        }
    }

    /// No other one is remembered.
    pub fn are_full(&self) -> bool {
        self.0.len() >= MAX_LIVES
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Those that a boundary lies in.
    pub fn count_at(&self, boundary: SeqNo) -> Count {
        let alive = self.0.iter().filter(|life| life.holds(boundary));
        alive.fold(Count::default(), |count, life| count.and(life.timestamp))
    }

    /// The timestamp of the oldest of them.
    pub fn oldest_at(&self, boundary: SeqNo) -> Option<Timestamp> {
        self.0.iter().rev().find(|life| life.holds(boundary)).map(|life| life.timestamp)
    }
}
