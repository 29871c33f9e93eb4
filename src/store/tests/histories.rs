//! Versions that are looked at one by one are those that a read of all shows, whatever was remembered of the column.

use proptest::prelude::*;

use super::*;
use crate::backend::CompactionKind;

const TIMES: i64 = 12;

#[derive(Clone, Debug)]
enum Step {
    Put { at: i64, ttl_ms: Option<u64> },
    Delete { kind: u8, at: i64, erases: bool },
    Touch(i64),
    Elsewhere,
    Flush,
    Compact,
    Alter(u32),
    Advance(i64),
    Look,
}

fn step() -> impl Strategy<Value = Step> {
    let at = 0..TIMES;
    prop_oneof![
        12 => at.clone().prop_map(|at| Step::Put { at, ttl_ms: None }),
        2 => (at.clone(), 1..40u64).prop_map(|(at, ttl)| Step::Put { at, ttl_ms: Some(ttl) }),
        4 => (0..5u8, at.clone(), any::<bool>()).prop_map(|(kind, at, erases)| Step::Delete { kind, at, erases }),
        2 => at.prop_map(Step::Touch),
        2 => Just(Step::Elsewhere),
        1 => Just(Step::Flush),
        1 => Just(Step::Compact),
        1 => prop_oneof![Just(1u32), Just(4), Just(1000)].prop_map(Step::Alter),
        2 => (1i64..6).prop_map(Step::Advance),
        1 => Just(Step::Advance(600)),
        3 => Just(Step::Look),
    ]
}

fn apply(store: &Store, env: &SimEnv, first: Timestamp, (n, step): (usize, &Step)) {
    let time = |at: i64| Timestamp(first.0 + at);
    let change = |mutation| drop(mutate(store, "r", mutation, Durability::AsyncWal).unwrap());
    match *step {
        Step::Put { at, ttl_ms } => {
            let cell = put_cell("q", n.to_string().as_bytes(), Time::At(time(at)));
            change(Mutation::Put(vec![PutCell { ttl_ms, ..cell }]));
        }
        Step::Delete { kind, at, erases } => {
            let (family, qualifier) = ("f".to_owned(), b"q".to_vec());
            let version = DeleteKind::Version { family: family.clone(), qualifier: qualifier.clone() };
            let column = DeleteKind::Column { family: family.clone(), qualifier };
            let marker = |kind, at| DeleteMarker { kind, time: Time::At(time(at)), erases };
            change(Mutation::Delete(match kind {
                0 | 1 => vec![marker(version, at)],
                2 => vec![marker(column, at)],
                3 => vec![marker(DeleteKind::Family { family }, at)],
                _ => vec![marker(version, at), marker(column, at - 2)],
            }));
        }
        Step::Touch(at) => {
            let q = column("r", "q");
            if let Some(cell) = store.newest(&q, TimeRange::at(time(at))).unwrap() {
                let mtime = FileTime { seconds: n as i64, nanos: 0 };
                // Not of one that was deleted.
                let _ = store.set_attributes(&q, &cell, &timed(Some(mtime)), Origin(0));
            }
        }
        Step::Elsewhere => drop(put(store, "r", "other", b"v")),
        Step::Flush => store.flush(None).unwrap(),
        Step::Compact => store.compact(&table(), None, CompactionKind::Major).unwrap(),
        Step::Alter(versions) => {
            let mut table = store.catalogue().unwrap().tables[&table()].clone();
            let family = &table.families["f"];
            let versions = [("VERSIONS".to_owned(), versions.to_string())];
            let attributes = family.attributes.clone().into_iter().chain(versions).collect();
            table.families.insert("f".into(), FamilySchema::new("f", attributes));
            store.alter(CatalogueChange::AlterTable(table), Origin(0)).unwrap();
        }
        Step::Advance(ms) => env.advance(ms),
        Step::Look => {}
    }
}

