//! Reads that look at a column's first cell alone, beside the rules in full: whatever was written and wherever it lies,
//! both show the same.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::backend::{CompactionKind, PurgeScope};
use crate::format::key;
use crate::visibility::{CellSource, FamilyReader, ReadRules, SliceSource};

pub(super) const ROWS: [&str; 3] = ["a", "b", "c"];
const FAMILIES: [&str; 2] = ["f", "g"];
/// The empty one stands where tombstones of the family do.
pub(super) const QUALIFIERS: [&str; 4] = ["", "q", "qa", "r"];

#[derive(Clone, Copy, Debug)]
pub(super) enum When {
    Clock,
    AfterNewest,
    /// Milliseconds from the clock: few, so that they meet.
    Off(i64),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    row: usize,
    family: usize,
    qualifier: usize,
    when: When,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Deed {
    Put {
        at: At,
        ttl_ms: Option<u64>,
    },
    /// A version that was deleted so many milliseconds after its time.
    Restore {
        at: At,
        ended_after: i64,
    },
    Delete {
        at: At,
        kind: usize,
        erases: bool,
    },
    /// What `cellfs` does to set or take away a TTL: the newest version is put again.
    SetTtl {
        at: At,
        ttl_ms: Option<u64>,
    },
    Flush,
    Compact(CompactionKind),
    Purge,
    /// Milliseconds.
    Clock(i64),
}

/// Places, in so many of the qualifiers.
pub(super) fn at(qualifier: impl Strategy<Value = usize>) -> impl Strategy<Value = At> {
    let when = prop_oneof![
        2 => Just(When::Clock),
        2 => Just(When::AfterNewest),
        3 => (-4..3i64).prop_map(|n| When::Off(n * 1_000)),
    ];
    let place = (0..ROWS.len(), 0..FAMILIES.len(), qualifier, when);
    place.prop_map(|(row, family, qualifier, when)| At { row, family, qualifier, when })
}

fn ttl() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![3 => Just(None), 2 => (1..4u64).prop_map(|n| Some(n * 1_000))]
}

/// Deeds at such places.
pub(super) fn deed<S: Strategy<Value = At>>(at: impl Fn() -> S) -> impl Strategy<Value = Deed> {
    prop_oneof![
        12 => (at(), ttl()).prop_map(|(at, ttl_ms)| Deed::Put { at, ttl_ms }),
        3 => (at(), 0..3_000i64).prop_map(|(at, ended_after)| Deed::Restore { at, ended_after }),
        6 => (at(), 0..5usize, any::<bool>()).prop_map(|(at, kind, erases)| Deed::Delete { at, kind, erases }),
        2 => (at(), ttl()).prop_map(|(at, ttl_ms)| Deed::SetTtl { at, ttl_ms }),
        4 => Just(Deed::Flush),
        1 => Just(Deed::Compact(CompactionKind::Minor)),
        1 => Just(Deed::Compact(CompactionKind::Major)),
        1 => Just(Deed::Purge),
        3 => (-2..4i64).prop_map(|n| Deed::Clock(n * 1_000)),
        1 => Just(Deed::Clock(1)),
    ]
}

prop_compose! {
    /// VERSIONS, MIN_VERSIONS, TTL, KEEP_DELETED_CELLS and NEW_VERSION_BEHAVIOR.
    pub(super) fn attributes()(
        versions in 1..4u32,
        least in 0..3u32,
        ttl in prop::option::of(1..5u32),
        keep in prop::sample::select(vec!["FALSE", "TRUE", "TTL"]),
        new_versions in any::<bool>(),
    ) -> Vec<(String, String)> {
        // Without a TTL there is no MIN_VERSIONS.
        let least = if ttl.is_some() { least.min(versions) } else { 0 };
        let mut all = vec![
            ("VERSIONS", versions.to_string()),
            ("MIN_VERSIONS", least.to_string()),
            ("KEEP_DELETED_CELLS", keep.to_owned()),
            ("NEW_VERSION_BEHAVIOR", new_versions.to_string()),
        ];
        all.extend(ttl.map(|seconds| ("TTL", seconds.to_string())));
        all.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
    }
}

/// That of the n-th put: some are long, of which some stand apart from their cells.
fn value_of(n: u32) -> Vec<u8> {
    let mut value = n.to_be_bytes().to_vec();
    let len = match n % 16 {
        5 => 300,
        9 => 700,
        13 => 20_000,
        _ => value.len(),
    };
    value.resize(len, b'v');
    value
}

/// A store that deeds are done to.
pub(super) struct Rig {
    pub(super) env: SimEnv,
    pub(super) store: Store,
    puts: u32,
}

