//! Counts that extents know: no more is looked at than what lies beside them.

use super::*;
use crate::backend::CompactionKind;

const ROWS: usize = 3_000;

/// A store whose rows lie in many extents, some of them in two.
fn filled(attributes: &[(&str, &str)]) -> (SimEnv, Store) {
    let env = SimEnv::new();
    let store = Store::open(StoreOptions { segment_bytes: 16 << 10, ..options(&env) }).unwrap();
    create(&store, attributes);
    for row in 0..ROWS {
        let cells = (0..3).map(|n| put_cell(&format!("q{n}"), &[b'v'; 20], Time::Now)).collect();
        mutate(&store, &format!("r{row:05}"), Mutation::Put(cells), Durability::SyncWal).unwrap();
    }
    store.flush(None).unwrap();
    store.compact(&table(), None, CompactionKind::Major).unwrap();
    (env, store)
}

/// The count, if it is known, and how many cells were looked at for it.
fn known(store: &Store, scan: &Scan) -> (Option<u64>, u64) {
    let before = store.engine.view().looks.load(std::sync::atomic::Ordering::Relaxed);
    let count = store.count_rows(scan).unwrap();
    (count, store.engine.view().looks.load(std::sync::atomic::Ordering::Relaxed) - before)
}

fn delete_row(store: &Store, row: &str) {
    let marker = DeleteMarker { kind: DeleteKind::Row, time: Time::AfterNewest, erases: false };
    mutate(store, row, Mutation::Delete(vec![marker]), Durability::SyncWal).unwrap();
}

#[test]
fn rows_are_counted_by_what_extents_say_of_them() {
    let (_, store) = filled(FILES);
    let extents = store.engine.layout().extents().count();
    assert!(extents > 5, "{extents} extents");
    let (count, looks) = known(&store, &Scan::all(table()));
    assert_eq!(count, Some(ROWS as u64));
    assert!(looks < 10, "{looks} cells were looked at");
}

#[test]
fn rows_beside_large_extents_are_looked_at_one_by_one() {
    let (_, store) = filled(FILES);
    for row in ["r00007", "new", "r01000x", "zz"] {
        put(&store, row, "q1", b"other");
    }
    delete_row(&store, "r00010");
    delete_row(&store, "r00011");
    delete_row(&store, "never");
    for _ in 0..2 {
        let (count, looks) = known(&store, &Scan::all(table()));
        assert_eq!(count, Some(ROWS as u64 + 3 - 2));
        assert!(looks < 300, "{looks} cells were looked at");
        store.flush(None).unwrap();
    }
}

#[test]
fn a_range_of_rows_is_counted_by_the_extents_in_it_alone() {
    let (_, store) = filled(FILES);
    let scan = Scan { start: b"r00500".to_vec(), stop: b"r02500".to_vec(), ..Scan::all(table()) };
    assert_eq!(known(&store, &scan).0, Some(2_000));
    let scan = Scan { stop: b"r1".to_vec(), ..Scan::all(table()) };
    assert_eq!(known(&store, &scan).0, Some(ROWS as u64));
}

#[test]
fn a_count_is_not_known_where_rows_may_have_expired_or_less_is_asked_for() {
    let (env, store) = filled(&[("TTL", "100")]);
    assert_eq!(known(&store, &Scan::all(table())).0, Some(ROWS as u64));
    let in_range = |time_range| Scan { read: ReadSpec { time_range, ..ReadSpec::default() }, ..Scan::all(table()) };
    assert_eq!(known(&store, &in_range(TimeRange::until(store.now()))).0, Some(ROWS as u64));
    assert_eq!(known(&store, &in_range(TimeRange::until(Timestamp(5)))).0, None);
    assert_eq!(known(&store, &Scan { limit: Some(7), ..Scan::all(table()) }).0, None);
    env.advance(200_000);
    assert_eq!(known(&store, &Scan::all(table())).0, None);
    assert!(rows(&store).is_empty());
}