/// What a scan shows at one timestamp.
fn scanned(store: &Store, time: Timestamp) -> Option<Vec<u8>> {
    let mut scan = Scan::all(table());
    scan.read.time_range = TimeRange::at(time);
    let rows: Vec<_> = store.scan(&scan).unwrap().map(Result::unwrap).collect();
    let cells = rows.into_iter().flat_map(|row| row.cells);
    cells.into_iter().find(|cell| cell.qualifier == b"q").map(|cell| cell.value)
}

/// All versions, in pages.
fn paged(store: &Store, limit: usize) -> Vec<CellInfo> {
    let (mut all, mut before) = (Vec::new(), None);
    loop {
        let page = store.list_versions(&column("r", "q"), Versions::LiveAndKept, before, limit).unwrap();
        before = page.last().map(|cell| cell.timestamp);
        let ended = page.len() < limit;
        all.extend(page);
        if ended {
            return all;
        }
    }
}

/// Those around a time are neighbours in the whole history, which nothing is remembered for.
fn look_around(store: &Store, first: Timestamp) {
    let history = store.list_history(&table(), b"r", "f", None, 1000).unwrap();
    let all: Vec<CellInfo> = history.into_iter().filter(|(of, _)| of == b"q").map(|(_, cell)| cell).collect();
    for (at, count) in (0..TIMES).flat_map(|at| [(at, 0), (at, 2)]) {
        let time = Timestamp(first.0 + at);
        let run = store.list_around(&column("r", "q"), time, count).unwrap();
        let len = run.cells.len();
        let begins = (0..=all.len().saturating_sub(len)).find(|begins| all[*begins..].starts_with(&run.cells));
        let begins = begins.unwrap_or_else(|| panic!("around {at}: {run:?}, of {all:?}"));
        assert_eq!(run.find(time).is_some(), all.iter().any(|cell| cell.timestamp == time), "around {at}: {all:?}");
        assert!(len == 0 || !run.from_newest || begins == 0, "around {at}: {run:?}, of {all:?}");
        assert!(len == 0 || !run.to_oldest || begins + len == all.len(), "around {at}: {run:?}, of {all:?}");
    }
}

fn look(store: &Store, first: Timestamp) {
    look_around(store, first);
    let q = column("r", "q");
    for time in (0..TIMES).map(|at| Timestamp(first.0 + at)) {
        let newest = store.newest(&q, TimeRange::at(time)).unwrap();
        let value = newest.map(|cell| store.read_value(&cell, 0, usize::MAX).unwrap());
        assert_eq!(value, scanned(store, time), "at {time}");
    }
    // One look has the rules in full.
    let all = paged(store, 100);
    for time in (0..TIMES).map(|at| Timestamp(first.0 + at)) {
        let is_readable = |cell: &CellInfo| cell.hidden_from.is_none_or(|hidden| hidden > time);
        let is_listed = all.iter().any(|cell| cell.timestamp == time && is_readable(cell));
        // One that VERSIONS hides from a listing is shown by its time in families of HBase's rules.
        let is_there = store.newest(&q, TimeRange::at(time)).unwrap().is_some();
        assert!(is_there || !is_listed, "at {time} of {all:?}");
    }
    // Pages go on before a timestamp: of two of one the second is left out at their border.
    if all.windows(2).all(|two| two[0].timestamp > two[1].timestamp) {
        assert_eq!(paged(store, 2), all);
    }
}

fn compare(attributes: &[(&str, &str)], steps: &[Step]) {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, attributes);
    let first = store.now();
    for step in steps.iter().enumerate() {
        apply(&store, &env, first, step);
        if matches!(step.1, Step::Look | Step::Advance(_) | Step::Delete { .. }) {
            look(&store, first);
        }
    }
    look(&store, first);
}

const NEW: &[(&str, &str)] = &[("VERSIONS", "1000"), ("NEW_VERSION_BEHAVIOR", "true"), ("KEEP_DELETED_CELLS", "TRUE")];
const FEW: &[(&str, &str)] =
    &[("VERSIONS", "3"), ("NEW_VERSION_BEHAVIOR", "true"), ("KEEP_VERSIONS_FOR", "1"), ("TTL", "1")];