impl Rig {
    pub(super) fn new(families: &[Vec<(String, String)>]) -> Self {
        let env = SimEnv::new();
        let store = open(&env);
        let of = |(name, attributes): (&&str, &Vec<(String, String)>)| {
            FamilySchema::new(*name, attributes.iter().cloned().collect())
        };
        let schema = TableSchema::new(table(), FAMILIES.iter().zip(families).map(of));
        store.alter(CatalogueChange::CreateTable(schema), Origin(0)).unwrap();
        Self { env, store, puts: 0 }
    }

    fn time(&self, when: When) -> Time {
        match when {
            When::Clock => Time::Now,
            When::AfterNewest => Time::AfterNewest,
            When::Off(ms) => Time::At(Timestamp(self.store.now().0 + ms)),
        }
    }

    fn put_cell(&mut self, at: At, ttl_ms: Option<u64>, ended_at: Option<Timestamp>) -> PutCell {
        self.puts += 1;
        let cell = put_cell(QUALIFIERS[at.qualifier], &value_of(self.puts), self.time(at.when));
        PutCell { family: FAMILIES[at.family].into(), ttl_ms, ended_at, ..cell }
    }

    fn mutate(&self, at: At, mutation: Mutation) {
        mutate(&self.store, ROWS[at.row], mutation, Durability::SyncWal).unwrap();
    }

    fn delete(&self, at: At, kind: usize, erases: bool) {
        let (family, qualifier) = (FAMILIES[at.family].to_owned(), Qualifier::from(QUALIFIERS[at.qualifier]));
        let kind = match kind {
            0 => DeleteKind::Version { family, qualifier },
            1 => DeleteKind::Column { family, qualifier },
            2 => DeleteKind::Family { family },
            3 => DeleteKind::FamilyVersion { family },
            _ => DeleteKind::Row,
        };
        // One timestamp of a family is never the newest of something.
        let is_of_newest = !matches!(kind, DeleteKind::FamilyVersion { .. });
        let when = if is_of_newest || !matches!(at.when, When::AfterNewest) { at.when } else { When::Clock };
        self.mutate(at, Mutation::Delete(vec![DeleteMarker { kind, time: self.time(when), erases }]));
    }

    pub(super) fn act(&mut self, deed: Deed) {
        match deed {
            Deed::Put { at, ttl_ms } => {
                let cell = self.put_cell(at, ttl_ms, None);
                self.mutate(at, Mutation::Put(vec![cell]));
            }
            Deed::Restore { at, ended_after } => {
                let end = Timestamp(self.store.now().0 + ended_after);
                let cell = self.put_cell(at, None, Some(end));
                self.mutate(at, Mutation::Restore(Box::new(cell)));
            }
            Deed::Delete { at, kind, erases } => self.delete(at, kind, erases),
            Deed::SetTtl { at, ttl_ms } => self.set_ttl(at, ttl_ms),
            Deed::Flush => self.store.flush(None).unwrap(),
            Deed::Compact(kind) => self.store.compact(&table(), None, kind).unwrap(),
            Deed::Purge => {
                let scope = PurgeScope { table: table(), row: None, family: None, qualifier: None };
                self.store.purge(&scope).unwrap();
            }
            Deed::Clock(ms) => self.env.advance(ms),
        }
    }

    fn set_ttl(&self, at: At, ttl_ms: Option<u64>) {
        let (row, family, qualifier) = (ROWS[at.row], FAMILIES[at.family], QUALIFIERS[at.qualifier]);
        let column = ColumnKey { family: family.into(), ..column(row, qualifier) };
        if let Some(cell) = self.store.newest(&column, TimeRange::ALL).unwrap() {
            let change = AttributeChange { file: FileChange::default(), ttl_ms: Some(ttl_ms) };
            self.store.set_attributes(&column, &cell, &change, Origin(0)).unwrap();
        }
    }

    /// All that is stored in a row and family.
    pub(super) fn stored(&self, row: &str, family: &FamilySchema) -> Vec<StoredCell> {
        let (snapshot, prefix) = (self.store.engine.view(), key::row_prefix(row.as_bytes()));
        let mut cursor = self.store.engine.row_cursor(&snapshot, family.id, &prefix, 256).unwrap();
        let (mut source, mut cells) = (cursor.row(prefix), Vec::new());
        while let Some(cell) = source.next().unwrap() {
            cells.push(cell);
        }
        cells
    }

    /// The columns of a row and family that the rules in full show, as `(qualifier, timestamp, seq)`.
    fn judged(&self, row: &str, family: &FamilySchema) -> Vec<(Qualifier, Timestamp, SeqNo)> {
        let cells = self.stored(row, family);
        let rules = ReadRules::plain(&family.rules, self.store.now());
        let mut reader = FamilyReader::new(SliceSource::new(&cells), rules);
        let mut shown = Vec::new();
        while let Some(visible) = reader.next().unwrap() {
            shown.push((visible.cell.qualifier, visible.cell.timestamp, visible.cell.seq));
        }
        shown
    }

