//! What a compaction gives back.

use std::path::PathBuf;

use super::rig::full;
use super::*;
use crate::backend::CompactionKind::Major;
use crate::env::sync::Instant;
use crate::store::engine::disk_room::Giving;
use crate::store::jobs::{compact, make_room};
use crate::store::space::reserve;

/// The key of a row of [`of_rows`].
fn row(n: usize) -> String {
    format!("r{n:04}")
}

/// A store of so many rows on a disk of 300 MiB, with its reserve; the disk's bytes.
fn of_rows(count: usize) -> (SimEnv, u64, Store) {
    let (env, disk) = (SimEnv::new(), 300 << 20);
    env.set_space(Some(disk));
    let store = open(&env);
    create(&store, FILES);
    (0..count).for_each(|n| drop(put(&store, &row(n), "q", &[7; 600])));
    store.flush(None).unwrap();
    reserve::restore_reserve(&store.engine).unwrap();
    (env, disk, store)
}

/// What a write to a disk meets that somebody else fills at once.
fn taken(env: &SimEnv, disk: u64) -> crate::Result<()> {
    env.fill_disk(disk);
    Err(crate::Error::new(ErrorKind::NoSpace, "no room"))
}

fn reserved(env: &SimEnv) -> u64 {
    ["/store/reserve", "/store/reserve.last"].iter().map(|path| env_bytes(env, path.as_ref()).len() as u64).sum()
}

#[test]
fn what_is_in_memory_can_be_flushed_on_a_disk_that_others_have_filled() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    let before = reserved(&env);
    (0..80).for_each(|n| drop(put(&store, "r", &format!("q{n}"), &[7; 10_000])));
    reserve::restore_reserve(&store.engine).unwrap();
    let status = store.status().unwrap();
    env.set_space(Some(status.disk_total - status.disk_free));
    store.flush(None).unwrap();
    assert_eq!(store.status().unwrap().memtable_cells, 0);
    env.set_space(None);
    // That there is room, and then what is too much.
    (0..2).for_each(|_| reserve::restore_reserve(&store.engine).unwrap());
    assert_eq!(reserved(&env), before, "what is not needed any more was not given back");
}

/// What a compaction has brought back is less than what was reserved: else nothing of it is, and others take it all.
#[test]
fn a_disk_that_others_fill_again_takes_deletes_and_opens() {
    for first in [60, 120, 250, 400] {
        let env = SimEnv::new();
        let store = open(&env);
        create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
        let row = |n: usize| format!("r{n:04}");
        (0..3000).for_each(|n| drop(put(&store, &row(n), "q", &[7; 600])));
        store.flush(None).unwrap();
        reserve::restore_reserve(&store.engine).unwrap();
        env.fill_disk(1 << 40);
        (0..first).for_each(|n| unlink(&store, &row(n), "q"));
        make_room::make_disk_room(&store.engine);
        env.fill_disk(1 << 40);
        (first..first + 50).for_each(|n| unlink(&store, &row(n), "q"));
        drop(store);
        let store = open(&env);
        assert_eq!(store.scan(&Scan::all(table())).unwrap().count(), 2950 - first);
    }
}

/// Else what deletes bring back stays with the share of a disk that is root's, and after some rounds nothing can be deleted.
#[test]
fn what_comes_back_for_this_process_alone_is_reserved() {
    let (env, disk) = (SimEnv::new(), 300 << 20);
    env.set_space(Some(disk));
    env.keep_for_us(15 << 20);
    let store = open(&env);
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    let row = |n: usize| format!("r{n:04}");
    (0..4000).for_each(|n| drop(put(&store, &row(n), "q", &[7; 600])));
    store.flush(None).unwrap();
    reserve::restore_reserve(&store.engine).unwrap();
    for round in 0..8 {
        env.fill_disk(disk);
        (round * 400..(round + 1) * 400).for_each(|n| unlink(&store, &row(n), "q"));
        make_room::make_disk_room(&store.engine);
        assert!(reserved(&env) > 64 << 10, "{} bytes are reserved after {round} rounds", reserved(&env));
        // Others see no room, and what only takes it gets none.
        let more = Mutation::Put(vec![put_cell("more", &[1; 50], Time::Now)]);
        assert_eq!(mutate(&store, "r", more, Durability::SyncWal).unwrap_err().kind, ErrorKind::NoSpace);
    }
    env.fill_disk(disk);
    drop(store);
    assert_eq!(open(&env).scan(&Scan::all(table())).unwrap().count(), 800);
}

