//! Timestamps that this side gives.
//!
//! HBase's servers stamp what comes without a time, and do not say how. The tree has to know the version that a put made
//! (it shows it, and writes it again at the next flush of the same handle), so its puts and tombstones carry a timestamp:
//! the clock of this machine, but later than what the column has from then on. What says `Now` is stamped by the server.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicI64, Ordering};

use rustc_hash::FxBuildHasher;

use super::reading::{ALL_VERSIONS, of_row, raw};
use crate::hbase::HBase;
use crate::hbase::client::proto::data;
use crate::hbase::client::proto::filter::lengths_only;
use crate::hbase::client::wire::cell::{PUT, tombstone};
use crate::hbase::client::{Cell, Scanner};
use crate::hbase::convert::{table_name, time_range};
use crate::model::{Mutation, Qualifier, RowKey, TableName, Time, TimeRange, Timestamp, hidden_for_good};
use crate::{Error, ErrorKind, Result};

/// Columns share these: a column's timestamps of this process never come twice.
const STRIPES: usize = 4096;
/// What was given further ahead of the clock than this, ms, is one column's alone, whose stored version lies in the future:
/// those that share its stripe have nothing of it.
const AHEAD_MS: i64 = 60_000;

/// The timestamps that were given last.
pub(in crate::hbase) struct Given(Vec<AtomicI64>);

impl Default for Given {
    fn default() -> Self {
        Self((0..STRIPES).map(|_| AtomicI64::new(0)).collect())
    }
}

impl Given {
    /// `least`, or later than what the column was given before; `now`: the clock.
    fn next(&self, column: impl Hash, least: i64, now: i64) -> i64 {
        if least.saturating_sub(now) > AHEAD_MS {
            return least;
        }
        let stripe = &self.0[FxBuildHasher.hash_one(column) as usize % STRIPES];
        let mut given = least;
        // The closure always gives a value.
        let _ = stripe.fetch_update(Ordering::AcqRel, Ordering::Acquire, |last| {
            given = least.max(last.saturating_add(1));
            Some(given)
        });
        given
    }
}

/// What the row has from some time on, tombstones among it.
#[derive(Default)]
struct Later {
    /// The greatest timestamp of each column.
    times: BTreeMap<(Vec<u8>, Qualifier), i64>,
    /// Columns and families (without a qualifier) with a tombstone of the last time that there is.
    ended: BTreeSet<(Vec<u8>, Option<Qualifier>)>,
}

impl Later {
    fn take(&mut self, cell: Cell) {
        if cell.kind != PUT && cell.timestamp >= Timestamp::MAX.0 {
            let is_of_family = [tombstone::FAMILY, tombstone::FAMILY_VERSION].contains(&cell.kind);
            self.ended.insert((cell.family.clone(), (!is_of_family).then(|| cell.qualifier.clone())));
        }
        let latest = self.times.entry((cell.family, cell.qualifier)).or_insert(cell.timestamp);
        *latest = cell.timestamp.max(*latest);
    }

    /// Of a column and of the family's tombstones; without a qualifier of the whole family.
    fn of(&self, family: &str, qualifier: Option<&[u8]>) -> Option<i64> {
        let concerns = |(name, column): &&(Vec<u8>, Qualifier)| {
            name == family.as_bytes() && qualifier.is_none_or(|wanted| column == wanted || column.is_empty())
        };
        self.times.iter().filter(|(key, _)| concerns(key)).map(|(_, time)| *time).max()
    }

    fn is_ended(&self, family: &str, qualifier: &[u8]) -> bool {
        let family = family.as_bytes().to_vec();
        self.ended.contains(&(family.clone(), None)) || self.ended.contains(&(family, Some(qualifier.to_vec())))
    }
}

/// What was looked at before rows are changed, all at once.
pub(in crate::hbase) struct Looked {
    table: TableName,
    now: i64,
    rows: BTreeMap<RowKey, Later>,
}

impl Looked {
    /// Looks at the rows, and at those between them, if one of the times needs that: at what is not older than the
    /// earliest of these times, which is hardly ever anything.
    pub fn at<'m>(
        hbase: &HBase,
        table: &TableName,
        changes: impl Iterator<Item = (&'m RowKey, &'m [Mutation])>,
    ) -> Result<Self> {
        let mut looked = Self { table: table.clone(), now: hbase.clock().0, rows: BTreeMap::new() };
        let (mut since, mut first, mut last) = (None, None, None);
        for (row, mutations) in changes {
            let Some(own) = mutations.iter().flat_map(times).filter_map(|time| looked.since(time)).min() else {
                continue;
            };
            since = Some(since.map_or(own, |since: i64| since.min(own)));
            first = Some(first.map_or(row, |first: &RowKey| first.min(row)));
            last = Some(last.map_or(row, |last: &RowKey| last.max(row)));
        }
        if let (Some(since), Some(first), Some(last)) = (since, first, last) {
            let scan = data::Scan {
                attribute: vec![raw()],
                filter: Some(lengths_only()),
                time_range: time_range(TimeRange { min: since.max(0), ..TimeRange::ALL }),
                max_versions: Some(ALL_VERSIONS),
                ..of_row(first, data::Scan::default())
            };
            let scan = data::Scan { stop_row: Some(last.clone()), ..scan };
            let mut scanner = Scanner::new(&hbase.cluster, table_name(table), scan, None);
            while let Some(part) = scanner.next()? {
                let later = looked.rows.entry(part.row).or_default();
                part.cells.into_iter().for_each(|cell| later.take(cell));
            }
        }
        Ok(looked)
    }

    /// From when on what is stored matters.
    fn since(&self, time: Time) -> Option<i64> {
        match time {
            Time::AfterNewest | Time::AfterShown(_) => Some(self.now),
            Time::Replacing { timestamp, .. } => Some(timestamp.0.min(self.now)),
            Time::AfterNewestSince(made) => Some(made.0.min(self.now)),
            Time::Now | Time::At(_) => None,
        }
    }

    /// The times of one row's change.
    pub fn of<'a>(&'a self, hbase: &'a HBase, row: &'a RowKey) -> Times<'a> {
        Times { hbase, table: &self.table, row, now: self.now, later: self.rows.get(row) }
    }
}

