//! Histories of random steps on the simulated machine, which fails or stops at any of its calls, and again while it
//! recovers, three deep. What is found afterwards must be what some prefix of the steps has left, and none that ends
//! before the last step that was made durable.
//!
//! Some of the places in `cargo test`; with CELLFS_TORTURE=full all of them.

use std::collections::{BTreeMap, HashMap};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::backend::CompactionKind::Major;
use crate::env::{CarelessEnv, Env, Forgets};

/// Newest values by column.
type State = BTreeMap<String, Vec<u8>>;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Column, number of the value, whether it must be on the disk when it is acknowledged.
    Put(usize, u32, bool),
    Delete(usize, bool),
    Rename(usize, usize),
    Flush,
    Compact,
    Sync,
}

const COLUMNS: usize = 6;

fn name(column: usize) -> String {
    format!("q{column}")
}

fn content(n: u32) -> Vec<u8> {
    let len = [3, 40, 300, 900][n as usize % 4];
    n.to_le_bytes().iter().copied().cycle().take(len).collect()
}

fn steps(seed: u64, count: u32) -> Vec<Step> {
    let mut random = StdRng::seed_from_u64(seed);
    let mut one = |n| {
        let column = random.random_range(0..COLUMNS);
        let durable = random.random_range(0..4) == 0;
        match random.random_range(0..20) {
            0..=10 => Step::Put(column, n, durable),
            11..=13 => Step::Delete(column, durable),
            14..=15 => Step::Rename(column, random.random_range(0..COLUMNS)),
            16 => Step::Flush,
            17..=18 => Step::Compact,
            _ => Step::Sync,
        }
    };
    (0..count).map(&mut one).collect()
}

impl Step {
    fn on(self, state: &State) -> State {
        let mut after = state.clone();
        match self {
            Step::Put(column, n, _) => drop(after.insert(name(column), content(n))),
            Step::Delete(column, _) => drop(after.remove(&name(column))),
            Step::Rename(from, to) if from != to => {
                if let Some(value) = after.remove(&name(from)) {
                    after.insert(name(to), value);
                }
            }
            _ => {}
        }
        after
    }

    fn is_durable(self) -> bool {
        matches!(self, Step::Put(.., true) | Step::Delete(_, true) | Step::Sync)
    }

    fn run(self, store: &Store) -> crate::Result<()> {
        let durability = if self.is_durable() { Durability::FsyncWal } else { Durability::SyncWal };
        match self {
            Step::Put(column, n, _) => {
                let cell = put_cell(&name(column), &content(n), Time::AfterNewest);
                mutate(store, "r", Mutation::Put(vec![cell]), durability).map(drop)
            }
            Step::Delete(at, _) => {
                let kind = DeleteKind::Column { family: "f".into(), qualifier: name(at).into() };
                let marker = DeleteMarker { kind, time: Time::AfterNewest, erases: false };
                mutate(store, "r", Mutation::Delete(vec![marker]), durability).map(drop)
            }
            Step::Rename(from, to) if from != to => {
                let rename = RenameCell {
                    from: column("r", &name(from)),
                    from_version: None,
                    to: column("r", &name(to)),
                    to_version: None,
                    mode: RenameMode::Replace,
                    origin: Origin(0),
                };
                match store.rename_cell(&rename) {
                    Err(e) if e.kind == ErrorKind::NotFound => Ok(()),
                    other => other.map(drop),
                }
            }
            Step::Rename(..) => Ok(()),
            Step::Flush => store.flush(None),
            Step::Compact => store.compact(&table(), None, Major),
            Step::Sync => store.sync(),
        }
    }
}

fn small(env: Arc<dyn Env>) -> StoreOptions {
    let mut options = StoreOptions::new("/store");
    options.env = env;
    options.background = Background::Off;
    options.compaction_cells = 3;
    options.segment_bytes = 1500;
    options.memtable_bytes = 3000;
    options
}

fn state(store: &Store) -> crate::Result<State> {
    let columns = store.list_columns(&table(), b"r", "f", None, TimeRange::ALL, 1000)?;
    let read = |(name, cell): (Qualifier, CellInfo)| {
        Ok((String::from_utf8_lossy(&name).into_owned(), store.read_value(&cell, 0, 10_000)?))
    };
    columns.into_iter().map(read).collect()
}

/// Rules of the family of a history: also HBase's own deletes, where the steps cannot tell them apart.
fn rules(seed: u64) -> &'static [(&'static str, &'static str)] {
    match seed % 3 {
        0 => FILES,
        1 => &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")],
        _ => &[("VERSIONS", "1")],
    }
}

