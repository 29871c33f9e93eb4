use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::*;

const LIMITS: Limits = Limits { steps: 10_000 };

/// Two threads that add to a number by reading it and writing it under separate locks.
fn race(seed: u64) -> (Result<Report, Failure>, u64) {
    let sum = Arc::new(Mutex::new(0));
    let shared = Arc::clone(&sum);
    let result = simulate(seed, LIMITS, move || {
        let add = |sum: Arc<Mutex<u64>>| {
            move || {
                let read = *sum.lock();
                *sum.lock() = read + 1;
            }
        };
        let both = ["one", "other"].map(|name| spawn(name, add(Arc::clone(&shared))).unwrap());
        both.into_iter().for_each(|thread| thread.join().unwrap());
    });
    let sum = *sum.lock();
    (result, sum)
}

#[test]
fn a_seed_decides_and_seeds_find_both_orders() {
    let sums: Vec<u64> = (0..50).map(|seed| race(seed).1).collect();
    assert!(sums.contains(&1) && sums.contains(&2), "{sums:?}");
    for seed in 0..10 {
        assert_eq!(race(seed), race(seed), "seed {seed}");
    }
}

#[test]
fn locks_taken_in_two_orders_are_told_as_a_deadlock() {
    let found = (0..50).filter_map(|seed| {
        let locks = Arc::new((Mutex::new(()), RwLock::new(())));
        let result = simulate(seed, LIMITS, move || {
            let other = Arc::clone(&locks);
            let thread = spawn("other", move || {
                let _one = other.1.write();
                let _two = other.0.lock();
            });
            {
                let _one = locks.0.lock();
                let _two = locks.1.read();
            }
            thread.unwrap().join().unwrap();
        });
        result.err()
    });
    let found: Vec<Failure> = found.collect();
    assert!(!found.is_empty() && found.iter().all(|f| f.text.contains("nobody can go on")), "{found:?}");
}

#[test]
fn a_wait_ends_by_a_notice_or_when_its_time_is_up() {
    let timed_out = Arc::new(AtomicU64::new(0));
    for seed in 0..20 {
        let (told, counted) = (Arc::new((Mutex::new(false), Condvar::new())), Arc::clone(&timed_out));
        let result = simulate(seed, LIMITS, move || {
            let teller = Arc::clone(&told);
            let thread = spawn("teller", move || {
                sleep(Duration::from_secs(1));
                *teller.0.lock() = true;
                teller.1.notify_all();
            });
            let mut state = told.0.lock();
            let until = Instant::now() + Duration::from_millis(10);
            while !*state && !told.1.wait_until(&mut state, until).timed_out() {}
            counted.fetch_add(u64::from(!*state), Ordering::Relaxed);
            while !*state {
                told.1.wait(&mut state);
            }
            drop(state);
            thread.unwrap().join().unwrap();
        });
        assert!(result.is_ok(), "{result:?}");
    }
    assert!(timed_out.load(Ordering::Relaxed) > 10);
}

#[test]
fn a_panic_and_a_schedule_without_an_end_are_failures() {
    let panicked = simulate(1, LIMITS, || {
        let thread = spawn("falls", || panic!("it fell"));
        let _ = thread.unwrap().join();
    });
    assert!(panicked.unwrap_err().text.starts_with("it fell"));
    let endless = simulate(1, LIMITS, || {
        loop {
            point();
        }
    });
    assert!(endless.unwrap_err().text.starts_with("it does not end"));
}

#[test]
fn outside_of_a_schedule_locks_are_the_systems() {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let other = Arc::clone(&shared);
    let thread = spawn("real", move || {
        *other.0.lock() += 1;
        other.1.notify_one();
    });
    let mut state = shared.0.lock();
    while *state == 0 {
        shared.1.wait_for(&mut state, Duration::from_secs(5));
    }
    drop(state);
    thread.unwrap().join().unwrap();
    assert!(shared.0.try_lock().is_some());
}
