//! Histories of random steps on the simulated machine, which fails or stops at any of its calls, and again while it
//! recovers, three deep. What is found afterwards must be what some prefix of the steps has left, and none that ends
//! before the last step that was made durable.
//!
//! Some of the places in `cargo test`; with CELLFS_TORTURE=full all of them.

mod history;
mod looks;

use std::collections::HashMap;
use std::time::Instant;

use self::history::{Allowed, State, Step, begin, firsts, run, small, state, steps};
use super::rig::{full, spread};
use super::*;
use crate::env::{CarelessEnv, Env, Forgets};

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
    let env = SimEnv::new();
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
        let (env, allowed, what) = (self.env.copy(), self.allowed.clone(), self.what.clone());
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
    let env = SimEnv::new();
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
    env.crash(CrashMode::LoseUnsynced);
    drop(store);
    judge_next_start(wrapped, &allowed, &what, tally);
}

/// After a power cut: one of the states since the last durable step is found.
fn judge_next_start(env: Arc<dyn Env>, allowed: &[State], what: &str, tally: &mut Tally) {
    tally.tried += 1;
    match Store::open(small(env)).and_then(|store| state(&store)) {
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
        (FailMode::Once, libc::EINTR),
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
