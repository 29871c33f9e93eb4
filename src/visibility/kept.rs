//! Which deleted versions of a column are still kept (NEW_VERSION_BEHAVIOR families).
//!
//! VERSIONS deleted versions of a column are kept at any moment, the newest ones, each for
//! PURGE_DELETED_AFTER from when its tombstone was written. What was outranked at some moment is gone
//! for good, so that the answer does not depend on when a compaction dropped it, also where what outranked it was put
//! again or erased later; but for KEEP_VERSIONS_FOR from when it was the newest it stays whatever outranks it.

use super::limit::{Limit, MOST};
use super::markers::{Moment, Rank};
use crate::model::{FamilyRules, KeepDeleted, Timestamp};

/// When a version was put again of which a place had been taken. By the clock that was not before `known`.
#[derive(Clone, Copy, Debug)]
struct Again {
    known: Moment,
    purged: Moment,
}

/// Of so many versions of a column it is remembered that they were kept once; bounds memory and time for very long ones.
const MOST_HELD: u32 = 1024;
/// Places that are remembered before they are counted; bounds memory for very long columns.
const MOST_WAITING: usize = 65_536;

/// Places for deleted versions of one column over time; asked from the newest version to the oldest.
pub(super) struct KeptPlaces {
    limit: Limit,
    /// Versions of this column that only their recent end keeps.
    recent: u32,
    purge_after: i64,
    now: Timestamp,
    /// From when to when places were taken, as long as there are fewer than VERSIONS of them: until then none is full.
    waiting: Vec<(Moment, Moment)>,
    /// `(from, taken)`: from this moment to that of the next entry so many places are taken. Sorted; empty until they are
    /// counted.
    taken: Vec<(Moment, u32)>,
    /// So many were held for a time.
    held: u32,
    again: Vec<Again>,
}

impl KeptPlaces {
    /// `None` if the family keeps no deleted versions.
    pub fn new(family: &FamilyRules, now: Timestamp) -> Option<Self> {
        if family.keep_deleted == KeepDeleted::False {
            return None;
        }
        let purge_after = family.purge_deleted_after_ms.map_or(i64::MAX, |ms| i64::try_from(ms).unwrap_or(i64::MAX));
        Some(Self {
            limit: Limit::of(family),
            recent: 0,
            purge_after,
            now,
            waiting: Vec::new(),
            taken: Vec::new(),
            held: 0,
            again: Vec::new(),
        })
    }

    /// Whether so many places were taken that what comes next may find none; how it stood matters then alone.
    pub fn may_be_full(&self) -> bool {
        !self.taken.is_empty()
    }

    /// Starts with another column.
    pub fn reset(&mut self) {
        self.recent = 0;
        self.waiting.clear();
        self.taken.clear();
        self.held = 0;
        self.again.clear();
    }

    /// Whether a version is kept now whose deletion was written at `from`, and which reads of a past that ends at
    /// `hidden_from` or later do not see.
    pub fn take(&mut self, from: Moment, hidden_from: Timestamp, rank: Rank) -> bool {
        let purged = self.purged(from);
        // A place that is free again is not for it, whether a compaction has taken its holder by then or not.
        let mut free = Moment::NEVER;
        if !rank.beyond_versions {
            let full = self.first_full(from);
            free = full.map_or(Moment::NEVER, |full| self.first_free(full));
            if self.now.0 < self.occupy_until(from, purged).clock.0 {
                return true;
            }
        }
        // The last moment that shows it. What is newer than a back-dated tombstone may be gone by now, and must not matter.
        let shown_until = from.clock.min(hidden_from);
        let ended = rank.newest_until.map_or(shown_until, |until| until.min(shown_until));
        let is_held = self.now < purged.min(free).clock;
        let is_recent = is_held && self.recent < MOST && self.limit.is_recent(ended, self.now);
        self.recent += u32::from(is_recent);
        is_recent
    }

    /// A version whose deletion was written at `from` was kept until it was erased.
    pub fn held_until_erased(&mut self, from: Moment, erased: Moment) {
        if self.counts_held() {
            self.occupy_until(from, erased.min(self.purged(from)));
        }
    }

    /// The same, until it was put again: not before `known` by the clock.
    pub fn held_until_again(&mut self, from: Moment, known: Moment) {
        let purged = self.purged(from);
        if self.counts_held() && self.occupy_until(from, known.min(purged)) == known {
            self.again.push(Again { known, purged });
        }
    }

    /// Whether one more matters. Not where KEEP_VERSIONS_FOR keeps what would go with the place that becomes free.
    fn counts_held(&mut self) -> bool {
        let counts = !self.limit.keeps_recent() && self.held < MOST_HELD;
        self.held += u32::from(counts);
        counts
    }

    /// A tombstone is met that was written then: what was put again later was so later by the clock, too.
    pub fn learn(&mut self, written: Moment) {
        for at in 0..self.again.len() {
            let Again { known, purged } = self.again[at];
            let later = Moment { clock: written.clock, seq: known.seq };
            if written.seq < known.seq && known < later {
                self.again[at].known = later;
                if known < purged {
                    // No tombstone of what was judged since was written in between: there are places for all.
                    self.occupy(known, later.min(purged));
                }
            }
        }
    }

    fn purged(&self, from: Moment) -> Moment {
        Moment::at(from.clock.0.saturating_add(self.purge_after))
    }

    /// Takes a place from then on until the end, or until all are taken by newer versions, and tells when that is.
    fn occupy_until(&mut self, from: Moment, end: Moment) -> Moment {
        let until = self.first_full(from).map_or(end, |full| full.min(end));
        if from < until {
            self.occupy(from, until);
        }
        until
    }

