//! Bulk loads: what they store is what puts would have stored, all or nothing, whatever comes between.

use super::*;
use crate::backend::{BulkLoad, ChangesQuery};

fn begin(store: &Store) -> Box<dyn BulkLoad> {
    store.bulk_load(&table()).unwrap().unwrap()
}

fn hold(load: &mut dyn BulkLoad, row: &str, value: &[u8], at: i64) {
    let cells = vec![put_cell("q", value, Time::At(Timestamp(at)))];
    assert!(load.put(&row.into(), cells).unwrap().is_none());
}

fn load(store: &Store, cells: &[(&str, &[u8], i64)]) -> crate::Result<()> {
    let mut load = begin(store);
    cells.iter().for_each(|(row, value, at)| hold(&mut *load, row, value, *at));
    load.commit()
}

fn versions(store: &Store, row: &str) -> Vec<(i64, Vec<u8>)> {
    let found = store.list_versions(&column(row, "q"), Versions::Live, None, 10).unwrap();
    found.iter().map(|cell| (cell.timestamp.0, store.read_value(cell, 0, usize::MAX).unwrap())).collect()
}

#[test]
fn what_is_loaded_is_as_if_it_was_put() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "kept", "q", b"before");
    // Not in order, and with a column that is said twice: the later one counts.
    load(&store, &[("b", b"1", 7), ("a", b"1", 5), ("b", b"2", 7), ("a\0c", b"3", 5), ("a", b"0", 3)]).unwrap();
    assert_eq!(store.engine.tables().active.len(), 1, "nothing of it is in memory");
    let check = |store: &Store| {
        assert_eq!(rows(store), ["a", "a\0c", "b", "kept"]);
        assert_eq!(versions(store, "a"), [(5, b"1".to_vec()), (3, b"0".to_vec())]);
        assert_eq!(versions(store, "b"), [(7, b"2".to_vec())]);
        assert_eq!(value(store, "kept", "q").unwrap(), b"before");
    };
    let store = through_close_and_flush(&env, store, check);
    // What is put after it at the same time takes its place, what is deleted is gone, and what is loaded is back.
    let again = put_cell("q", b"put", Time::At(Timestamp(7)));
    mutate(&store, "b", Mutation::Put(vec![again]), Durability::SyncWal).unwrap();
    unlink(&store, "a", "q");
    let check = |store: &Store| {
        assert_eq!(rows(store), ["a\0c", "b", "kept"]);
        assert_eq!(versions(store, "b"), [(7, b"put".to_vec())]);
    };
    let store = through_close_and_flush(&env, store, check);
    load(&store, &[("b", b"loaded", 7), ("a", b"below", 5)]).unwrap();
    let check = |store: &Store| {
        assert_eq!(versions(store, "b"), [(7, b"loaded".to_vec())]);
        assert_eq!(versions(store, "a"), [(5, b"below".to_vec())], "it is put after the tombstone");
    };
    let store = through_close_and_flush(&env, store, check);
    // A column that is written by the clock is later than what was loaded.
    let ahead = store.engine.now().0 + 40;
    load(&store, &[("a", b"ahead", ahead)]).unwrap();
    let newest = store.newest(&column("a", "q"), TimeRange::ALL).unwrap().unwrap();
    assert_eq!(newest.mtime(), store.engine.now().into(), "and has the clock's time as mtime, as any");
    assert_eq!(put(&store, "a", "q", b"after").timestamp, Timestamp(ahead + 1));
}

#[test]
fn what_is_no_plain_put_goes_the_usual_way() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    let mut load = begin(&store);
    let timed = put_cell("q", b"v", Time::AfterNewest);
    let large = put_cell("q", &[1; 20_000], Time::At(Timestamp(1)));
    let brief = PutCell { ttl_ms: Some(5), ..put_cell("q", b"v", Time::At(Timestamp(1))) };
    let other = PutCell { family: "other".into(), ..put_cell("q", b"v", Time::At(Timestamp(1))) };
    for cell in [timed, large, brief, other] {
        let plain = put_cell("p", b"v", Time::At(Timestamp(1)));
        assert_eq!(load.put(&"r".into(), vec![plain, cell]).unwrap().map(|cells| cells.len()), Some(2));
    }
    assert_eq!(
        load.put(&"r".into(), vec![put_cell("q", b"v", Time::At(Timestamp(-1)))]).unwrap_err().kind,
        ErrorKind::IllegalArgument
    );
    load.commit().unwrap();
    assert!(rows(&store).is_empty());
    hold(&mut *load, "r", b"v", 1);
    // A rule that comes meanwhile is one for what is loaded too.
    super::secondary::declare(&store, Some(super::secondary::index("f:q"))).unwrap();
    load.commit().unwrap();
    assert_eq!(super::secondary::rows_by(&store, b"v"), ["r"]);
    assert!(store.bulk_load(&table()).unwrap().is_none(), "and none begins");
}

/// A power cut at every call: a load is there or not, once it was acknowledged it is, and its number is nobody else's.
#[test]
fn a_load_that_a_crash_has_cut_is_not_there() {
    let names: Vec<String> = (0..50).map(|row| format!("r{row:02}")).collect();
    let cells: Vec<(&str, &[u8], i64)> = names.iter().map(|name| (name.as_str(), &b"loaded"[..], 5)).collect();
    super::many::all_or_nothing(
        names.len(),
        |store| load(store, &cells),
        |store, when| {
            let after = put_cell("q", b"put", Time::At(Timestamp(5)));
            mutate(store, "r00", Mutation::Put(vec![after]), Durability::SyncWal).unwrap();
            assert_eq!(versions(store, "r00"), [(5, b"put".to_vec())], "{when}");
            assert_eq!(store.check(&mut |_| Ok(())).unwrap().damages, 0, "{when}");
        },
    );
}

#[test]
fn followers_are_told_what_no_record_has() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "a", "q", b"1");
    load(&store, &[("b", b"2", 5)]).unwrap();
    put(&store, "c", "q", b"3");
    store.sync().unwrap();
    let mut query = ChangesQuery::default();
    let page = store.changes(&query).unwrap();
    assert_eq!((page.committed.len(), page.gone, page.upto, page.is_last), (1, SeqNo(0), SeqNo(1), false));
    query.after = page.upto;
    let page = store.changes(&query).unwrap();
    assert_eq!((page.committed.len(), page.gone, page.upto, page.is_last), (1, SeqNo(2), SeqNo(3), true));
    assert!(store.bulk_load(&table()).unwrap().is_none(), "beside a follower all goes through the log");
    env.advance(61_000);
    assert!(store.bulk_load(&table()).unwrap().is_some());
}
