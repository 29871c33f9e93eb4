//! Writers, readers, flushes, compactions, snapshots, changes of the catalogue, checks, crashes and failing disks, all
//! interleaved as one seed decides, and judged by what every cell may read as.
//!
//! `CELLFS_SEED=N` runs one seed (`RUST_LOG=trace`: with every call), `CELLFS_SEEDS=N` so many fresh ones,
//! `CELLFS_SECONDS=N` as many as there is time for; `CELLFS_DISK=honest`, `decaying` or `lying`: only on such disks.

#![allow(clippy::disallowed_types, reason = "what judges a simulation is not part of it")]

mod actor;
mod aging;
mod changes;
mod drafts;
mod events;
mod oracle;
mod setting;
mod versions;
mod world;
mod writes;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use actor::{Plan, act};
use events::Place;
use setting::{Disk, End, Setting};
use world::{Chance, Open, PAIR, QUALIFIERS, ROWS, TABLES, Tables, World, read};

use super::rig::spread;
use super::*;
use crate::backend::Backend;
use crate::env::sync::{self, Limits, simulate};
use crate::env::{Env, Fault, FaultPlan};
use crate::store::options::Broken;

/// Seeds in which a broken rule must be noticed.
const CONTROLS: u64 = 20_000;
const LIMITS: Limits = Limits { steps: 3_000_000 };

/// All that one seed decides.
struct Run {
    setting: Setting,
    chance: Chance,
    world: Arc<World>,
}

impl Run {
    fn new(seed: u64, broken: Option<Broken>) -> Self {
        let mut chance = Chance::new(seed);
        let setting = Setting::new(seed, &mut chance, broken);
        let (is_classic, ttl_s) = (chance.one_in(4), setting.ttl_s);
        let world = Arc::new(World::new(SimEnv::new(), setting.value_bytes, Tables { is_classic, ttl_s }));
        Self { setting, chance, world }
    }

    fn all_lives(&mut self) {
        for _ in 0..self.setting.lives {
            let Some(store) = self.open() else { return };
            self.look_at_all(&store);
            self.prepare(&store);
            self.live(store);
        }
        if let Some(store) = self.open() {
            self.look_at_all(&store);
        }
    }

    fn open(&self) -> Option<Open> {
        self.world.stop.store(false, Ordering::Relaxed);
        match Store::open(self.setting.options(&self.world.env.process())) {
            Ok(store) if has_lost_its_end(&store) => {
                // It has said so, answers by what is left, and is good for a look before a backup is put back.
                assert!(self.world.damaged.load(Ordering::Relaxed), "{:?}", store.status().unwrap().last_error);
                let made = store.alter(CatalogueChange::CreateTable(schema(FILES)), Origin(0));
                assert_eq!(made.unwrap_err().kind, ErrorKind::Poisoned);
                drop(store);
                let again = Store::open(self.setting.options(&self.world.env.process()));
                assert!(again.is_ok_and(|store| has_lost_its_end(&store)), "and does not forget it");
                None
            }
            Ok(store) => Some(Arc::new(store)),
            Err(e) => {
                assert!(self.world.damaged.load(Ordering::Relaxed), "it cannot be opened: {e}");
                None
            }
        }
    }

    /// The tables of a young store.
    fn prepare(&mut self, store: &Open) {
        let declared = store.catalogue().unwrap();
        for table in TABLES {
            if declared.tables.contains_key(&world::table_name(table)) || self.chance.one_in(3) {
                continue;
            }
            let begun = self.world.known().oracle.begin_existence(table, true);
            let made = store.alter(
                CatalogueChange::CreateTable(actor::schema(table, self.world.tables, &mut self.chance)),
                Origin(0),
            );
            match made {
                Ok(()) => self.world.known().oracle.done(&begun, events::Kept::Always),
                Err(_) => self.world.known().oracle.unknown(&begun),
            }
        }
    }

    fn live(&mut self, store: Open) {
        let plan = Arc::new(Plan::new(&mut self.chance));
        self.begin_faults();
        self.world.begin_life();
        let Setting { actors, deeds, .. } = self.setting;
        let all = act(&self.world, &store, &plan, &mut self.chance, actors, deeds);
        let end = End::new(&mut self.chance);
        if end != End::Closed {
            // Somewhere in the middle of it all, or when all is done.
            for _ in 0..self.chance.below(3_000) {
                sync::point();
            }
            self.stop(end);
        }
        for one in all {
            one.join().unwrap();
        }
        self.world.env.heal();
        self.world.env.set_space(None);
        let store = Arc::into_inner(store).unwrap();
        if end == End::Closed {
            let closed = store.close();
            let excused = self.world.failing.load(Ordering::Relaxed) || self.world.damaged.load(Ordering::Relaxed);
            assert!(excused || closed.is_ok(), "closed: {closed:?}");
            self.world.stopped(closed.is_err() || self.setting.disk.spoils(), self.untold(false));
        } else {
            drop(store);
        }
        self.world.failing.store(false, Ordering::Relaxed);
    }

