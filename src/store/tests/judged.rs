//! Scans that judge cells where they stand, beside those that do it by the rules in full: whatever was written and whatever
//! is asked, both tell the same.

use crate::store::read::lookup::read_reference;
use proptest::prelude::*;

use super::plain::{At, QUALIFIERS, ROWS, Rig, at, attributes, deed};
use super::*;
use crate::Result;
use crate::query::{RowKeyVerdict, RowQuery, RowRequest, Step, ValueLoader};
use crate::store::cursor::view::ReadView;
use crate::store::engine::Engine;
use crate::visibility::SliceSource;

/// `NOW` is the clock in milliseconds, `BEFORE` a second before it; `N5` and `N15` are the values of puts.
const LEAVES: [&str; 28] = [
    "ColumnCountGetFilter(1)",
    "ColumnCountGetFilter(2)",
    "ColumnPaginationFilter(1, 1)",
    "ColumnPrefixFilter('q')",
    "ColumnPrefixFilter('r')",
    "ColumnRangeFilter('q', false, 'r', true)",
    "ColumnValueFilter('f', 'q', >, 'binary:N5')",
    "DependentColumnFilter('f', 'q')",
    "DependentColumnFilter('f', 'q', true, <, 'binary:N15')",
    "FamilyFilter(=, 'binary:g')",
    "FirstKeyOnlyFilter()",
    "InclusiveStopFilter('b')",
    "KeyOnlyFilter()",
    "MultipleColumnPrefixFilter('qa', 'r')",
    "PageFilter(1)",
    "PageFilter(2)",
    "PrefixFilter('b')",
    "QualifierFilter(!=, 'binary:q')",
    "QualifierFilter(>=, 'binary:qa')",
    "RowFilter(!=, 'binary:b')",
    "SingleColumnValueExcludeFilter('f', 'q', >, 'binary:N5', true, true)",
    "SingleColumnValueFilter('f', 'q', >, 'binary:N5')",
    "SingleColumnValueFilter('f', 'q', >, 'binary:N5', true, false)",
    "SingleColumnValueFilter('f', 'qa', <=, 'binary:N15', true, true)",
    "SingleColumnValueFilter('g', 'r', !=, 'binary:N5', false, false)",
    "TimestampsFilter(NOW, BEFORE)",
    "ValueFilter(<=, 'binary:N15')",
    "ValueFilter(>, 'binary:N5')",
];

fn filter() -> impl Strategy<Value = String> {
    prop::sample::select(LEAVES.to_vec()).prop_map(str::to_owned).prop_recursive(3, 6, 3, |inner| {
        let joined = |word: &'static str, parts: Vec<String>| format!("({})", parts.join(word));
        let some = || prop::collection::vec(inner.clone(), 2..=3);
        prop_oneof![
            3 => some().prop_map(move |parts| joined(" AND ", parts)),
            3 => some().prop_map(move |parts| joined(" OR ", parts)),
            1 => inner.clone().prop_map(|part| format!("SKIP {part}")),
            1 => inner.clone().prop_map(|part| format!("WHILE {part}")),
        ]
    })
}

/// What is beside tombstones of the family is judged by the rules in full: seldom here.
fn place() -> impl Strategy<Value = At> {
    at(prop_oneof![1 => Just(0), 8 => 1..QUALIFIERS.len()])
}

/// What is asked for.
#[derive(Clone, Debug)]
struct Asked {
    filter: Option<String>,
    tells: Tells,
    per_family: Option<u32>,
    offset: u32,
    limit: Option<u64>,
    batch: Option<u32>,
    /// Of all families, and of one of them.
    ranges: [Option<Range>; 2],
}

/// Milliseconds before the clock.
#[derive(Clone, Copy, Debug)]
enum Range {
    Until(i64),
    AsOf(i64),
    Between(i64, i64),
}

impl Range {
    fn at(self, now: Timestamp) -> TimeRange {
        let before = |ms: i64| Timestamp(now.0 - ms);
        match self {
            Self::Until(ms) => TimeRange::until(before(ms)),
            Self::AsOf(ms) => TimeRange::as_of(before(ms)),
            Self::Between(from, len) => TimeRange::new(before(from).0, before(from).0 + len).unwrap(),
        }
    }
}

fn range() -> impl Strategy<Value = Range> {
    let ms = || (-1..4i64).prop_map(|n| n * 1_000);
    prop_oneof![
        ms().prop_map(Range::Until),
        ms().prop_map(Range::AsOf),
        (ms(), 0..3i64).prop_map(|(from, len)| Range::Between(from, len * 1_000)),
    ]
}