/// Else it takes what deletes need, and gives nothing back.
#[test]
fn a_compaction_beside_a_snapshot_leaves_the_reserve_alone() {
    for free in [0, 3 << 20, 8 << 20] {
        let (env, disk) = (SimEnv::new(), 200 << 20);
        env.set_space(Some(disk));
        let store = open(&env);
        create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
        let row = |n: usize| format!("r{n:05}");
        (0..12_000).for_each(|n| drop(put(&store, &row(n), "q", &[7; 1000])));
        store.flush(None).unwrap();
        reserve::restore_reserve(&store.engine).unwrap();
        store.create_snapshot("s", None).unwrap();
        let before = reserved(&env);
        env.fill_disk(disk - free);
        let done = store.compact(&table(), None, Major);
        assert_eq!(done.unwrap_err().kind, ErrorKind::NoSpace, "with {free} bytes");
        assert_eq!(reserved(&env), before, "with {free} bytes");
        env.fill_disk(disk);
        (0..2000).for_each(|n| unlink(&store, &row(n), "q"));
        drop(store);
        assert_eq!(open(&env).scan(&Scan::all(table())).unwrap().count(), 10_000);
    }
}

/// Else the first flush gives it to whoever fills the disk, and deletes are refused soon.
#[test]
fn who_takes_what_is_given_back_gets_little_of_the_reserve() {
    let (env, disk, store) = of_rows(2000);
    let before = reserved(&env);
    for n in 0..20 {
        env.fill_disk(disk);
        unlink(&store, &row(n), "q");
        env.fill_disk(disk);
        store.flush(None).unwrap();
    }
    let lost = before - reserved(&env);
    assert!((1..before / 2).contains(&lost), "{lost} of {before} bytes are gone");
}

/// Else the first compaction gives all of it to whoever writes faster than it does, and nothing can be deleted.
#[test]
fn compactions_beside_a_fast_writer_leave_deletes_and_flushes_room() {
    let (env, disk, store) = of_rows(2000);
    let of_merges = || env_bytes(&env, "/store/reserve.last".as_ref()).len();
    let before = of_merges();
    for round in 0..10 {
        env.fill_disk(disk);
        // What is given back is taken before it is used.
        let merged = reserve::merge_with_reserve(&store.engine, || taken(&env, disk));
        assert_eq!(merged.unwrap_err().kind, ErrorKind::NoSpace);
        assert!(of_merges() > before / 5, "{} of {before} bytes are left to flushes", of_merges());
        (0..20).for_each(|n| unlink(&store, &row(round * 20 + n), "q"));
        env.fill_disk(disk);
        store.flush(None).unwrap();
    }
    drop(store);
    assert_eq!(open(&env).scan(&Scan::all(table())).unwrap().count(), 1800);
}

/// Else a program that has filled the disk, and is done, keeps compactions from making room until somebody else does.
#[test]
fn a_merge_has_what_is_left_of_the_reserve_unless_others_take_it() {
    let (env, disk, store) = of_rows(2000);
    let last = crate::env::Env::open(&env.process(), "/store/reserve.last".as_ref()).unwrap();
    let of_merges = || env_bytes(&env, "/store/reserve.last".as_ref()).len();
    last.set_len(of_merges() as u64 / 8).unwrap();
    env.fill_disk(disk);
    let merge = || {
        let mut tries = 0;
        reserve::merge_with_reserve(&store.engine, || {
            tries += 1;
            if tries > 1 { Ok(()) } else { Err(crate::Error::new(ErrorKind::NoSpace, "no room")) }
        })
    };
    let before = of_merges();
    merge().unwrap();
    let left = of_merges();
    assert!((1..before).contains(&left), "{left} of {before} bytes");
    store.engine.disk.note_taken(Instant::now());
    assert_eq!(merge().unwrap_err().kind, ErrorKind::NoSpace);
    assert_eq!(of_merges(), left);
}

/// Else flushes give all of it to whoever writes faster than they do, and the store cannot be opened any more.
#[test]
fn flushes_beside_a_fast_writer_leave_an_open_room() {
    let (env, disk, store) = of_rows(200);
    let len = |path: &PathBuf| crate::env::Env::open(&env.process(), path).map_or(0, |file| file.len().unwrap());
    let left = || reserve::paths("/store".as_ref()).iter().map(len).sum::<u64>();
    let before = left();
    for round in 0..5 {
        env.fill_disk(disk);
        // What is given back is taken before it is used.
        let flushed = reserve::with_much_of_reserve(&store.engine, 256 << 10, || taken(&env, disk));
        assert_eq!(flushed.unwrap_err().kind, ErrorKind::NoSpace);
        assert!(left() > before / 4, "round {round}: {} of {before} bytes", left());
    }
    assert_eq!(store.engine.disk.giving(Instant::now()), Giving::Spare);
    env.crash(CrashMode::ProcessOnly);
    drop(store);
    env.fill_disk(disk);
    let store = open(&env);
    unlink(&store, &row(0), "q");
    store.flush(None).unwrap();
    assert_eq!(store.scan(&Scan::all(table())).unwrap().count(), 199);
}