    fn begin_faults(&mut self) {
        let world = &self.world;
        let (seed, one_in, lasting) =
            (self.chance.below(u64::MAX), self.chance.of(&[30, 100, 400]), self.chance.one_in(3));
        let log = "/store/log".into();
        match self.setting.disk {
            Disk::Healthy => {}
            Disk::Small => world.env.set_space(Some(40_000 + self.chance.below(3_000_000))),
            Disk::Fails => {
                world.failing.store(true, Ordering::Relaxed);
                let errno = self.chance.of(&[libc::EIO, libc::ENOSPC, libc::EMFILE, libc::EINTR]);
                let look = self.chance.of(&[libc::EIO, libc::EMFILE, libc::EINTR]);
                let looks = self.chance.one_in(2).then_some(Fault::LookFails(look));
                let faults = [Fault::Fails(errno)].into_iter().chain(looks).collect();
                world.env.plan_faults(FaultPlan { seed, one_in, faults, lasting, log });
            }
            Disk::Decays => {
                world.damaged.store(true, Ordering::Relaxed);
                let faults = vec![Fault::SectorGoesBad];
                world.env.plan_faults(FaultPlan { seed, one_in, faults, lasting: false, log });
            }
            Disk::Lies => {
                world.damaged.store(true, Ordering::Relaxed);
                let faults = vec![Fault::WriteLost, Fault::WriteMisdirected, Fault::WriteTwice, Fault::SectorGoesBad];
                world.env.plan_faults(FaultPlan { seed, one_in, faults, lasting: false, log });
            }
        }
    }

    /// The machine, or the process, ends now.
    fn stop(&self, end: End) {
        let mode = match end {
            End::PowerCut(mode) => mode,
            End::Killed | End::Closed => CrashMode::ProcessOnly,
        };
        // Order: no point in between, so that nobody hears an answer of a machine that has stopped.
        self.world.stop.store(true, Ordering::Relaxed);
        let is_power_cut = matches!(end, End::PowerCut(_));
        let untold = self.untold(is_power_cut);
        self.world.env.crash(mode);
        // On a disk that spoils writes, what was never synced is missed by nobody.
        self.world.stopped(is_power_cut || self.setting.disk.spoils(), untold);
    }

    /// See [`World::untold`]. What is left of the log without a power cut is told by the one file that says how far it had
    /// come.
    fn untold(&self, is_power_cut: bool) -> Option<events::Tick> {
        let may_be_untold = is_power_cut || self.world.env.is_spoilt("/store/progress".as_ref());
        may_be_untold.then(|| self.world.untold()).flatten()
    }

    /// Every column, while nothing else is done.
    fn look_at_all(&self, store: &Open) {
        let mut shown = BTreeMap::new();
        for (table, row) in TABLES.iter().flat_map(|table| ROWS.map(|row| (table, row))) {
            for qualifier in QUALIFIERS.iter().chain(&PAIR) {
                let (place, begin) = (Place::column(table, row, qualifier), self.world.tick());
                let now = self.world.env.now().0;
                let result = read(&**store, &place);
                self.world.judge_error((table, begin), result.as_ref().err());
                let there = match result {
                    Ok(there) => there,
                    Err(e) if e.kind == ErrorKind::NoSuchTable => None,
                    Err(_) => continue,
                };
                self.world.judge(&place, begin, there);
                let is_expired = self.world.known().oracle.is_expired(there, now);
                assert!(!is_expired, "{place:?} shows {there:?}, which has expired");
                shown.insert(place, there);
            }
        }
        if let Err(text) = self.world.known().oracle.hole(&shown) {
            assert!(self.world.damaged.load(Ordering::Relaxed), "{text}");
        }
        let mut found = Vec::new();
        let checked = store.check(&mut |event| {
            if let CheckEvent::Finding(finding) = event {
                found.push(finding);
            }
            Ok(())
        });
        found.retain(|finding| finding.severity == Severity::Damage);
        // After failed calls a check may still tell of what a failed sync has left behind and nothing points to.
        let excused = self.world.damaged.load(Ordering::Relaxed) || self.setting.disk == Disk::Fails;
        assert!(excused || found.is_empty() && checked.is_ok(), "a check after a start: {checked:?} {found:?}");
        self.world.known().oracle.prune();
    }
}

/// Whether a store says that its journal ends too early.
fn has_lost_its_end(store: &Store) -> bool {
    let poison = store.engine.log.poison();
    poison.is_some_and(|text| text.starts_with("the journal has lost its end"))
}

/// What one seed has shown.
#[derive(Debug)]
struct Outcome {
    report: sync::Report,
    failure: Option<String>,
    counts: BTreeMap<&'static str, (u64, u64)>,
    faults: (u64, u64),
}

