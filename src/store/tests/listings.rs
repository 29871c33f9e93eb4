//! Listings and scans of more rows than are read of one moment of the store, and scans in batches.

use super::*;
use crate::store::read::point::VIEW_ROWS;

const ROWS: usize = 2 * VIEW_ROWS + 100;

fn name(n: usize) -> String {
    format!("r{n:05}")
}

/// A table of `ROWS` rows, some in a segment and some in memory.
fn filled() -> (SimEnv, Store) {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    let cell = || vec![Mutation::Put(vec![put_cell("q", b"v", Time::AfterNewest)])];
    let put = |of: std::ops::Range<usize>| {
        let rows = of.map(|n| (name(n).into(), cell())).collect();
        store
            .mutate_rows(ManyRows { table: table(), rows, durability: None, origin: Origin(0), keeps_files: false })
            .unwrap();
    };
    put(0..ROWS / 2);
    store.flush(None).unwrap();
    put(ROWS / 2..ROWS);
    (env, store)
}

fn listed(store: &Store, after: Option<usize>, before: Option<usize>, limit: usize) -> Vec<RowKey> {
    let (time_range, which) = (TimeRange::ALL, Versions::Live);
    let (after, before) = (after.map(|n| name(n).into()), before.map(name).unwrap_or_default().into());
    let listing = RowListing { table: table(), after, before, time_range, which, limit };
    store.list_rows(&listing).unwrap().iter().map(<[u8]>::to_vec).collect()
}

fn names(of: impl Iterator<Item = usize>) -> Vec<RowKey> {
    of.map(|n| name(n).into()).collect()
}

#[test]
fn a_listing_of_more_rows_than_one_look_takes_has_all_of_them() {
    let (_env, store) = filled();
    assert_eq!(listed(&store, None, None, usize::MAX), names(0..ROWS));
    assert_eq!(listed(&store, Some(9), None, VIEW_ROWS + 10), names(10..VIEW_ROWS + 20));
    assert_eq!(listed(&store, None, Some(VIEW_ROWS + 5), usize::MAX), names(0..VIEW_ROWS + 5));
    // As many as are looked at once are gone, and it goes on behind them.
    let gone = 10..VIEW_ROWS + 60;
    for n in gone.clone() {
        unlink(&store, &name(n), "q");
    }
    assert_eq!(listed(&store, None, None, 20), names((0..10).chain(gone.end..gone.end + 10)));
    assert_eq!(listed(&store, None, None, usize::MAX), names((0..10).chain(gone.end..ROWS)));
}

/// Each way in which rows are walked over.
fn scans() -> Vec<Scan> {
    let filter = ReadSpec { filter: Some(b"ValueFilter(=, 'binary:v')".to_vec()), ..ReadSpec::default() };
    let (plain, filtered) = (Scan::all(table()), Scan { read: filter, ..Scan::all(table()) });
    let reversed = |scan: &Scan| Scan { reversed: true, ..scan.clone() };
    vec![reversed(&plain), reversed(&filtered), Scan { tells: Tells::Infos, ..plain.clone() }, plain, filtered]
}

#[test]
fn a_scan_of_more_rows_than_one_look_takes_has_all_of_them() {
    let (_env, store) = filled();
    for scan in scans() {
        let rows = store.scan(&scan).unwrap().map(|row| row.unwrap().row);
        let mut found: Vec<RowKey> = rows.map(|row| row.to_vec()).collect();
        if scan.reversed {
            found.reverse();
        }
        assert_eq!(found, names(0..ROWS), "{scan:?}");
    }
}

/// Else the memtables of its beginning would stay as long as it lasts.
#[test]
fn a_long_scan_goes_on_with_what_is_stored_by_then() {
    for scan in scans() {
        let (_env, store) = filled();
        let mut rows = store.scan(&scan).unwrap();
        rows.next().unwrap().unwrap();
        let (last, late) = if scan.reversed { (name(0), "a") } else { (name(ROWS - 1), "z") };
        unlink(&store, &last, "q");
        put(&store, late, "q", b"v");
        let rest: Vec<String> = rows.map(|row| String::from_utf8(row.unwrap().row.to_vec()).unwrap()).collect();
        assert_eq!((rest.len(), rest.last().map(String::as_str)), (ROWS - 1, Some(late)), "{scan:?}");
        assert!(!rest.contains(&last), "{scan:?}");
    }
}