fn asked() -> impl Strategy<Value = Asked> {
    let tells = prop::sample::select(vec![Tells::Values, Tells::Infos]);
    let per_family = prop_oneof![4 => Just(None), 1 => (1..3u32).prop_map(Some)];
    let offset = prop_oneof![4 => Just(0), 1 => Just(1)];
    let limit = prop_oneof![3 => Just(None), 1 => (1..3u64).prop_map(Some)];
    let batch = prop_oneof![4 => Just(None), 1 => (1..3u32).prop_map(Some)];
    let ranges = [0.4, 0.1].map(|share| prop::option::weighted(share, range()));
    (prop::option::weighted(0.8, filter()), tells, per_family, offset, limit, batch, ranges).prop_map(
        |(filter, tells, per_family, offset, limit, batch, ranges)| Asked {
            filter,
            tells,
            per_family,
            offset,
            limit,
            batch,
            ranges,
        },
    )
}

impl Asked {
    fn scan(&self, now: Timestamp) -> Scan {
        let value = |n: u8| [0, 0, 0, n].map(char::from).iter().collect::<String>();
        let text = |filter: &String| {
            let (now, before) = (now.0.to_string(), (now.0 - 1_000).to_string());
            let text = filter.replace("NOW", &now).replace("BEFORE", &before);
            text.replace("N15", &value(15)).replace("N5", &value(5)).into_bytes()
        };
        let read = ReadSpec {
            filter: self.filter.as_ref().map(text),
            max_per_family: self.per_family,
            offset_per_family: self.offset,
            time_range: self.ranges[0].map_or(TimeRange::ALL, |range| range.at(now)),
            family_time_ranges: self.ranges[1].map(|range| ("g".to_owned(), range.at(now))).into_iter().collect(),
            ..ReadSpec::default()
        };
        Scan { read, tells: self.tells, limit: self.limit, batch: self.batch, ..Scan::all(table()) }
    }
}

struct Loader<'s>(&'s Engine, &'s ReadView);

impl ValueLoader for Loader<'_> {
    fn load(&mut self, cell: &StoredCell) -> Result<Vec<u8>> {
        self.load_part(cell, 0, cell.value.len() as usize)
    }

    fn load_part(&mut self, cell: &StoredCell, offset: u64, len: usize) -> Result<Vec<u8>> {
        read_reference(self.0, self.1, &cell.value, offset, len)
    }
}

/// The answer by the rules in full.
fn judged(rig: &Rig, scan: &Scan) -> Result<Vec<Piece>> {
    let catalogue = rig.store.catalogue().unwrap();
    let schema = &catalogue.tables[&table()];
    let snapshot = rig.store.engine.view();
    let (mut query, mut pieces) = (RowQuery::scan(scan, schema, rig.store.now())?, Vec::new());
    let first = query.start_hint().unwrap_or_default();
    for row in ROWS.into_iter().filter(|row| row.as_bytes() >= first.as_slice()) {
        let stored = |family: &FamilySchema| rig.stored(row, family);
        if schema.families.values().all(|family| stored(family).is_empty()) {
            continue;
        }
        match query.enter(row.as_bytes()) {
            RowKeyVerdict::Read => {}
            RowKeyVerdict::Skip => continue,
            RowKeyVerdict::Stop => break,
        }
        let cells: BTreeMap<_, _> = schema.families.values().map(|family| (family.id, stored(family))).collect();
        let request = RowRequest {
            row: row.as_bytes(),
            open: &mut |family: &FamilySchema| Ok(SliceSource::new(&cells[&family.id])),
            loader: &mut Loader(&rig.store.engine, &snapshot),
            emit: &mut |piece| {
                pieces.push(piece.clone());
                Ok(())
            },
        };
        if query.read_row(request)? == Step::Stop {
            break;
        }
    }
    Ok(pieces)
}

fn compare(rig: &Rig, asked: &[Asked]) {
    for asked in asked {
        let (scan, mut pieces) = (asked.scan(rig.store.now()), Vec::new());
        let done = rig.store.scan_pieces(&scan, &mut |piece| {
            pieces.push(piece.clone());
            Ok(())
        });
        match judged(rig, &scan) {
            Ok(expected) => {
                done.unwrap();
                assert_eq!(pieces, expected, "{asked:?}");
            }
            // A batch limit and a filter of whole rows.
            Err(e) => assert_eq!(done.unwrap_err().kind, e.kind, "{asked:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]
    #[test]
    fn cells_that_are_lent_are_judged_as_by_the_rules_in_full(
        families in prop::collection::vec(attributes(), 2),
        deeds in prop::collection::vec(deed(place), 1..40),
        asked in prop::collection::vec(asked(), 4),
    ) {
        let mut rig = Rig::new(&families);
        for deed in deeds {
            rig.act(deed);
            compare(&rig, &asked);
        }
        // TTLs pass without a write.
        for _ in 0..2 {
            rig.env.advance(1_000);
            compare(&rig, &asked);
        }
    }
}