/// A store with its table, and a machine under it that has settled.
fn begin(env: &SimEnv, wrapped: &Arc<dyn Env>, seed: u64) -> Store {
    let store = Store::open(small(Arc::clone(wrapped))).unwrap();
    create(&store, rules(seed));
    store.sync().unwrap();
    env.advance(1000);
    store
}

/// What may be found after a crash: the states since the last durable step.
struct Allowed(Vec<State>);

/// Runs steps until one fails; what a crash may leave.
fn run(store: &Store, steps: &[Step], process_only: bool) -> (Allowed, bool) {
    let mut allowed = vec![State::new()];
    for step in steps {
        let after = step.on(&allowed[allowed.len() - 1]);
        let result = step.run(store);
        if result.is_err() {
            allowed.push(after);
            return (Allowed(allowed), false);
        }
        if step.is_durable() || process_only {
            allowed.clear();
        }
        allowed.push(after);
    }
    (Allowed(allowed), true)
}

#[derive(Debug, Default)]
struct Tally {
    tried: u64,
    wrong: Vec<String>,
}

/// The machine stops at call `k` of the history, then at the given calls of each recovery.
fn stop_at(seed: u64, at: &[u64], mode: CrashMode, forgets: Option<Forgets>, tally: &mut Tally) -> bool {
    let env = SimEnv::new();
    let inner: Arc<dyn Env> = Arc::new(env.clone());
    let mut store = begin(&env, &inner, seed);
    let wrapped = match forgets {
        Some(forgets) => Arc::new(CarelessEnv::new(Arc::clone(&inner), forgets)) as Arc<dyn Env>,
        None => inner,
    };
    if forgets.is_some() {
        store.close().unwrap();
        store = Store::open(small(Arc::clone(&wrapped))).unwrap();
    }
    env.fail_call(at[0], FailMode::Forever, libc::EIO);
    let (allowed, finished) = run(&store, &steps(seed, 40), mode == CrashMode::ProcessOnly);
    env.crash(mode);
    drop(store);
    for k in &at[1..] {
        env.fail_call(*k, FailMode::Forever, libc::EIO);
        drop(Store::open(small(Arc::clone(&wrapped))));
        env.crash(mode);
    }
    tally.tried += 1;
    let found = Store::open(small(wrapped)).and_then(|store| {
        let found = state(&store)?;
        put(&store, "r", "after", b"fine");
        Ok(found)
    });
    if !found.as_ref().is_ok_and(|found| allowed.0.contains(found)) {
        let lens = |state: &State| -> Vec<String> { state.iter().map(|(k, v)| format!("{k}={}", v[0])).collect() };
        tally.wrong.push(format!(
            "seed {seed}, stops {at:?}, {mode:?}: {:?} of {:?}",
            found.as_ref().map(lens),
            allowed.0.iter().map(lens).collect::<Vec<_>>()
        ));
    }
    finished
}

fn full() -> bool {
    std::env::var("CELLFS_TORTURE").is_ok_and(|form| form == "full")
}

/// Calls of the whole history.
fn calls(seed: u64) -> u64 {
    let env = SimEnv::new();
    let wrapped: Arc<dyn Env> = Arc::new(env.clone());
    let store = begin(&env, &wrapped, seed);
    let before = env.calls();
    assert!(run(&store, &steps(seed, 40), false).1);
    env.calls() - before
}

fn mode(n: u64) -> CrashMode {
    match n % 4 {
        0 => CrashMode::ProcessOnly,
        1 => CrashMode::LoseUnsynced,
        _ => CrashMode::KeepSome { seed: n },
    }
}

#[test]
fn regression_a_hole_in_the_log_hides_no_compacted_segment_behind_it() {
    let mut tally = Tally::default();
    stop_at(7, &[143], CrashMode::KeepSome { seed: 150 }, None, &mut tally);
    assert!(tally.wrong.is_empty(), "{:#?}", tally.wrong);
}

#[test]
fn torture_stops_at_any_call_and_in_recoveries_leave_a_prefix() {
    let (mut tally, mut random) = (Tally::default(), StdRng::seed_from_u64(7));
    let (seeds, stride) = if full() { (60, 1) } else { (9, 5) };
    for seed in 0..seeds {
        for k in (1 + seed % stride..calls(seed)).step_by(stride as usize) {
            let deep = random.random_range(0..4);
            let at: Vec<u64> = std::iter::once(k).chain((0..deep).map(|_| random.random_range(1..30))).collect();
            stop_at(seed, &at, mode(k + seed), None, &mut tally);
        }
    }
    println!("simulated crash states: {} tried, {} wrong", tally.tried, tally.wrong.len());
    assert!(tally.wrong.is_empty() && tally.tried > 100, "{:#?}", tally.wrong);
}

