//! Threads of which one runs at a time; a seed decides which, and nothing else does.
//!
//! The threads are the system's. Who has the turn keeps it up to its next lock, wait, start of a thread or call of the
//! simulated machine. Time goes on by itself a little with every step, and leaps when all wait for it.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::Instant;

/// Time goes on by less than this a step.
const TICK_US: u64 = 200;
/// One step of so many is a long one, of less than [`LEAP_MS`].
const LEAP_EVERY: u64 = 2_000;
const LEAP_MS: u64 = 3_000;

/// How long a schedule may be.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A schedule of more steps counts as one that never ends.
    pub steps: u64,
}

/// What a schedule was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub steps: u64,
    pub time: Duration,
    /// The same for the same decisions.
    pub trace: u64,
}

/// Why a schedule did not end well, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub text: String,
    pub report: Report,
}

/// A thread of a schedule.
pub type ThreadId = usize;

/// How many are woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    One,
    All,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Ready,
    /// Waits for the lock of this address.
    Locked(usize),
    /// Waits for a notice of this address, up to a time.
    Waits(usize, Option<Duration>),
    /// Waits for the end of a thread.
    Joins(ThreadId),
    Ended,
}

struct Thread {
    name: String,
    status: Status,
    timed_out: bool,
    turn: Arc<parking_lot::Condvar>,
}

struct State {
    threads: Vec<Thread>,
    running: Option<ThreadId>,
    random: u64,
    /// Percent of the steps after which the same thread goes on.
    stays: u64,
    limits: Limits,
    report: Report,
    failure: Option<String>,
}

/// What all threads of a schedule share.
struct Schedule {
    state: parking_lot::Mutex<State>,
    ended: parking_lot::Condvar,
}

/// A thread's place in its schedule.
#[derive(Clone)]
pub(super) struct Place {
    schedule: Arc<Schedule>,
    id: ThreadId,
}

thread_local! {
    static PLACE: RefCell<Option<Place>> = const { RefCell::new(None) };
}

fn place() -> Option<Place> {
    PLACE.with_borrow(Option::clone)
}

/// Runs `body` and the threads that it starts as the seed decides. After a failure they stay where they are.
pub fn simulate(seed: u64, limits: Limits, body: impl FnOnce() + Send + 'static) -> Result<Report, Failure> {
    let mut state = State {
        threads: Vec::new(),
        running: None,
        random: seed,
        stays: 0,
        limits,
        report: Report::default(),
        failure: None,
    };
    state.stays = [0, 30, 70, 90, 97][state.below(5) as usize];
    let schedule = Arc::new(Schedule { state: parking_lot::Mutex::new(state), ended: parking_lot::Condvar::new() });
    let place = Schedule::enrol(&schedule, "body");
    let started = std::thread::Builder::new().name("body".to_owned()).spawn(move || place.run(body));
    if let Err(e) = started {
        return Err(Failure { text: format!("start a thread: {e}"), report: Report::default() });
    }
    let mut state = schedule.state.lock();
    state.pass_on();
    while state.failure.is_none() && !state.has_ended() {
        schedule.ended.wait(&mut state);
    }
    match state.failure.take() {
        Some(text) => Err(Failure { text, report: state.report }),
        None => Ok(state.report),
    }
}

impl State {
    fn next_random(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next_random() % limit
    }

    fn has_ended(&self) -> bool {
        self.threads.iter().all(|thread| thread.status == Status::Ended)
    }

    fn fail(&mut self, text: &str) {
        let threads = self.threads.iter().enumerate().filter(|(_, thread)| thread.status != Status::Ended);
        let told: Vec<String> = threads.map(|(id, t)| format!("{id} {} {:?}", t.name, t.status)).collect();
        self.failure.get_or_insert(format!("{text}; threads: {}", told.join(", ")));
    }

    fn go_on(&mut self) {
        self.report.steps += 1;
        let micros = match self.below(LEAP_EVERY) {
            0 => self.below(LEAP_MS) * 1000,
            _ => self.below(TICK_US),
        };
        self.report.time += Duration::from_micros(micros);
        if self.report.steps > self.limits.steps {
            self.fail("it does not end");
        }
    }

    /// Those whose time is up may go on.
    fn wake_due(&mut self) {
        let now = self.report.time;
        for thread in &mut self.threads {
            if let Status::Waits(_, Some(until)) = thread.status
                && until <= now
            {
                thread.status = Status::Ready;
                thread.timed_out = true;
            }
        }
    }

    /// Who goes on; time leaps if all wait for it.
    fn choose(&mut self) -> Option<ThreadId> {
        self.wake_due();
        let last = self.running.filter(|id| self.threads[*id].status == Status::Ready);
        if let Some(last) = last
            && self.below(100) < self.stays
        {
            return Some(last);
        }
        let ready: Vec<ThreadId> =
            (0..self.threads.len()).filter(|id| self.threads[*id].status == Status::Ready).collect();
        if !ready.is_empty() {
            return Some(ready[self.below(ready.len() as u64) as usize]);
        }
        let deadline = |thread: &Thread| match thread.status {
            Status::Waits(_, until) => until,
            _ => None,
        };
        self.report.time = self.threads.iter().filter_map(deadline).min()?;
        self.choose()
    }