/// The times of one change of a row.
pub(in crate::hbase) struct Times<'a> {
    hbase: &'a HBase,
    table: &'a TableName,
    row: &'a RowKey,
    now: i64,
    later: Option<&'a Later>,
}

impl Times<'_> {
    /// Refuses a put behind a tombstone of the last time that there is, which hides it where deletes are classic.
    pub fn check_not_ended(&self, family: &str, qualifier: &[u8]) -> Result<()> {
        match self.later.is_some_and(|later| later.is_ended(family, qualifier)) {
            true => Err(hidden_for_good(family, qualifier)),
            false => Ok(()),
        }
    }

    /// The timestamp of a put or a tombstone of a column (`None`: of a family); `None`: the server's clock.
    pub fn of(&self, time: Time, family: &str, qualifier: Option<&[u8]>) -> Result<Option<Timestamp>> {
        let latest = self.later.and_then(|later| later.of(family, qualifier));
        let after = |least: i64| {
            let least = latest.map_or(least, |latest| least.max(latest.saturating_add(1)));
            let column = (self.table, self.row, family, qualifier);
            Timestamp(self.hbase.given.next(column, least, self.now).min(Timestamp::MAX.0))
        };
        Ok(match time {
            Time::Now => None,
            Time::At(timestamp) if timestamp.0 < 0 || timestamp > Timestamp::MAX => {
                let text = format!("Timestamp {timestamp} is none that a cell can have: 0 to {}", Timestamp::MAX);
                return Err(Error::new(ErrorKind::IllegalArgument, text));
            }
            Time::At(timestamp) => Some(timestamp),
            Time::AfterNewest | Time::AfterShown(_) => Some(after(self.now)),
            Time::AfterNewestSince(made) => Some(after(made.0.min(self.now))),
            // Nothing came after it: the same version again.
            Time::Replacing { timestamp, .. } if latest == Some(timestamp.0) => Some(timestamp),
            Time::Replacing { .. } => Some(after(self.now)),
        })
    }
}

fn times(mutation: &Mutation) -> Vec<Time> {
    match mutation {
        Mutation::Put(cells) => cells.iter().map(|cell| cell.time).collect(),
        Mutation::Restore(cell) => vec![cell.time],
        Mutation::Delete(markers) => markers.iter().map(|marker| marker.time).collect(),
        // The server gives them a time that is later than that of what they change.
        Mutation::Increment(_) | Mutation::Append(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_never_given_a_time_twice_and_no_other_one_its_future() {
        let given = Given::default();
        let next = |least| given.next("c", least, 5);
        assert_eq!((next(5), next(5), next(3), next(90)), (5, 6, 7, 90));
        // It has a version in the future.
        assert_eq!(next(4_100_000_000_000), 4_100_000_000_000);
        assert_eq!(next(91), 91);
    }

    #[test]
    fn tombstones_of_the_family_count_for_each_column() {
        let mut later = Later::default();
        let cell = |qualifier: &str, timestamp| Cell {
            row: b"r".to_vec(),
            family: b"f".to_vec(),
            qualifier: qualifier.into(),
            timestamp,
            kind: PUT,
            value: Vec::new(),
        };
        [cell("", 7), cell("a", 5), cell("a", 4), cell("b", 9)].into_iter().for_each(|cell| later.take(cell));
        assert_eq!(later.of("f", Some(b"a")), Some(7));
        assert_eq!(later.of("f", Some(b"b")), Some(9));
        assert_eq!((later.of("f", None), later.of("g", None)), (Some(9), None));
        // Of the last time: that of a column, the nameless one too, hides nothing of others.
        let ended = |qualifier: &str, kind| Cell { kind, ..cell(qualifier, Timestamp::MAX.0) };
        later.take(ended("", tombstone::COLUMN));
        later.take(ended("a", tombstone::COLUMN));
        later.take(ended("b", PUT));
        assert_eq!(["", "a", "b", "c"].map(|name| later.is_ended("f", name.as_bytes())), [true, true, false, false]);
        later.take(ended("", tombstone::FAMILY));
        assert!(later.is_ended("f", b"c") && !later.is_ended("g", b"c"));
    }
}