const RECENT: &[(&str, &str)] = &[("VERSIONS", "3"), ("NEW_VERSION_BEHAVIOR", "true"), ("KEEP_VERSIONS_FOR", "1")];
const CLASSIC: &[(&str, &str)] = &[("VERSIONS", "1000"), ("KEEP_DELETED_CELLS", "FALSE")];
const KEEPING: &[(&str, &str)] = &[("VERSIONS", "8"), ("KEEP_DELETED_CELLS", "TRUE")];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn versions_one_by_one_are_those_of_all(steps in prop::collection::vec(step(), 1..60)) {
        for attributes in [NEW, FEW, RECENT, CLASSIC, KEEPING] {
            compare(attributes, &steps);
        }
    }
}

fn looks_of(store: &Store, what: &dyn Fn()) -> u64 {
    let before = store.engine.views.looks();
    what();
    store.engine.views.looks() - before
}

/// What was learned of a column is used, whatever is written elsewhere: of a long history no newer version is passed over
/// again.
#[test]
fn a_version_of_a_long_history_is_found_without_those_that_are_newer() {
    const VERSIONS: i64 = 5_000;
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[("VERSIONS", "100000"), ("NEW_VERSION_BEHAVIOR", "true")]);
    let first = store.now();
    for at in 0..VERSIONS {
        apply(&store, &env, first, (at as usize, &Step::Put { at, ttl_ms: None }));
    }
    let looks = |what: &dyn Fn()| looks_of(&store, what);
    let all = || {
        for at in 0..VERSIONS {
            if at % 10 == 0 {
                put(&store, "other", "q", b"v");
            }
            assert!(store.newest(&column("r", "q"), TimeRange::at(Timestamp(first.0 + at))).unwrap().is_some());
        }
    };
    let around = || {
        for time in (0..VERSIONS).map(|n| Timestamp(first.0 + n * 7919 % VERSIONS)) {
            assert!(store.list_around(&column("r", "q"), time, 1000).unwrap().find(time).is_some());
        }
    };
    let most = 10 * VERSIONS as u64;
    for is_flushed in [false, true] {
        let (alone, listed) = (looks(&all), looks(&|| assert_eq!(paged(&store, 10).len(), VERSIONS as usize)));
        assert!(alone < most && listed < most, "flushed: {is_flushed}, {alone} cells for each, {listed} for a listing");
        let around = looks(&around);
        assert!(around < 5 * most, "flushed: {is_flushed}, {around} cells for each with those around it");
        store.flush(None).unwrap();
    }
}

/// Who removes versions one by one finds each without passing over those that are left.
#[test]
fn what_is_known_of_a_column_stays_where_single_versions_are_removed() {
    const VERSIONS: i64 = 5_000;
    for keeping in ["TRUE", "FALSE"] {
        let env = SimEnv::new();
        let store = open(&env);
        let attributes = [("VERSIONS", "100000"), ("NEW_VERSION_BEHAVIOR", "true"), ("KEEP_DELETED_CELLS", keeping)];
        create(&store, &attributes);
        let first = store.now();
        for at in 0..VERSIONS {
            apply(&store, &env, first, (at as usize, &Step::Put { at, ttl_ms: None }));
        }
        let is_there = |at| store.newest(&column("r", "q"), TimeRange::at(Timestamp(first.0 + at))).unwrap().is_some();
        let looks = looks_of(&store, &|| {
            for at in (0..VERSIONS).step_by(2) {
                assert!(is_there(at));
                apply(&store, &env, first, (0, &Step::Delete { kind: 0, at, erases: false }));
                assert!(is_there(at + 1));
            }
        });
        assert!(looks < 10 * VERSIONS as u64, "{keeping}: {looks} cells");
        assert!((0..VERSIONS).all(|at| is_there(at) == (at % 2 == 1)));
    }
}
