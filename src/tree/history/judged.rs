//! Versions that were judged lately, so that a program that looks at each of very many versions of a column
//! does not have them all judged each time.
//!
//! What is remembered of a column holds until it changes, and for a second at the most: versions also end
//! with time.

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::env::sync::Mutex;
use lru::LruCache;
use rustc_hash::FxBuildHasher;

use crate::backend::{Event, VersionRun};
use crate::model::{CellInfo, ColumnKey, Timestamp};

/// Columns that are remembered.
const COLUMNS: usize = 8;
/// Runs of versions that are remembered of one column: names do not sort as times do.
const RUNS: usize = 4;
/// Versions that are remembered of all columns.
const VERSIONS: usize = 65_536;
/// Versions on either side of one that is asked for, at first and at most: who has asked for many of a column in no order
/// may ask for all of them.
const AROUND: usize = 1024;
const AROUND_MOST: usize = 16_384;
/// Columns share counters of their changes by hash.
const COUNTERS: usize = 1024;
/// How long a judgement holds, ms.
const HOLDS_MS: i64 = 1000;

/// How often a column, and everything, had changed.
type Stamp = (u64, u64);

pub struct Remembered {
    pub stamp: Stamp,
    pub at: Timestamp,
    pub run: VersionRun,
}

/// See the module.
pub struct Judged {
    changes: Vec<AtomicU64>,
    changes_of_all: AtomicU64,
    /// Of each column the latest last; [`VERSIONS`] in all bound it.
    runs: Mutex<LruCache<ColumnKey, VecDeque<Remembered>>>,
}

impl Default for Judged {
    fn default() -> Self {
        let columns = NonZeroUsize::new(COLUMNS).unwrap_or(NonZeroUsize::MIN);
        Self {
            changes: (0..COUNTERS).map(|_| AtomicU64::new(0)).collect(),
            changes_of_all: AtomicU64::new(0),
            runs: LruCache::new(columns).into(),
        }
    }
}

impl Judged {
    fn counter(&self, column: &ColumnKey) -> &AtomicU64 {
        &self.changes[FxBuildHasher.hash_one(column) as usize % COUNTERS]
    }

    pub fn stamp(&self, column: &ColumnKey) -> Stamp {
        (self.counter(column).load(Ordering::Acquire), self.changes_of_all.load(Ordering::Acquire))
    }

    /// Something was committed.
    pub fn changed(&self, event: &Event) {
        match event {
            Event::Column { column, .. } => self.counter(column).fetch_add(1, Ordering::AcqRel),
            _ => self.changes_of_all.fetch_add(1, Ordering::AcqRel),
        };
    }

    /// `None` if nothing is known; else the version, if there is one.
    pub fn known(&self, column: &ColumnKey, timestamp: Timestamp, now: Timestamp) -> Option<Option<CellInfo>> {
        let stamp = self.stamp(column);
        let mut runs = self.runs.lock();
        let of_column = runs.get_mut(column)?;
        of_column.retain(|known| known.stamp == stamp);
        let is_it = |known: &&Remembered| now.0 - known.at.0 < HOLDS_MS && known.run.covers(timestamp);
        let found = of_column.iter().rfind(is_it)?.run.find(timestamp);
        // What has expired may be there all the same.
        let has_expired = found.and_then(|cell| cell.expires_at).is_some_and(|at| at <= now);
        (!has_expired).then(|| found.cloned())
    }

    /// How many versions on either side of one that is not known are to be remembered with it.
    pub fn around(&self, column: &ColumnKey) -> usize {
        let stamp = self.stamp(column);
        let runs = self.runs.lock();
        let known = runs.peek(column).into_iter().flatten().filter(|known| known.stamp == stamp);
        known.map(|known| known.run.cells.len()).sum::<usize>().clamp(AROUND, AROUND_MOST)
    }

    pub fn remember(&self, column: &ColumnKey, remembered: Remembered) {
        let mut runs = self.runs.lock();
        let of_column = runs.get_or_insert_mut(column.clone(), VecDeque::new);
        if of_column.len() == RUNS {
            of_column.pop_front();
        }
        of_column.push_back(remembered);
        while versions(&runs) > VERSIONS {
            // The column itself was asked for last.
            match runs.len() {
                1 => drop(runs.get_mut(column).and_then(VecDeque::pop_front)),
                _ => drop(runs.pop_lru()),
            }
        }
    }
}

fn versions(runs: &LruCache<ColumnKey, VecDeque<Remembered>>) -> usize {
    runs.iter().flat_map(|(_, of_column)| of_column).map(|known| known.run.cells.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Origin, SeqNo, TableName, Tags, ValueRef};

    fn column(qualifier: &[u8]) -> ColumnKey {
        let table = TableName::parse("t").unwrap();
        ColumnKey { table, row: b"r".to_vec(), family: "f".into(), qualifier: qualifier.to_vec() }
    }

    fn cell(timestamp: i64) -> CellInfo {
        CellInfo {
            timestamp: Timestamp(timestamp),
            seq: SeqNo(1),
            tags: Tags::default(),
            value: ValueRef::default(),
            deleted_at: None,
            hidden_from: None,
            expires_at: None,
        }
    }

    #[test]
    fn what_is_known_holds_until_the_column_changes_or_time_passes() {
        let judged = Judged::default();
        let q = column(b"q");
        let run = VersionRun { cells: vec![cell(9), cell(7), cell(5)], from_newest: true, to_oldest: false };
        let remembered = Remembered { stamp: judged.stamp(&q), at: Timestamp(100), run };
        judged.remember(&q, remembered);
        let known = |t, now| judged.known(&q, Timestamp(t), Timestamp(now)).map(|found| found.map(|c| c.timestamp.0));
        assert_eq!(known(7, 200), Some(Some(7)));
        assert_eq!(known(6, 200), Some(None));
        assert_eq!(known(99, 200), Some(None), "newer than the newest");
        assert_eq!(known(4, 200), None, "older ones were not looked at");
        assert_eq!(known(7, 1200), None, "too long ago");
        judged.changed(&Event::Column { column: q.clone().into(), origin: Origin(0) });
        assert_eq!(judged.known(&q, Timestamp(7), Timestamp(200)), None);
    }

    #[test]
    fn more_is_asked_for_of_a_column_of_which_much_is_known_and_all_is_bounded() {
        let judged = Judged::default();
        let stamped = |column: &ColumnKey, most: i64| {
            let cells = (0..most).rev().map(cell).collect();
            let run = VersionRun { cells, from_newest: false, to_oldest: false };
            Remembered { stamp: judged.stamp(column), at: Timestamp(100), run }
        };
        let q = column(b"q");
        assert_eq!(judged.around(&q), AROUND);
        judged.remember(&q, stamped(&q, 1500));
        judged.remember(&q, stamped(&q, 1500));
        assert_eq!(judged.around(&q), 3000);
        for n in 0..40u8 {
            judged.remember(&column(&[n]), stamped(&column(&[n]), 9000));
            for _ in 0..5 {
                judged.remember(&q, stamped(&q, 2 * AROUND_MOST as i64 + 1));
            }
            assert!(versions(&judged.runs.lock()) <= VERSIONS);
            assert_eq!(judged.around(&q), AROUND_MOST);
            assert!(judged.known(&q, Timestamp(7), Timestamp(200)).is_some(), "the last one stays");
        }
        judged.changed(&Event::Column { column: q.clone().into(), origin: Origin(0) });
        assert_eq!(judged.around(&q), AROUND);
    }
}