#[test]
fn torture_every_stop_in_the_recovery_of_a_recovery() {
    let mut tally = Tally::default();
    let (seeds, stride) = if full() { (3, 1) } else { (1, 5) };
    for seed in 0..seeds {
        for k in (5..calls(seed)).step_by(if full() { 11 } else { 29 }) {
            for second in (1..25).step_by(stride) {
                for third in (1..25).step_by(stride) {
                    stop_at(seed, &[k, second, third], mode(1 + k + second), None, &mut tally);
                }
            }
        }
    }
    println!("simulated crashes three deep: {} tried, {} wrong", tally.tried, tally.wrong.len());
    assert!(tally.wrong.is_empty(), "{:#?}", tally.wrong);
}

#[test]
fn torture_notices_what_is_not_synced() {
    for forgets in [Forgets::Sync, Forgets::SyncDir] {
        let mut tally = Tally::default();
        for seed in 0..4 {
            for k in (20..calls(seed)).step_by(17) {
                stop_at(seed, &[k], CrashMode::LoseUnsynced, Some(forgets), &mut tally);
            }
        }
        println!("without {forgets:?}: {} tried, {} noticed", tally.tried, tally.wrong.len());
        assert!(tally.wrong.len() > 10, "{forgets:?}: {} of {}", tally.wrong.len(), tally.tried);
    }
}

/// The `k`-th call fails; the process goes on. What is refused is not there, what is acknowledged is.
fn fail_at(seed: u64, k: u64, mode: FailMode, errno: i32, tally: &mut Tally) {
    let env = SimEnv::new();
    let wrapped: Arc<dyn Env> = Arc::new(env.clone());
    let store = begin(&env, &wrapped, seed);
    env.fail_call(k, mode, errno);
    let what = format!("seed {seed}, call {k} fails {mode:?} with {errno}");
    let mut allowed = vec![State::new()];
    let mut poisoned = false;
    for step in steps(seed, 40) {
        let before = allowed[allowed.len() - 1].clone();
        let after = step.on(&before);
        match step.run(&store) {
            Ok(()) => {
                if poisoned && step.is_durable() {
                    tally.wrong.push(format!("{what}: {step:?} was acknowledged after a failed sync"));
                }
                if step.is_durable() {
                    allowed.clear();
                }
                allowed.push(after);
            }
            Err(e) => {
                poisoned |= e.kind == ErrorKind::Poisoned;
                match state(&store) {
                    Ok(found) if found == before => {}
                    Ok(found) if found == after => allowed.push(after),
                    other => tally.wrong.push(format!("{what}: after {step:?} failed: {other:?}")),
                }
            }
        }
    }
    tally.tried += 1;
    env.crash(CrashMode::LoseUnsynced);
    drop(store);
    match Store::open(small(wrapped)).and_then(|store| state(&store)) {
        Ok(found) if allowed.contains(&found) => {}
        other => tally.wrong.push(format!("{what}: the next start finds {other:?}")),
    }
}

#[test]
fn torture_calls_that_fail_once_or_for_good() {
    let mut tally = Tally::default();
    let (seeds, stride) = if full() { (20, 1) } else { (3, 11) };
    for seed in 0..seeds {
        for k in (1 + seed % stride..calls(seed)).step_by(stride as usize) {
            for (mode, errno) in [
                (FailMode::Once, libc::EIO),
                (FailMode::Once, libc::ENOSPC),
                (FailMode::Forever, libc::EIO),
                (FailMode::Forever, libc::ENOSPC),
            ] {
                fail_at(seed, k, mode, errno, &mut tally);
            }
        }
    }
    println!("failed calls injected: {} tried, {} wrong", tally.tried, tally.wrong.len());
    assert!(tally.wrong.is_empty(), "{:#?}", tally.wrong);
}

#[test]
fn torture_counts_are_of_different_histories() {
    let kinds: HashMap<String, usize> =
        (0..20).flat_map(|seed| steps(seed, 40)).fold(HashMap::new(), |mut all, step| {
            *all.entry(format!("{step:?}").split('(').next().unwrap_or_default().to_owned()).or_default() += 1;
            all
        });
    assert!(kinds.len() == 6 && kinds.values().all(|count| *count > 10), "{kinds:?}");
}
