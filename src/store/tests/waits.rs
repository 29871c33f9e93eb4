//! Who waits for room on a full disk, and how long: by the clock of a simulation.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::*;
use crate::Error;
use crate::env::sync::{Instant, Limits, simulate, sleep, spawn};
use crate::store::space::{level, reserve, room};

const SEEDS: u64 = 20;

/// Runs a body as so many seeds decide.
fn each_seed(run: impl FnOnce() + Copy + Send + 'static) {
    for seed in 0..SEEDS {
        if let Err(failure) = simulate(seed, Limits { steps: 200_000 }, run) {
            panic!("seed {seed}: {}", failure.text);
        }
    }
}

/// Runs a body on a store that works in the background, as so many seeds decide.
fn simulated(body: fn(&SimEnv, &Store)) {
    simulated_with(FILES, body);
}

/// As [`simulated`], with a table of such a family.
fn simulated_with(rules: &'static [(&str, &str)], body: fn(&SimEnv, &Store)) {
    each_seed(move || {
        let env = SimEnv::new();
        let store = Store::open(StoreOptions { background: Background::On, ..options(&env) }).unwrap();
        create(&store, rules);
        put(&store, "r", "a", b"1");
        body(&env, &store);
        env.set_space(None);
        store.close().unwrap();
    });
}

