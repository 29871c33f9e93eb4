//! Calls that change nothing and fail in the middle of a history: to open, list, look for, read.
//!
//! What is read beside one is right or an error, a step is done or refused as a whole, and nothing is lost by it.

use super::*;

/// A history in which the `k`-th look fails, and how far it has come.
struct Beside {
    env: SimEnv,
    store: Store,
    mode: FailMode,
    errno: i32,
    /// Looks until it fails; 0: it has, and works again.
    left: u64,
    what: String,
}

impl Beside {
    fn new(seed: u64, k: u64, mode: FailMode, errno: i32) -> Self {
        let env = SimEnv::new();
        let store = begin(&env, &(Arc::new(env.clone()) as Arc<dyn Env>), seed);
        let what = format!("seed {seed}, look {k} fails {mode:?} with {errno}");
        Self { env, store, mode, errno, left: k, what }
    }

    /// Does something that looks may fail in; the next thing has none that fail.
    fn beside<T>(&mut self, action: impl FnOnce(&Store) -> T) -> T {
        let before = self.env.looks();
        if self.left > 0 {
            self.env.fail_look(self.left, self.mode, self.errno);
        }
        let done = action(&self.store);
        self.env.heal();
        let used = self.env.looks() - before;
        self.left = match self.mode {
            FailMode::Once => self.left.saturating_sub(used),
            FailMode::Forever => self.left.saturating_sub(used).max(1),
        };
        done
    }

    /// What a step may have left, from what was there before.
    fn step(&mut self, step: Step, allowed: &mut Vec<State>, tally: &mut Tally) {
        let before = allowed[allowed.len() - 1].clone();
        let after = step.on(&before);
        let result = self.beside(|store| step.run(store));
        let seen = self.beside(state);
        let found = state(&self.store);
        match (&result, &found) {
            (Ok(()), Ok(found)) if *found == after => {
                if step.is_durable() {
                    allowed.clear();
                }
                allowed.push(after);
            }
            (Err(_), Ok(found)) if *found == before => {}
            (Err(_), Ok(found)) if *found == after => allowed.push(after),
            _ => tally.wrong.push(format!("{}: {step:?} was {result:?}: {found:?}", self.what)),
        }
        if seen.as_ref().is_ok_and(|seen| found.as_ref().is_ok_and(|found| seen != found)) {
            tally.wrong.push(format!("{}: after {step:?} {seen:?} was read, not {found:?}", self.what));
        }
    }
}

fn fail_at(seed: u64, k: u64, mode: FailMode, errno: i32, tally: &mut Tally) {
    let mut beside = Beside::new(seed, k, mode, errno);
    let mut allowed = vec![State::new()];
    for step in steps(seed, 40) {
        beside.step(step, &mut allowed, tally);
    }
    let Beside { env, store, what, .. } = beside;
    env.crash(CrashMode::LoseUnsynced);
    drop(store);
    judge_next_start(Arc::new(env), &allowed, &what, tally);
}

/// More looks than a history has.
const NEVER: u64 = 1 << 40;

/// Looks of a whole history, and of the reads in it.
fn looks(seed: u64) -> u64 {
    let mut beside = Beside::new(seed, NEVER, FailMode::Once, libc::EIO);
    for step in steps(seed, 40) {
        beside.step(step, &mut vec![State::new()], &mut Tally::default());
    }
    NEVER - beside.left
}

#[test]
fn torture_looks_that_fail_once_or_for_good() {
    let (seeds, stride) = if full() { (100, 1) } else { (6, 7) };
    let began = Instant::now();
    let of = |seed: u64| (1 + seed % stride..=looks(seed)).step_by(stride as usize).map(move |k| (seed, k));
    let places: Vec<(u64, u64)> = (0..seeds).flat_map(of).collect();
    let ways = [
        (FailMode::Once, libc::EIO),
        (FailMode::Once, libc::EMFILE),
        (FailMode::Once, libc::EINTR),
        (FailMode::Forever, libc::EIO),
    ];
    let all = spread(places.len() * ways.len(), |n, tally: &mut Tally| {
        let ((seed, k), (mode, errno)) = (places[n / ways.len()], ways[n % ways.len()]);
        fail_at(seed, k, mode, errno, tally);
    });
    let tally = Tally::sum(all);
    let (wrong, seconds) = (tally.wrong.len(), began.elapsed().as_secs());
    println!("failed looks injected: {} tried, {wrong} wrong; {seconds} s", tally.tried);
    assert!(tally.wrong.is_empty() && tally.tried > 100, "{} tried: {:#?}", tally.tried, tally.wrong);
}