/// HBase: IncompatibleFilterException. Part of a row would be shown before it is known whether the row is.
#[test]
fn a_scan_in_batches_takes_no_filter_that_judges_whole_rows() {
    let store = open(&SimEnv::new());
    create(&store, FILES);
    for qualifier in ["a", "b", "c"] {
        put(&store, "r", qualifier, b"v");
    }
    let scan = |filter: &str| {
        let read = ReadSpec { filter: Some(filter.into()), ..ReadSpec::default() };
        let rows = store.scan(&Scan { batch: Some(2), read, ..Scan::all(table()) }).map_err(|e| e.kind)?;
        rows.map(|row| row.map(|row| row.cells.len()).map_err(|e| e.kind)).collect::<Result<Vec<_>, _>>()
    };
    let plain = "ValueFilter(=, 'binary:v')";
    assert_eq!(scan(plain), Ok(vec![2, 1]));
    for filter in [
        format!("WHILE {plain}"),
        format!("SKIP {plain}"),
        format!("WHILE SKIP {plain}"),
        format!("{plain} AND WHILE {plain}"),
        format!("{plain} OR (WHILE {plain})"),
        "SingleColumnValueFilter('f', 'a', =, 'binary:v')".to_owned(),
    ] {
        assert_eq!(scan(&filter), Err(ErrorKind::IncompatibleFilter), "{filter}");
    }
}

/// Of what is in memory alone a listing copies mostly the first cell of each row.
#[test]
fn rows_of_which_some_is_deleted_or_hidden_are_listed_as_a_scan_finds_them() {
    let names = ["a", "a\0", "a\0b", "ab", "a row that is longer than most", "b"];
    for attributes in [FILES, &[("VERSIONS", "1")], &[("TTL", "1000000"), ("NEW_VERSION_BEHAVIOR", "true")]] {
        let store = open(&SimEnv::new());
        create(&store, attributes);
        let mut random = 7_u64;
        for step in 0..400_usize {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (row, of) = (names[(random >> 33) as usize % names.len()], format!("{:02}", (random >> 40) % 40));
            match random >> 60 {
                0..5 => drop(put(&store, row, &of, b"v")),
                5..12 => unlink(&store, row, &of),
                12 => {
                    let marker = DeleteMarker { kind: DeleteKind::Row, time: Time::AfterNewest, erases: false };
                    mutate(&store, row, Mutation::Delete(vec![marker]), Durability::SyncWal).unwrap();
                }
                13 => {
                    let put = PutCell { ttl_ms: Some(1), ..put_cell(&of, b"v", Time::At(Timestamp(1))) };
                    mutate(&store, row, Mutation::Put(vec![put]), Durability::SyncWal).unwrap();
                }
                14 => (0..40).for_each(|of| drop(put(&store, row, &format!("{of:02}"), b"v"))),
                _ if step % 5 == 0 => store.flush(None).unwrap(),
                _ => {}
            }
            let scanned = store.scan(&Scan::all(table())).unwrap().map(|found| found.unwrap().row.to_vec());
            let scanned: Vec<RowKey> = scanned.collect();
            let (time_range, which) = (TimeRange::ALL, Versions::Live);
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let listing = RowListing { table: table(), after, before: vec![], time_range, which, limit: 2 };
                let page = store.list_rows(&listing).unwrap();
                found.extend(page.iter().map(<[u8]>::to_vec));
                after = page.last().map(<[u8]>::to_vec);
                if page.len() < 2 {
                    break;
                }
            }
            assert_eq!(found, scanned, "{attributes:?}, step {step}");
            assert_eq!(listed(&store, None, None, usize::MAX), scanned, "{attributes:?}, step {step}");
        }
    }
}