/// A write that finds no room until `made` says so; how long it was waited for, and what came of it.
fn delete_until(store: &Store, made: &AtomicBool) -> (Duration, u64, crate::Result<()>) {
    let (began, tried) = (Instant::now(), AtomicU64::new(0));
    let done = reserve::delete_with_reserve(&store.engine, || {
        tried.fetch_add(1, Ordering::Relaxed);
        let full = || Err(Error::new(ErrorKind::NoSpace, "no room"));
        if made.load(Ordering::Relaxed) { Ok(()) } else { full() }
    });
    (began.elapsed(), tried.into_inner(), done)
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_delete_waits_for_what_a_compaction_gives_back() {
    static TRIED: AtomicU64 = AtomicU64::new(0);
    simulated(|_, store| {
        let made = Arc::new(AtomicBool::new(false));
        let later = Arc::clone(&made);
        let compaction = spawn("compaction", move || {
            sleep(SECOND);
            later.store(true, Ordering::Relaxed);
        });
        let (waited, tried, done) = delete_until(store, &made);
        compaction.unwrap().join().unwrap();
        done.unwrap();
        assert!((SECOND..4 * SECOND).contains(&waited), "it waited {waited:?}");
        // Where the clock leaps there is time for few tries.
        assert!((2..200).contains(&tried), "it was tried {tried} times");
        TRIED.fetch_add(tried, Ordering::Relaxed);
        let (waited, tried, done) = delete_until(store, &made);
        assert!(done.is_ok() && tried == 1 && waited < SECOND, "there is room: {waited:?}, {tried}");
    });
    let tried = TRIED.load(Ordering::Relaxed);
    assert!(tried > 10 * SEEDS, "it was tried {tried} times for {SEEDS} seeds");
}

#[test]
fn a_delete_that_nobody_makes_room_for_is_refused_in_the_end() {
    simulated(|_, store| {
        let (waited, _, done) = delete_until(store, &AtomicBool::new(false));
        assert_eq!(done.unwrap_err().kind, ErrorKind::NoSpace);
        assert!((5 * SECOND..9 * SECOND).contains(&waited), "it waited {waited:?}");
    });
    // Where nothing is done in the background there is nothing to wait for.
    let store = open(&SimEnv::new());
    let (waited, tried, done) = delete_until(&store, &AtomicBool::new(false));
    assert!(done.is_err() && tried < 10 && waited < SECOND, "{waited:?}, {tried}");
}

/// Else it waits in vain for a compaction that nobody has asked for, with room for a flush in reserve.
#[test]
fn a_delete_that_finds_its_reserve_gone_has_room_made() {
    simulated(|env, store| {
        let name = |n: usize| format!("r{n:03}");
        (0..60).for_each(|n| drop(put(store, &name(n), "q", &[7; 1000])));
        reserve::restore_reserve(&store.engine).unwrap();
        crate::env::Env::remove(env, "/store/reserve".as_ref()).unwrap();
        env.fill_disk(1 << 40);
        let began = Instant::now();
        (0..20).for_each(|n| unlink(store, &name(n), "q"));
        assert!(began.elapsed() < 5 * SECOND, "it took {:?}", began.elapsed());
    });
}

/// Else it gives the reserve to whoever fills the disk, again and again.
#[test]
fn a_compaction_that_finds_no_room_is_not_begun_again_at_once() {
    simulated_with(&[("VERSIONS", "1")], |env, store| {
        for run in 0..2 {
            (0..30).for_each(|n| drop(put(store, &format!("r{run}{n:02}"), "q", &[7; 10_000])));
            store.flush(None).unwrap();
        }
        reserve::restore_reserve(&store.engine).unwrap();
        env.fill_disk(1 << 40);
        unlink(store, "r000", "q");
        store.flush(None).unwrap();
        let before = env.calls();
        sleep(30 * SECOND);
        let calls = env.calls() - before;
        assert!(calls < 2_000, "{calls} calls in 30 seconds");
    });
}

/// Else a put that fills a memtable waits for the disk to have the name of the next file of the log.
#[test]
fn the_next_file_of_the_log_is_made_ahead() {
    each_seed(|| {
        let env = SimEnv::new();
        let small = StoreOptions { memtable_bytes: 20_000, background: Background::On, ..options(&env) };
        let store = Store::open(small).unwrap();
        create(&store, FILES);
        let files = || crate::log::list(&env, "/store/log".as_ref()).unwrap().len();
        let fill = |puts: std::ops::Range<usize>, made: usize| {
            for n in puts {
                put(&store, "r", &format!("q{n}"), &[7; 1000]);
                sleep(SECOND);
                assert_eq!(store.engine.log.needs_spare(), made == 0, "after {n} puts");
                // One that is being flushed besides.
                assert!((1 + made..=2 + made).contains(&files()), "{} after {n} puts", files());
            }
        };
        // None where a memtable was never filled.
        fill(0..15, 0);
        (15..25).for_each(|n| drop(put(&store, "r", &format!("q{n}"), &[7; 1000])));
        fill(25..80, 1);
        store.close().unwrap();
        assert_eq!(files(), 1, "it was left");
    });
}

/// Who flushes has ended by then: the end would wait for whoever builds an index, and he for a flush.
#[test]
fn nobody_waits_for_a_flush_of_a_store_that_is_closed() {
    each_seed(|| {
        let env = SimEnv::new();
        let small = StoreOptions { memtable_bytes: 2_000, background: Background::On, ..options(&env) };
        let store = Store::open(small).unwrap();
        create(&store, FILES);
        store.engine.wake(|state| state.stop = true);
        sleep(SECOND);
        let refused = (0..20).find_map(|n| {
            let cell = put_cell(&format!("q{n}"), &[7; 1000], Time::AfterNewest);
            mutate(&store, "r", Mutation::Put(vec![cell]), Durability::SyncWal).err()
        });
        assert_eq!(refused.map(|e| e.kind), Some(ErrorKind::Overtaken));
        store.close().unwrap();
    });
}

/// Who takes room waits until it was looked for, and not for what was under way before.
#[test]
fn a_put_on_a_full_disk_waits_until_room_was_looked_for() {
    simulated(|_, store| {
        level::run_short(&store.engine);
        assert!(store.engine.disk.is_short());
        let began = Instant::now();
        room::await_room(&store.engine, true);
        assert!(!store.engine.disk.is_short(), "there is room, and nobody has looked");
        assert!(began.elapsed() < 10 * SECOND, "it waited {:?}", began.elapsed());
    });
}

/// On a disk that is full for good a put does not wait for more than one look, and a delete that has room for none.
#[test]
fn what_is_refused_on_a_full_disk_is_refused_soon() {
    simulated(|env, store| {
        env.set_space(Some(0));
        let began = Instant::now();
        // It does not fit into the room that was taken ahead.
        let cell = put_cell("b", &[7; 2000], Time::AfterNewest);
        let refused = mutate(store, "r", Mutation::Put(vec![cell]), Durability::SyncWal);
        assert_eq!(refused.unwrap_err().kind, ErrorKind::NoSpace);
        assert!(began.elapsed() < 15 * SECOND, "it waited {:?}", began.elapsed());
        for path in crate::store::space::reserve::paths("/store".as_ref()) {
            let _ = crate::env::Env::remove(env, &path);
        }
        let marker = DeleteMarker {
            kind: DeleteKind::Column { family: "f".into(), qualifier: b"a".to_vec() },
            time: Time::AfterNewest,
            erases: true,
        };
        let refused = mutate(store, "r", Mutation::Delete(vec![marker]), Durability::SyncWal).unwrap_err();
        assert!(refused.message.contains("no room left even to delete: free 1 MiB"), "{}", refused.message);
        assert_eq!(value(store, "r", "a").unwrap(), b"1");
    });
}
