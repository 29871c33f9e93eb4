//! Histories of random steps on the simulated machine, which fails or stops at any of its calls, and again while it
//! recovers, three deep. What is found afterwards must be what some prefix of the steps has left, and none that ends
//! before the last step that was made durable.
//!
//! Some of the places in `cargo test`; with CELLFS_TORTURE=full all of them.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::rig::{full, spread};
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

/// Numbers of the values, for people.
fn firsts(state: &State) -> Vec<String> {
    state.iter().map(|(name, value)| format!("{name}={}", value[0])).collect()
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

/// What may be found after a crash.
#[derive(Clone)]
struct Allowed {
    /// The states since the last durable step.
    states: Vec<State>,
    /// How many of the last of them may be found as long as only processes have died.
    process_only: usize,
}

/// Runs steps until one fails; what a crash may leave.
fn run(store: &Store, steps: &[Step]) -> Allowed {
    let mut states = vec![State::new()];
    for step in steps {
        let after = step.on(&states[states.len() - 1]);
        let result = step.run(store);
        if result.is_err() {
            states.push(after);
            return Allowed { states, process_only: 2 };
        }
        if step.is_durable() {
            states.clear();
        }
        states.push(after);
    }
    Allowed { states, process_only: 1 }
}

#[derive(Debug, Default)]
struct Tally {
    tried: u64,
    wrong: Vec<String>,
}

impl Tally {
    fn sum(all: Vec<Self>) -> Self {
        all.into_iter().fold(Self::default(), |sum, one| Self {
            tried: sum.tried + one.tried,
            wrong: sum.wrong.into_iter().chain(one.wrong).collect(),
        })
    }
}

/// Where a machine has stopped.
struct Stopped {
    env: SimEnv,
    allowed: Allowed,
    /// Whether any of the crashes was more than the death of a process.
    power_cut: bool,
    what: String,
}

/// The machine stops at call `k` of the history.
fn stop(seed: u64, k: u64, mode: CrashMode, wrap: Wrap) -> Stopped {
    let env = SimEnv::in_memory();
    let mut store = begin(&env, &(Arc::new(env.clone()) as Arc<dyn Env>), seed);
    if let Wrap::Careless(_) = wrap {
        store.close().unwrap();
        store = Store::open(small(wrap.around(&env))).unwrap();
    }
    env.fail_call(k, FailMode::Forever, libc::EIO);
    let allowed = run(&store, &steps(seed, 40));
    env.crash(mode);
    drop(store);
    let power_cut = mode != CrashMode::ProcessOnly;
    Stopped { env, allowed, power_cut, what: format!("seed {seed}, stops {k} {mode:?}") }
}

/// What is between the store and the machine.
#[derive(Clone, Copy)]
enum Wrap {
    Nothing,
    Careless(Forgets),
}

impl Wrap {
    fn around(self, env: &SimEnv) -> Arc<dyn Env> {
        let inner = Arc::new(env.clone());
        match self {
            Self::Nothing => inner,
            Self::Careless(forgets) => Arc::new(CarelessEnv::new(inner, forgets)),
        }
    }
}

impl Stopped {
    /// Another one, to go on with.
    fn copy(&self) -> Self {
        let (env, allowed, what) = (self.env.copy().unwrap(), self.allowed.clone(), self.what.clone());
        Self { env, allowed, what, ..*self }
    }

    /// The machine starts and stops at call `k` of that; `None`: the start needs fewer calls.
    fn stop_again(&self, k: u64, mode: CrashMode) -> Option<Self> {
        let again = self.copy();
        let before = again.env.calls();
        again.env.fail_call(k, FailMode::Forever, libc::EIO);
        drop(Store::open(small(Arc::new(again.env.clone()))));
        let has_stopped = again.env.calls() >= before + k;
        again.env.crash(mode);
        let power_cut = self.power_cut || mode != CrashMode::ProcessOnly;
        has_stopped.then(|| Self { power_cut, what: format!("{}, {k} {mode:?}", self.what), ..again })
    }

    /// The machine starts; what is found must be one of the states that are allowed, and can be gone on from.
    fn judge(self, wrap: Wrap, tally: &mut Tally) {
        tally.tried += 1;
        let found = Store::open(small(wrap.around(&self.env))).and_then(|store| {
            let found = state(&store)?;
            put(&store, "r", "after", b"fine");
            Ok(found)
        });
        let Allowed { states, process_only } = &self.allowed;
        let allowed = if self.power_cut { &states[..] } else { &states[states.len() - process_only..] };
        if found.as_ref().is_ok_and(|found| allowed.contains(found)) {
            return;
        }
        let allowed: Vec<_> = allowed.iter().map(firsts).collect();
        tally.wrong.push(format!("{}: {:?} of {allowed:?}", self.what, found.as_ref().map(firsts)));
    }
}

/// Calls of the whole history.
fn calls(seed: u64) -> u64 {
    let env = SimEnv::in_memory();
    let wrapped: Arc<dyn Env> = Arc::new(env.clone());
    let store = begin(&env, &wrapped, seed);
    let before = env.calls();
    for step in steps(seed, 40) {
        step.run(&store).unwrap_or_else(|e| panic!("seed {seed}, {step:?}: {e}"));
    }
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
    stop(7, 143, CrashMode::KeepSome { seed: 150 }, Wrap::Nothing).judge(Wrap::Nothing, &mut tally);
    assert!(tally.wrong.is_empty(), "{:#?}", tally.wrong);
}

#[test]
fn regression_a_segment_that_unflushed_rows_share_is_no_lack_of_room() {
    assert!(calls(19) > 0);
}

/// Each `stride`-th call of the histories of some seeds.
fn places(seeds: u64, stride: u64) -> Vec<(u64, u64)> {
    let of = |seed| (1 + seed % stride..calls(seed)).step_by(stride as usize).map(move |k| (seed, k));
    (0..seeds).flat_map(of).collect()
}

#[test]
fn torture_stops_at_any_call_leave_a_prefix() {
    let (seeds, stride) = if full() { (500, 1) } else { (9, 3) };
    let (places, began) = (places(seeds, stride), Instant::now());
    let all = spread(places.len(), |n, tally: &mut Tally| {
        let (seed, k) = places[n];
        stop(seed, k, mode(k + seed), Wrap::Nothing).judge(Wrap::Nothing, tally);
    });
    let tally = Tally::sum(all);
    let (wrong, seconds) = (tally.wrong.len(), began.elapsed().as_secs());
    println!("simulated crashes at any call of {seeds} histories: {} tried, {wrong} wrong; {seconds} s", tally.tried);
    assert!(tally.wrong.is_empty() && tally.tried > 100, "{:#?}", tally.wrong);
}

/// Crashes of a history, of the recovery from it, and of the recovery from that.
#[derive(Default)]
struct Depths([Tally; 3]);

impl Depths {
    fn sum(all: Vec<Self>) -> Self {
        let mut depths: [Vec<Tally>; 3] = Default::default();
        for one in all {
            depths.iter_mut().zip(one.0).for_each(|(depth, tally)| depth.push(tally));
        }
        Self(depths.map(Tally::sum))
    }
}

/// The machine stops at call `k` of a history, at each call of its recovery, and at every `stride`-th of that one's.
fn stop_three_deep(seed: u64, k: u64, stride: usize, depths: &mut Depths) {
    let first = stop(seed, k, mode(k + seed), Wrap::Nothing);
    first.copy().judge(Wrap::Nothing, &mut depths.0[0]);
    for second in 1.. {
        let Some(stopped) = first.stop_again(second, mode(1 + k + second)) else { break };
        stopped.copy().judge(Wrap::Nothing, &mut depths.0[1]);
        for third in (1 + (k + second) % stride as u64..).step_by(stride) {
            let Some(stopped) = stopped.stop_again(third, mode(2 + k + second + third)) else { break };
            stopped.judge(Wrap::Nothing, &mut depths.0[2]);
        }
    }
}

#[test]
fn torture_every_stop_in_the_recovery_of_a_recovery() {
    let (seeds, stride, third) = if full() { (12, 1, 1) } else { (1, 19, 3) };
    let (places, began) = (places(seeds, stride), Instant::now());
    let all = spread(places.len(), |n, depths: &mut Depths| {
        let (seed, k) = places[n];
        stop_three_deep(seed, k, third, depths);
    });
    let tallies = Depths::sum(all).0;
    println!(
        "simulated crashes three deep, {seeds} histories: {} tried of the history, {} of its recovery, {} of the \
         recovery's, {} wrong; {} s",
        tallies[0].tried,
        tallies[1].tried,
        tallies[2].tried,
        tallies.iter().map(|tally| tally.wrong.len()).sum::<usize>(),
        began.elapsed().as_secs()
    );
    for tally in tallies {
        assert!(tally.wrong.is_empty() && tally.tried > 5, "{:#?}", tally.wrong);
    }
}

#[test]
fn torture_notices_what_is_not_synced() {
    for forgets in [Forgets::Sync, Forgets::SyncDir] {
        let (mut tally, wrap) = (Tally::default(), Wrap::Careless(forgets));
        for seed in 0..4 {
            for k in (20..calls(seed)).step_by(17) {
                stop(seed, k, CrashMode::LoseUnsynced, wrap).judge(wrap, &mut tally);
            }
        }
        println!("without {forgets:?}: {} tried, {} noticed", tally.tried, tally.wrong.len());
        assert!(tally.wrong.len() > 10, "{forgets:?}: {} of {}", tally.wrong.len(), tally.tried);
    }
}

/// The `k`-th call fails; the process goes on. What is refused is not there, what is acknowledged is.
fn fail_at(seed: u64, k: u64, mode: FailMode, errno: i32, tally: &mut Tally) {
    let env = SimEnv::in_memory();
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
        other => {
            let found = other.as_ref().map(firsts);
            let allowed: Vec<_> = allowed.iter().map(firsts).collect();
            tally.wrong.push(format!("{what}: the next start finds {found:?} of {allowed:?}"));
        }
    }
}

#[test]
fn torture_calls_that_fail_once_or_for_good() {
    let (seeds, stride) = if full() { (100, 1) } else { (3, 11) };
    let (places, began) = (places(seeds, stride), Instant::now());
    let ways = [
        (FailMode::Once, libc::EIO),
        (FailMode::Once, libc::ENOSPC),
        (FailMode::Forever, libc::EIO),
        (FailMode::Forever, libc::ENOSPC),
    ];
    let all = spread(places.len() * ways.len(), |n, tally: &mut Tally| {
        let ((seed, k), (mode, errno)) = (places[n / ways.len()], ways[n % ways.len()]);
        fail_at(seed, k, mode, errno, tally);
    });
    let tally = Tally::sum(all);
    let (wrong, seconds) = (tally.wrong.len(), began.elapsed().as_secs());
    println!("failed calls injected: {} tried, {wrong} wrong; {seconds} s", tally.tried);
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