    /// Gives the turn to somebody.
    fn pass_on(&mut self) {
        if self.failure.is_some() {
            return;
        }
        let next = self.choose();
        if next.is_none() && !self.has_ended() {
            self.fail("nobody can go on");
        }
        if let Some(next) = next {
            self.report.trace = (self.report.trace ^ next as u64).wrapping_mul(0x0100_0000_01B3).rotate_left(5);
            self.threads[next].turn.notify_one();
        }
        self.running = next;
    }
}

impl Schedule {
    fn enrol(schedule: &Arc<Self>, name: &str) -> Place {
        let mut state = schedule.state.lock();
        let turn = Arc::new(parking_lot::Condvar::new());
        state.threads.push(Thread { name: name.to_owned(), status: Status::Ready, timed_out: false, turn });
        Place { schedule: Arc::clone(schedule), id: state.threads.len() - 1 }
    }
}

impl Place {
    pub(super) fn id(&self) -> ThreadId {
        self.id
    }

    /// The thread's life. The first turn comes when the schedule says so.
    pub(super) fn run<T>(self, body: impl FnOnce() -> T) -> T {
        PLACE.set(Some(self.clone()));
        self.await_turn(&mut self.schedule.state.lock());
        let result = catch_unwind(AssertUnwindSafe(body));
        let mut state = self.schedule.state.lock();
        if let Err(panic) = &result {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned();
            state.fail(&text);
        }
        state.threads[self.id].status = Status::Ended;
        for thread in &mut state.threads {
            if thread.status == Status::Joins(self.id) {
                thread.status = Status::Ready;
            }
        }
        state.pass_on();
        self.schedule.ended.notify_all();
        drop(state);
        PLACE.set(None);
        result.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn await_turn(&self, state: &mut parking_lot::MutexGuard<'_, State>) {
        let turn = Arc::clone(&state.threads[self.id].turn);
        while state.running != Some(self.id) || state.failure.is_some() {
            turn.wait(state);
        }
    }

    /// Gives the turn up in a state, until it comes back; whether a time was up.
    fn yield_in(&self, status: Status) -> bool {
        let mut state = self.schedule.state.lock();
        state.threads[self.id].status = status;
        state.threads[self.id].timed_out = false;
        state.go_on();
        if state.failure.is_some() {
            self.schedule.ended.notify_all();
        }
        state.pass_on();
        if state.failure.is_some() {
            self.schedule.ended.notify_all();
        }
        self.await_turn(&mut state);
        state.threads[self.id].timed_out
    }
}

/// A place where others may go on.
pub fn point() {
    if let Some(place) = place() {
        place.yield_in(Status::Ready);
    }
}

/// Time that has gone by in this thread's schedule, in milliseconds; 0 outside of one.
pub fn scheduled_ms() -> i64 {
    elapsed().map_or(0, |time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}

/// Rests.
pub fn sleep(time: Duration) {
    match place() {
        Some(place) => {
            place.yield_in(Status::Waits(0, Some((Instant::now() + time).since_start())));
        }
        None => std::thread::sleep(time),
    }
}

/// Whether this thread belongs to a schedule.
pub fn is_scheduled() -> bool {
    PLACE.with_borrow(Option::is_some)
}

pub(super) fn elapsed() -> Option<Duration> {
    place().map(|place| place.schedule.state.lock().report.time)
}

pub(super) fn enrol(name: &str) -> Option<Place> {
    place().map(|place| Schedule::enrol(&place.schedule, name))
}

/// Others may go on, then it waits until the lock is free.
pub(super) fn await_lock(address: usize, is_free: impl Fn() -> bool) {
    if let Some(place) = place() {
        place.yield_in(Status::Ready);
        while !is_free() {
            place.yield_in(Status::Locked(address));
        }
    }
}

/// As [`await_lock`], for one who has just waited.
pub(super) fn await_lock_again(address: usize, is_free: impl Fn() -> bool) {
    if let Some(place) = place() {
        while !is_free() {
            place.yield_in(Status::Locked(address));
        }
    }
}

/// Waits for a notice; whether the time was up first.
pub(super) fn await_notice(address: usize, until: Option<Instant>) -> bool {
    place().is_some_and(|place| place.yield_in(Status::Waits(address, until.map(Instant::since_start))))
}

pub(super) fn await_end(id: ThreadId) {
    if let Some(place) = place() {
        let has_ended = place.schedule.state.lock().threads[id].status == Status::Ended;
        if !has_ended {
            place.yield_in(Status::Joins(id));
        }
    }
}

fn wake(is_meant: impl Fn(Status) -> bool, whom: Whom) {
    let Some(place) = place() else { return };
    let mut state = place.schedule.state.lock();
    let mut meant: Vec<ThreadId> = (0..state.threads.len()).filter(|id| is_meant(state.threads[*id].status)).collect();
    if whom == Whom::One && !meant.is_empty() {
        let one = state.below(meant.len() as u64) as usize;
        meant = vec![meant[one]];
    }
    for id in meant {
        state.threads[id].status = Status::Ready;
    }
}

/// A lock is free.
pub(super) fn released(address: usize) {
    wake(|status| status == Status::Locked(address), Whom::All);
}

/// Something has changed.
pub(super) fn notify(address: usize, whom: Whom) {
    wake(|status| matches!(status, Status::Waits(of, _) if of == address), whom);
}
