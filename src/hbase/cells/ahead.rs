//! What to read along with a value: the cells behind it in the listing that its reader has probably had.
//!
//! What bounds memory: [`MOST`] listings of [`MOST_CELLS`] cells whose names have [`MOST_NAMES`] bytes are remembered.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::env::sync::Mutex;
use crate::model::{CellInfo, ColumnKey, Qualifier, RowKey, TableName, TimeRange, Timestamp};

/// How long a value that was read is remembered: another client may write a version anew under its timestamp.
pub(in crate::hbase) const FRESH: Duration = Duration::from_secs(2);
const MOST: usize = 16;
const MOST_CELLS: usize = 1000;
const MOST_NAMES: usize = 256 << 10;
/// Bytes that are read along with the first value, so much more with each next one that is read soon, and at most.
const FIRST: u64 = 64 << 10;
const FACTOR: u64 = 4;
const LARGEST: u64 = 1 << 20;

/// A part of the listing of a family of a row.
struct Listing {
    table: TableName,
    row: RowKey,
    family: String,
    /// In order, with the timestamps and lengths of their newest versions.
    cells: Vec<(Qualifier, Timestamp, u64)>,
    /// How much is read ahead next, and when that was done last.
    step: u64,
    used: Instant,
}

impl Listing {
    fn is_of(&self, (table, row, family): (&TableName, &[u8], &str)) -> bool {
        self.row == row && self.family == family && self.table == *table
    }
}

/// The listings that were made last, the oldest first.
#[derive(Default)]
pub(in crate::hbase) struct Listings(Mutex<VecDeque<Listing>>);

impl Listings {
    /// Cells of a family were listed.
    pub fn add(&self, place: (&TableName, &[u8], &str), found: &[(Qualifier, CellInfo)]) {
        let names: usize = found.iter().map(|(name, _)| name.len()).sum();
        if found.len() < 2 || found.len() > MOST_CELLS || names > MOST_NAMES {
            return;
        }
        let first = &found[0].0;
        let cells = found.iter().map(|(name, cell)| (name.clone(), cell.timestamp, cell.len())).collect();
        let (table, row, family) = (place.0.clone(), place.1.to_vec(), place.2.to_owned());
        let mut listings = self.0.lock();
        listings.retain(|listing| !listing.is_of(place) || listing.cells[0].0 != *first);
        if listings.len() >= MOST {
            listings.pop_front();
        }
        listings.push_back(Listing { table, row, family, cells, step: FIRST, used: Instant::now() });
    }

    /// The columns to read for this version, itself and those behind it that were listed, and the time that their versions
    /// are of: what is put meanwhile may be larger.
    pub fn ahead(&self, key: &ColumnKey, timestamp: Timestamp) -> (Vec<Qualifier>, TimeRange) {
        let place = (&key.table, &key.row[..], &*key.family);
        let mut listings = self.0.lock();
        for listing in listings.iter_mut().rev().filter(|listing| listing.is_of(place)) {
            let Ok(at) = listing.cells.binary_search_by(|(name, ..)| name.cmp(&key.qualifier)) else { continue };
            if listing.cells[at].1 != timestamp {
                continue;
            }
            // Who reads so slowly does not find what was read ahead.
            listing.step = if listing.used.elapsed() < FRESH { listing.step } else { FIRST };
            let (mut left, mut wanted, mut range) = (listing.step, Vec::new(), TimeRange::at(timestamp));
            for (name, time, len) in &listing.cells[at..] {
                if *len > left {
                    break;
                }
                left -= len;
                wanted.push(name.clone());
                let (min, max) = (range.min.min(time.0), range.max.max(time.0.saturating_add(1)));
                range = TimeRange { min, max, ..range };
            }
            listing.step = (listing.step * FACTOR).min(LARGEST);
            listing.used = Instant::now();
            return (wanted, range);
        }
        (Vec::new(), TimeRange::ALL)
    }

    /// A row is written to.
    pub fn forget(&self, table: &TableName, row: &RowKey) {
        self.0.lock().retain(|listing| listing.row != *row || listing.table != *table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hbase::convert::info;

    fn key(qualifier: &str) -> ColumnKey {
        let table = TableName::parse("t").unwrap();
        ColumnKey { table, row: b"r".to_vec(), family: "f".into(), qualifier: qualifier.into() }
    }

    #[test]
    fn what_was_listed_is_read_along_in_growing_parts_until_its_row_changes() {
        let listings = Listings::default();
        let lens = [("a", 10), ("b", 10), ("c", FIRST), ("d", 5), ("e", LARGEST + 1), ("f", 1)];
        let found: Vec<(Qualifier, CellInfo)> = lens
            .iter()
            .map(|(name, len)| (name.as_bytes().to_vec(), info(&key(name), Timestamp(7), *len, None)))
            .collect();
        let table = key("a").table;
        listings.add((&table, b"r", "f"), &found);
        let ahead = |name: &str, time| {
            let (names, range) = listings.ahead(&key(name), Timestamp(time));
            assert!(names.is_empty() || range == TimeRange::at(Timestamp(7)));
            String::from_utf8(names.concat()).unwrap()
        };
        assert_eq!(ahead("a", 8), "", "another version is not that of the listing");
        assert_eq!(ahead("a", 7), "ab");
        assert_eq!(ahead("b", 7), "bcd", "more is read at the next step");
        assert_eq!((&*ahead("e", 7), &*ahead("f", 7), &*ahead("x", 7)), ("", "f", ""));
        listings.forget(&table, &b"r".to_vec());
        assert_eq!(ahead("a", 7), "");
    }
}