    /// First moment, not before `from`, at which all places are taken.
    fn first_full(&self, from: Moment) -> Option<Moment> {
        let at = self.taken.partition_point(|(start, _)| *start <= from).checked_sub(1)?;
        let full = self.taken[at..].iter().find(|(_, taken)| *taken >= self.limit.versions)?;
        Some(full.0.max(from))
    }

    /// First moment after `full` at which there is a place again.
    fn first_free(&self, full: Moment) -> Moment {
        let at = self.taken.partition_point(|(start, _)| *start <= full);
        let free = self.taken[at..].iter().find(|(_, taken)| *taken < self.limit.versions);
        free.map_or(Moment::NEVER, |(start, _)| *start)
    }

    fn occupy(&mut self, from: Moment, until: Moment) {
        if self.may_be_full() {
            return self.count(from, until);
        }
        self.waiting.push((from, until));
        if self.waiting.len() >= MOST_WAITING.min(self.limit.versions as usize) {
            self.taken = counted(&std::mem::take(&mut self.waiting));
            self.merge();
        }
    }

    fn count(&mut self, from: Moment, until: Moment) {
        let first = self.split(from);
        let end = if until >= Moment::NEVER { self.taken.len() } else { self.split(until) };
        for (_, taken) in &mut self.taken[first..end] {
            *taken += 1;
        }
        self.merge();
    }

    /// Makes one of entries that do not differ.
    fn merge(&mut self) {
        let versions = self.limit.versions;
        self.taken.dedup_by(|next, previous| next.1 == previous.1 || (next.1 >= versions && previous.1 >= versions));
    }

    /// Index of the entry that starts at `moment`, made if there is none.
    fn split(&mut self, moment: Moment) -> usize {
        let after = self.taken.partition_point(|(start, _)| *start <= moment);
        let (start, taken) = self.taken[after - 1];
        if start == moment {
            return after - 1;
        }
        self.taken.insert(after, (moment, taken));
        after
    }
}

/// How many of these are taken at each moment.
fn counted(places: &[(Moment, Moment)]) -> Vec<(Moment, u32)> {
    let ends = places.iter().map(|(_, until)| (*until, false)).filter(|(until, _)| *until < Moment::NEVER);
    let mut changes: Vec<(Moment, bool)> = places.iter().map(|(from, _)| (*from, true)).chain(ends).collect();
    changes.sort_unstable();
    let mut counted = vec![(Moment::ALWAYS, 0)];
    let mut taken = 0_u32;
    // At a moment ends are first, by sorting, and none comes before its beginning.
    for (moment, begins) in changes {
        taken = if begins { taken + 1 } else { taken - 1 };
        match counted.last_mut() {
            Some(last) if last.0 == moment => last.1 = taken,
            _ => counted.push((moment, taken)),
        }
    }
    counted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::SeqNo;

    fn places(versions: u32, purge: Option<u64>, now: i64) -> KeptPlaces {
        let family = FamilyRules {
            versions,
            keep_deleted: KeepDeleted::True,
            purge_deleted_after_ms: purge,
            ..FamilyRules::default()
        };
        KeptPlaces::new(&family, Timestamp(now)).unwrap()
    }

    fn take(places: &mut KeptPlaces, written: i64) -> bool {
        let from = Moment { clock: Timestamp(written), seq: SeqNo(written as u64) };
        places.take(from, Timestamp(written), Rank::default())
    }

    #[test]
    fn the_newest_versions_are_kept() {
        let mut p = places(2, None, 100);
        let kept: Vec<bool> = [9, 7, 5].map(|w| take(&mut p, w)).into();
        assert_eq!(kept, [true, true, false]);
    }

    #[test]
    fn a_place_is_free_again_once_its_holder_is_purged() {
        let mut p = places(1, Some(10), 25);
        assert!(!take(&mut p, 5), "purged at 15");
        assert!(take(&mut p, 20), "written when the place was free");
    }

    #[test]
    fn what_was_outranked_once_stays_gone() {
        let mut p = places(1, Some(10), 17);
        assert!(!take(&mut p, 5), "purged at 15");
        assert!(!take(&mut p, 8), "outranked from the start, though the other is purged by now");
    }

    #[test]
    fn nothing_is_kept_with_a_purge_time_of_zero() {
        assert!(!take(&mut places(3, Some(0), 10), 10));
    }

    #[test]
    fn a_long_history_takes_little_room() {
        let mut p = places(3, None, 1_000_000);
        for written in (0..10_000).rev() {
            take(&mut p, written);
        }
        assert!(p.taken.len() <= 8, "{} entries", p.taken.len());
    }

    proptest! {
        #[test]
        fn places_that_are_counted_late_are_those_counted_at_once(
            asked in prop::collection::vec((0..30i64, 0..30i64, 0..3u8), 1..40),
            (versions, purge) in (1..12u32, prop::option::of(0..30u64)),
        ) {
            let (mut late, mut at_once) = (places(versions, purge, 25), places(versions, purge, 25));
            at_once.taken.push((Moment::ALWAYS, 0));
            let moment = |clock: i64| Moment { clock: Timestamp(clock), seq: SeqNo(clock as u64) };
            for (from, other, kind) in asked {
                let ask = |places: &mut KeptPlaces| match kind {
                    0 => places.held_until_erased(moment(from), moment(other)),
                    1 => places.held_until_again(moment(from), moment(other)),
                    _ => places.learn(moment(other)),
                };
                ask(&mut late);
                ask(&mut at_once);
                prop_assert_eq!(take(&mut late, from), take(&mut at_once, from));
            }
            prop_assert!(late.taken.is_empty() || late.taken == at_once.taken);
        }
    }
}