fn run(seed: u64, broken: Option<Broken>) -> Outcome {
    if number("CELLFS_SEED").is_some() {
        let thread = |buf: &mut env_logger::fmt::Formatter, record: &log::Record<'_>| {
            use std::io::Write;
            writeln!(buf, "{}: {}", std::thread::current().name().unwrap_or_default(), record.args())
        };
        let _ = env_logger::Builder::from_default_env().format(thread).try_init();
    }
    let mut run = Run::new(seed, broken);
    let (world, setting) = (Arc::clone(&run.world), run.setting);
    let result = simulate(seed, LIMITS, move || run.all_lives());
    let (report, failure) = match result {
        Ok(report) => (report, None),
        Err(failure) => (failure.report, Some(format!("seed {seed}, {setting:?}: {}", failure.text))),
    };
    let counts = world.known.try_lock().map(|known| known.counts.clone()).unwrap_or_default();
    Outcome { report, failure, counts, faults: world.env.faults_met() }
}

/// Sums over runs.
#[derive(Default)]
struct Sums {
    runs: u64,
    steps: u64,
    time: Duration,
    faults: (u64, u64),
    counts: BTreeMap<&'static str, (u64, u64)>,
    failures: Vec<String>,
}

fn run_all(first: u64, count: u64, until: Option<Instant>) -> Sums {
    let next = AtomicU64::new(0);
    let failed = AtomicU64::new(0);
    let most = CELLFS_FAILURES.with(|most| *most);
    let sums: Mutex<Sums> = Mutex::default();
    spread(std::thread::available_parallelism().map_or(1, usize::from), |_, _: &mut ()| {
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let over = until.map_or(n >= count, |until| Instant::now() >= until);
            if over || failed.load(Ordering::Relaxed) >= most {
                return;
            }
            let outcome = run(first.wrapping_add(n), None);
            let mut sums = sums.lock().unwrap();
            sums.runs += 1;
            sums.steps += outcome.report.steps;
            sums.time += outcome.report.time;
            sums.faults.0 += outcome.faults.0;
            sums.faults.1 += outcome.faults.1;
            for (name, (begun, done)) in outcome.counts {
                let sum = sums.counts.entry(name).or_default();
                *sum = (sum.0 + begun, sum.1 + done);
            }
            if let Some(failure) = outcome.failure {
                failed.fetch_add(1, Ordering::Relaxed);
                sums.failures.push(failure);
            }
        }
    });
    sums.into_inner().unwrap()
}

thread_local! {
    /// After so many failures a run ends.
    static CELLFS_FAILURES: u64 = number("CELLFS_FAILURES").unwrap_or(1);
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn no_interleaving_loses_or_shows_a_wrong_cell() {
    let (first, count) = match number("CELLFS_SEED") {
        Some(seed) => (seed, number("CELLFS_SEEDS").unwrap_or(1)),
        None => (1_000_000, number("CELLFS_SEEDS").unwrap_or(200)),
    };
    let began = Instant::now();
    let until = number("CELLFS_SECONDS").map(|seconds| began + Duration::from_secs(seconds));
    let sums = run_all(first, count, until);
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "seeds {first}..: {} runs, {} steps, {:.0} simulated s in {seconds:.1} s: {:.0} steps/s, {:.0} simulated s/s; \
         {} faults, {} of them silent; {} failures",
        sums.runs,
        sums.steps,
        sums.time.as_secs_f64(),
        sums.steps as f64 / seconds,
        sums.time.as_secs_f64() / seconds,
        sums.faults.0,
        sums.faults.1,
        sums.failures.len()
    );
    println!("done of begun: {:?}", sums.counts);
    assert!(sums.failures.is_empty(), "{}", sums.failures.join("\n\n"));
}

/// A cell expired between the condition of an append and its read of what it appends to.
#[test]
fn what_a_change_asks_is_asked_at_one_time() {
    assert_eq!(run(1_795_994_496_002_340, None).failure, None);
}

/// The first seed that notices, and what it says.
fn noticed(broken: Broken) -> Option<String> {
    (0..CONTROLS).find_map(|seed| run(seed, Some(broken)).failure)
}

#[test]
fn cells_that_a_ttl_takes_too_early_or_too_late_are_noticed() {
    for broken in [Broken::ExpiresEarly, Broken::ShowsExpired] {
        let found = noticed(broken).unwrap_or_else(|| panic!("{broken:?} is not noticed in {CONTROLS} seeds"));
        println!("{broken:?}: {}", found.lines().next().unwrap_or_default());
    }
}

#[test]
#[ignore = "minutes: run by name"]
fn every_rule_that_is_broken_is_noticed() {
    use Broken::{DropsEntries, ForgetsSnapshots, ForgetsUnknown, FreesLogFirst, WritesNoEntries, WritesUndeclared};
    let cells = [ForgetsSnapshots, FreesLogFirst, ForgetsUnknown, WritesUndeclared];
    for broken in cells.into_iter().chain([WritesNoEntries, DropsEntries]) {
        let found = noticed(broken).unwrap_or_else(|| panic!("{broken:?} is not noticed in {CONTROLS} seeds"));
        println!("{broken:?}: {}", found.lines().next().unwrap_or_default());
    }
}

#[test]
fn a_seed_replays_exactly() {
    for seed in [3, 4, 7] {
        let (one, other) = (run(seed, None), run(seed, None));
        assert_eq!((one.report, one.failure), (other.report, other.failure), "seed {seed}");
    }
}