/// Else others take a fifth of it with each open of a store on a full disk.
#[test]
fn opening_takes_no_more_of_the_reserve_than_it_needs() {
    let (env, disk) = (SimEnv::new(), 100 << 20);
    env.set_space(Some(disk));
    let store = open(&env);
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    put(&store, "r", "q", b"v");
    reserve::restore_reserve(&store.engine).unwrap();
    let before = reserved(&env);
    drop(store);
    for _ in 0..5 {
        env.fill_disk(disk);
        // For the name of who has the lock.
        env.set_space(Some(disk + 64));
        assert_eq!(open(&env).scan(&Scan::all(table())).unwrap().count(), 1);
    }
    let lost = before - reserved(&env);
    assert!((1..=400 << 10).contains(&lost), "{lost} of {before} bytes are gone");
}

/// Else a file of large values that is whole is told as damage, because the disk has no room for its table.
#[test]
fn large_values_that_find_no_room_for_their_table_are_no_damage() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    let large = super::rig::large(1);
    put(&store, "r", "q", &large);
    env.crash(CrashMode::ProcessOnly);
    drop(store);
    for path in crate::store::space::reserve::paths("/store".as_ref()) {
        crate::env::Env::remove(&env.process(), &path).unwrap();
    }
    let mut without_table = 0;
    for call in 1.. {
        let env = env.copy();
        let last = env.calls() + call;
        env.fail_call(call, FailMode::Once, libc::ENOSPC);
        let Ok(store) = Store::open(options(&env)) else { continue };
        // A sync that fails is no lack of room alone: what was written is in doubt.
        let said = store.status().unwrap().last_error.filter(|said| !said.starts_with("sync "));
        assert_eq!(said, None, "call {call} has found no room");
        assert_eq!(value(&store, "r", "q").as_ref(), Some(&large));
        without_table += u64::from(store.engine.layout().state.blobs.values().any(|blob| blob.sealed.is_none()));
        if env.calls() < last {
            break;
        }
    }
    assert!(without_table > 0, "no call was that for the table");
}

#[test]
fn compaction_drops_what_is_covered_and_moves_what_is_alive() {
    let env = SimEnv::new();
    let store = open(&env);
    let rules = [("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")];
    create(&store, &rules);
    for n in 0..100 {
        put(&store, "r", &format!("q{:02}", n % 50), format!("{n}").repeat(20).as_bytes());
        if n % 5 == 0 {
            put(&store, "r", &format!("keep{n}"), format!("kept {n}").as_bytes());
        }
    }
    let stale = store.newest(&column("r", "keep0"), TimeRange::ALL).unwrap().unwrap();
    store.flush(None).unwrap();
    let before = store.status().unwrap();
    store.compact(&table(), None, Major).unwrap();
    let after = store.status().unwrap();
    assert!(after.segment_bytes <= before.segment_bytes, "{} of {}", after.segment_bytes, before.segment_bytes);
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
    env.crash(CrashMode::LoseUnsynced);
    check(&open(&env));
}

/// A column is deleted after a compaction was stopped at its `first` call; the next one is stopped at its `second`. Whether either of them went through.
fn stopped_twice(first: u64, second: u64) -> (bool, bool) {
    let env = SimEnv::new();
    let store = open(&env);
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
        store.compact(&table(), None, Major).is_ok()
    };
    let one = compact(&store, first);
    env.crash(CrashMode::ProcessOnly);
    drop(store);
    let store = open(&env);
    unlink(&store, "r", "gone");
    store.flush(None).unwrap();
    let other = compact(&store, second);
    env.crash(CrashMode::LoseUnsynced);
    drop(store);
    let store = open(&env);
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

#[test]
fn what_is_written_over_gives_its_space_back() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    let mut most = 0;
    for round in 0..30u8 {
        for n in 0..500 {
            put(&store, "r", &format!("q{n:03}"), &[round; 100]);
        }
        store.flush(None).unwrap();
        compact::compact_as_needed(&store.engine).unwrap();
        most = most.max(store.status().unwrap().segment_bytes);
    }
    // What counts is 50 kB; a segment takes two blocks of 4 KiB besides.
    assert!(most < 400_000, "{most}");
    assert_eq!(value(&store, "r", "q499").unwrap(), [29; 100]);
    let marker = DeleteMarker { kind: DeleteKind::Row, time: Time::AfterNewest, erases: true };
    mutate(&store, "r", Mutation::Delete(vec![marker]), Durability::SyncWal).unwrap();
    store.flush(None).unwrap();
    store.compact(&table(), None, Major).unwrap();
    let status = store.status().unwrap();
    assert!(status.cells == 0 && status.segment_bytes < 50_000, "{status:?}");
}