    /// That plain scans, reads of one column, listings of rows and of columns show what the rules in full do.
    fn compare(&self) {
        let catalogue = self.store.catalogue().unwrap();
        let families = &catalogue.tables[&table()].families;
        let forward: Vec<RowResult> = self.store.scan(&Scan::all(table())).unwrap().map(Result::unwrap).collect();
        let backward = Scan { reversed: true, ..Scan::all(table()) };
        let mut backward: Vec<RowResult> = self.store.scan(&backward).unwrap().map(Result::unwrap).collect();
        backward.reverse();
        assert_eq!(forward, backward, "a scan, and one that is not plain");
        let mut with_cells = BTreeSet::new();
        for row in ROWS {
            for (name, family) in families {
                if self.compare_family((row, name), family, &forward) {
                    with_cells.insert(row.to_owned());
                }
            }
        }
        assert_eq!(rows(&self.store), with_cells.iter().cloned().collect::<Vec<_>>(), "rows");
        let first = Scan { limit: Some(1), ..Scan::all(table()) };
        let first: Vec<RowResult> = self.store.scan(&first).unwrap().map(Result::unwrap).collect();
        assert_eq!(first, forward[..forward.len().min(1)], "the first row");
        self.compare_count(&forward);
    }

    /// That a count that is known is that of the rows.
    fn compare_count(&self, forward: &[RowResult]) {
        for (start, stop) in [("", ""), ("b", ""), ("a", "c"), ("aa", "bb")] {
            let is_within = |row: &[u8]| row >= start.as_bytes() && (stop.is_empty() || row < stop.as_bytes());
            let rows = forward.iter().filter(|found| is_within(&found.row)).count() as u64;
            let scan = Scan { start: start.into(), stop: stop.into(), ..Scan::all(table()) };
            let count = self.store.count_rows(&scan).unwrap();
            assert!(count.is_none_or(|count| count == rows), "{count:?} of {rows} rows from {start:?} to {stop:?}");
        }
        let now = self.store.now().0;
        for moment in [Timestamp(now), Timestamp(now - 1_000)] {
            for time_range in [TimeRange::until(moment), TimeRange::as_of(moment)] {
                let scan = Scan { read: ReadSpec { time_range, ..ReadSpec::default() }, ..Scan::all(table()) };
                let rows = self.store.scan(&scan).unwrap().count() as u64;
                let count = self.store.count_rows(&scan).unwrap();
                assert!(count.is_none_or(|count| count == rows), "{count:?} of {rows} rows in {time_range:?}");
            }
        }
    }

    /// Whether there is anything of it.
    fn compare_family(&self, (row, name): (&str, &str), family: &FamilySchema, scanned: &[RowResult]) -> bool {
        let judged = self.judged(row, family);
        let of_row = scanned.iter().filter(|found| *found.row == *row.as_bytes()).flat_map(|found| &found.cells);
        let of_family = of_row.filter(|cell| cell.family == name);
        let scanned: Vec<_> = of_family.map(|cell| (cell.qualifier.clone(), cell.timestamp)).collect();
        let expected: Vec<_> = judged.iter().map(|(qualifier, time, _)| (qualifier.clone(), *time)).collect();
        assert_eq!(scanned, expected, "{row}/{name} in a scan");
        for qualifier in QUALIFIERS {
            let column = ColumnKey { family: name.into(), ..column(row, qualifier) };
            let newest = self.store.newest(&column, TimeRange::ALL).unwrap().map(|cell| (cell.timestamp, cell.seq));
            let expected = judged.iter().find(|(q, ..)| **q == *qualifier.as_bytes()).map(|(_, t, seq)| (*t, *seq));
            assert_eq!(newest, expected, "{row}/{name}/{qualifier}");
        }
        let list = |after: Option<&str>, limit| {
            let (after, range) = (after.map(str::as_bytes), TimeRange::ALL);
            let listed = self.store.list_columns(&table(), row.as_bytes(), name, after, range, limit).unwrap();
            listed.into_iter().map(|(qualifier, cell)| (qualifier, cell.timestamp, cell.seq)).collect::<Vec<_>>()
        };
        assert_eq!(list(None, usize::MAX), judged, "{row}/{name} listed");
        for after in QUALIFIERS {
            let behind = judged.iter().filter(|(qualifier, ..)| **qualifier > *after.as_bytes());
            assert_eq!(list(Some(after), 2), behind.take(2).cloned().collect::<Vec<_>>(), "{row}/{name} after {after}");
        }
        !judged.is_empty()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn a_look_at_the_first_cell_shows_what_the_rules_in_full_do(
        families in prop::collection::vec(attributes(), FAMILIES.len()),
        deeds in prop::collection::vec(deed(|| at(0..3_usize)), 1..40),
    ) {
        let mut rig = Rig::new(&families);
        for deed in deeds {
            rig.act(deed);
            rig.compare();
        }
        // TTLs pass without a write.
        for _ in 0..4 {
            rig.env.advance(1_000);
            rig.compare();
        }
    }
}
