//! What a compaction gives back.

use std::path::Path;

use super::rig::full;
use super::*;
use crate::env::Env;

#[test]
fn compaction_drops_what_is_covered_and_moves_what_is_alive() {
    let env = SimEnv::new();
    let mut small = options(&env);
    small.segment_bytes = 4000;
    let store = Store::open(small).unwrap();
    let rules = [("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")];
    create(&store, &rules);
    for n in 0..100 {
        put(&store, "r", &format!("q{:02}", n % 50), format!("{n}").repeat(20).as_bytes());
        if n % 5 == 0 {
            put(&store, "r", &format!("keep{n}"), format!("kept {n}").as_bytes());
        }
    }
    let stale = store.newest(&column("r", "keep0"), TimeRange::ALL).unwrap().unwrap();
    // A copy that was given up for lack of room.
    let given_up = ValueHandle { segment: SegmentId(9999), ..stale.value };
    store.engine.note_moves(&[(stale.value, given_up)]).unwrap();
    let before = store.status().unwrap();
    store.flush(None).unwrap();
    store.compact(&table(), None, crate::backend::CompactionKind::Major).unwrap();
    let after = store.status().unwrap();
    assert!(after.segment_bytes < before.segment_bytes * 2 / 3, "{} of {}", after.segment_bytes, before.segment_bytes);
    assert_eq!(after.cells, 70);
    assert_eq!(store.read_value(&stale, 0, 100).unwrap(), b"kept 0");
    let check = |store: &Store| {
        let columns = store.list_columns(&table(), b"r", "f", None, TimeRange::ALL, 1000).unwrap();
        assert_eq!(columns.len(), 70);
        for (qualifier, cell) in columns {
            let value = store.read_value(&cell, 0, 1000).unwrap();
            let name = String::from_utf8(qualifier).unwrap();
            match name.strip_prefix("keep") {
                Some(n) => assert_eq!(value, format!("kept {n}").as_bytes()),
                None => {
                    let n: u32 = name[1..].parse().unwrap();
                    assert_eq!(value, (n + 50).to_string().repeat(20).as_bytes());
                }
            }
        }
        assert_eq!(store.list_versions(&column("r", "q01"), Versions::LiveAndKept, None, 9).unwrap().len(), 1);
    };
    check(&store);
    store.close().unwrap();
    check(&open(&env));
    env.lose_index();
    check(&open(&env));
    env.crash(CrashMode::LoseUnsynced);
    check(&open(&env));
}

/// A column is deleted after a compaction was stopped at its `first` call; the next one is stopped at its `second`, and
/// the index is lost. Whether either of them went through.
fn stopped_twice(first: u64, second: u64) -> (bool, bool) {
    let env = SimEnv::new();
    let small = || StoreOptions { segment_bytes: 600, ..options(&env) };
    let store = Store::open(small()).unwrap();
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    let round = |store: &Store| {
        (0..4).for_each(|n| {
            put(store, "r", &format!("q{n}"), &[n; 150]);
        })
    };
    round(&store);
    put(&store, "r", "gone", b"deleted later");
    put(&store, "r", "stays", b"here");
    round(&store);
    round(&store);
    store.flush(None).unwrap();
    let compact = |store: &Store, at: u64| {
        env.fail_call(at, FailMode::Forever, libc::EIO);
        store.compact(&table(), None, crate::backend::CompactionKind::Major).is_ok()
    };
    let one = compact(&store, first);
    env.crash(CrashMode::ProcessOnly);
    drop(store);
    let store = Store::open(small()).unwrap();
    unlink(&store, "r", "gone");
    store.flush(None).unwrap();
    let other = compact(&store, second);
    env.crash(CrashMode::LoseUnsynced);
    drop(store);
    let store = Store::open(small()).unwrap();
    assert_eq!(value(&store, "r", "gone"), None, "stopped at {first} and {second}");
    assert_eq!(value(&store, "r", "stays").unwrap(), b"here", "stopped at {first} and {second}");
    for n in 0..4 {
        assert_eq!(value(&store, "r", &format!("q{n}")).unwrap(), [n; 150], "stopped at {first} and {second}");
    }
    (one, other)
}

#[test]
fn what_a_stopped_compaction_has_left_does_not_come_back() {
    let (stride, pairs) = if full() { (1, 1) } else { (7, 5) };
    for first in (4..).step_by(stride) {
        let mut through = false;
        for second in (1 + first % pairs..).step_by(pairs as usize) {
            let (one, other) = stopped_twice(first, second);
            through = one;
            if other {
                break;
            }
        }
        if through {
            assert!(first > 10, "a compaction has more calls than {first}");
            return;
        }
    }
}

