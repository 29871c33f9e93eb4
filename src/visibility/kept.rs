//! Which deleted versions of a column are still kept (NEW_VERSION_BEHAVIOR families).
//!
//! VERSIONS deleted versions of a column are kept at any moment, the newest ones, each for
//! PURGE_DELETED_AFTER from when its tombstone was written. What was outranked at some moment is gone
//! for good, so that the answer does not depend on when a compaction dropped it; but for KEEP_VERSIONS_FOR
//! from when it was the newest it stays whatever outranks it.

use super::limit::{Limit, MOST};
use super::markers::Rank;
use crate::model::{FamilyRules, KeepDeleted, Timestamp};

/// Places for deleted versions of one column over time; asked from the newest version to the oldest.
pub(super) struct KeptPlaces {
    limit: Limit,
    /// Versions of this column that only their recent end keeps.
    recent: u32,
    purge_after: i64,
    now: Timestamp,
    /// `(from, taken)`: from this moment to that of the next entry so many places are taken. Sorted.
    taken: Vec<(i64, u32)>,
}

impl KeptPlaces {
    /// `None` if the family keeps no deleted versions.
    pub fn new(family: &FamilyRules, now: Timestamp) -> Option<Self> {
        if family.keep_deleted == KeepDeleted::False {
            return None;
        }
        let purge_after = family.purge_deleted_after_ms.map_or(i64::MAX, |ms| i64::try_from(ms).unwrap_or(i64::MAX));
        Some(Self { limit: Limit::of(family), recent: 0, purge_after, now, taken: vec![(i64::MIN, 0)] })
    }

    /// Starts with another column.
    pub fn reset(&mut self) {
        self.recent = 0;
        self.taken.clear();
        self.taken.push((i64::MIN, 0));
    }

    /// Whether a version is kept now whose deletion was written at `written`, and which reads of a past that ends at
    /// `hidden_from` or later do not see.
    pub fn take(&mut self, written: Timestamp, hidden_from: Timestamp, rank: Rank) -> bool {
        let from = written.0;
        let purged = from.saturating_add(self.purge_after);
        // A place that is free again is not for it, whether a compaction has taken its holder by then or not.
        let mut free = i64::MAX;
        if !rank.beyond_versions {
            let full = self.first_full(from);
            free = full.map_or(i64::MAX, |full| self.first_free(full));
            let until = full.map_or(purged, |full| full.min(purged));
            if from < until {
                self.occupy(from, until);
            }
            if self.now.0 < until {
                return true;
            }
        }
        // The last moment that shows it. What is newer than a back-dated tombstone may be gone by now, and must not matter.
        let shown_until = written.min(hidden_from);
        let ended = rank.newest_until.map_or(shown_until, |until| until.min(shown_until));
        let is_recent = self.now.0 < purged.min(free) && self.recent < MOST && self.limit.is_recent(ended, self.now);
        self.recent += u32::from(is_recent);
        is_recent
    }

    /// First moment, not before `from`, at which all places are taken.
    fn first_full(&self, from: i64) -> Option<i64> {
        let at = self.taken.partition_point(|(start, _)| *start <= from) - 1;
        let full = self.taken[at..].iter().find(|(_, taken)| *taken >= self.limit.versions)?;
        Some(full.0.max(from))
    }

    /// First moment after `full` at which there is a place again.
    fn first_free(&self, full: i64) -> i64 {
        let at = self.taken.partition_point(|(start, _)| *start <= full);
        let free = self.taken[at..].iter().find(|(_, taken)| *taken < self.limit.versions);
        free.map_or(i64::MAX, |(start, _)| *start)
    }

    fn occupy(&mut self, from: i64, until: i64) {
        let first = self.split(from);
        let end = if until == i64::MAX { self.taken.len() } else { self.split(until) };
        for (_, taken) in &mut self.taken[first..end] {
            *taken += 1;
        }
        let versions = self.limit.versions;
        self.taken.dedup_by(|next, previous| next.1 == previous.1 || (next.1 >= versions && previous.1 >= versions));
    }

    /// Index of the entry that starts at `moment`, made if there is none.
    fn split(&mut self, moment: i64) -> usize {
        let after = self.taken.partition_point(|(start, _)| *start <= moment);
        let (start, taken) = self.taken[after - 1];
        if start == moment {
            return after - 1;
        }
        self.taken.insert(after, (moment, taken));
        after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        places.take(Timestamp(written), Timestamp(written), Rank::default())
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
}