/// Names and values.
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// What is in `r`.
fn all(store: &Store) -> Pairs {
    let columns = store.list_columns(&table(), b"r", "f", None, TimeRange::ALL, 10_000).unwrap();
    let read = |cell| store.read_value(&cell, 0, 100).unwrap();
    columns.into_iter().map(|(qualifier, cell)| (qualifier, read(cell))).collect()
}

/// 2000 cells, a part of them written over or deleted; with `pages` more of the index their flush stops.
fn flushed_in_part(env: &SimEnv, pages: i64) -> (Store, Pairs) {
    // Pieces have 64 cells.
    env.set_space(Some(24 << 20));
    let store = open(env);
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    store.flush(None).unwrap();
    for n in 0..2000 {
        put(&store, "r", &format!("q{:04}", n * 7 % 1500), format!("{n}").as_bytes());
        if n % 9 == 0 {
            unlink(&store, "r", &format!("q{:04}", n * 5 % 1500));
        }
    }
    let good = all(&store);
    store.engine.run_short();
    store.engine.index.limit_growth(pages);
    assert_eq!(store.flush(None).unwrap_err().kind, ErrorKind::NoSpace);
    assert_eq!(all(&store), good);
    (store, good)
}

#[test]
fn a_flush_that_stops_between_its_pieces_goes_on_there() {
    let mut in_part = 0;
    for pages in [5, 10, 20, 40] {
        let env = SimEnv::new();
        let (store, good) = flushed_in_part(&env, pages);
        in_part += u64::from(store.engine.meta.lock().cells() > 0);
        store.engine.index.limit_growth(1 << 20);
        env.set_space(None);
        store.flush(None).unwrap();
        assert_eq!(all(&store), good);
        store.compact(&table(), None, crate::backend::CompactionKind::Major).unwrap();
        assert_eq!(all(&store), good);
        assert_eq!(store.status().unwrap().cells, good.len() as u64);
        assert_eq!(store.check(&mut |_| Ok(())).unwrap().damages, 0);
    }
    assert!(in_part > 1, "{in_part}");
}

#[test]
fn a_store_that_ends_between_the_pieces_of_a_flush_is_whole() {
    for crash in [CrashMode::ProcessOnly, CrashMode::LoseUnsynced] {
        for pages in [5, 10, 20, 40] {
            let env = SimEnv::new();
            let (store, good) = flushed_in_part(&env, pages);
            env.set_space(None);
            env.crash(crash);
            drop(store);
            let store = open(&env);
            assert_eq!(all(&store), good);
            store.flush(None).unwrap();
            assert_eq!(all(&store), good);
            store.compact(&table(), None, crate::backend::CompactionKind::Major).unwrap();
            assert_eq!(store.status().unwrap().cells, good.len() as u64);
            assert_eq!(store.check(&mut |_| Ok(())).unwrap().damages, 0);
            env.lose_index();
            drop(store);
            assert_eq!(all(&open(&env)), good);
        }
    }
}

#[test]
fn moves_are_remembered_up_to_a_number_of_bytes() {
    let env = SimEnv::new();
    env.set_space(Some(60 << 20));
    let small = StoreOptions { segment_bytes: 256 << 10, compaction_cells: 1000, ..options(&env) };
    let store = Store::open(small).unwrap();
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    let moved = |env: &SimEnv| {
        let names = env.list(Path::new("/store/segments")).unwrap();
        let moved = names.iter().filter(|name| name.ends_with(".moved"));
        moved.map(|name| env_bytes(env, &Path::new("/store/segments").join(name)).len()).sum::<usize>()
    };
    let put = |n: usize| {
        put(&store, "r", &format!("q{n:04}"), &[7; 100]);
    };
    (0..4000).for_each(put);
    let mut most = 0;
    for round in 0..16 {
        // Of each segment of the ones before a part is alive.
        (0..4000).filter(|n| n % 2 == round % 2).for_each(put);
        store.flush(None).unwrap();
        store.compact(&table(), None, crate::backend::CompactionKind::Major).unwrap();
        most = most.max(moved(&env));
    }
    // Those of one round beside what is kept.
    assert!(most > 500_000 && most <= (1 << 20) + 4000 * 36, "{most}");
    assert_eq!(all(&store).len(), 4000);
}
