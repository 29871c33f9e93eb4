//! Files in memory with a live and a durable image, failing calls and crashes on demand.
//!
//! A crash keeps what was synced: contents by [`EnvFile::sync`], names by [`crate::env::Env::sync_dir`]. A seed lets
//! it keep also any subset of the later writes, torn at any byte, as a disk may.

mod calls;
mod copy;
mod faults;
mod file;
mod names;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use super::{EnvFile, LockGuard};
use crate::model::Timestamp;
use faults::Faults;
pub use faults::{Fault, FaultPlan, Untold};
use file::SimFile;
use names::Names;

/// What a crash leaves of writes that were not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashMode {
    /// Only the process dies: all writes stay.
    ProcessOnly,
    /// Nothing.
    LoseUnsynced,
    /// A subset chosen by the seed, some of it torn.
    KeepSome { seed: u64 },
}

/// How long a chosen call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailMode {
    Once,
    /// It and every later one.
    Forever,
}

/// See the module. Clones share their state.
#[derive(Clone)]
pub struct SimEnv {
    state: Arc<Mutex<State>>,
    /// `Some`: calls fail once this life of the machine has ended.
    life: Option<u64>,
}

#[derive(Clone, Default)]
struct State {
    nodes: Vec<Node>,
    names: Names,
    dirs: BTreeSet<PathBuf>,
    locked: BTreeSet<PathBuf>,
    clock: i64,
    calls: u64,
    fail: Option<(u64, FailMode, i32)>,
    looks: u64,
    fail_look: Option<(u64, FailMode, i32)>,
    sync_fails: bool,
    faults: Faults,
    space: Option<u64>,
    /// Bytes that others have written to the disk.
    others: u64,
    /// Of what is free, bytes that this process alone may use.
    kept_for_us: u64,
    random: u64,
    /// Grows with each crash; files and locks of an earlier life are dead.
    life: u64,
    /// Grows with each crash but those of the process alone.
    boots: u64,
}

/// What is given back within a file, bytes.
const PAGE: u64 = 4096;

#[derive(Clone, Default)]
struct Node {
    live: Vec<u8>,
    durable: Vec<u8>,
    /// Writes and truncations since the last sync.
    pending: Vec<Pending>,
    /// Numbers of the pages that were given back.
    holes: BTreeSet<u64>,
}

impl Node {
    fn used(&self) -> u64 {
        (self.live.len() as u64).saturating_sub(self.holes.len() as u64 * PAGE)
    }

    fn punch(&mut self, from: u64, to: u64) {
        self.holes.extend(from.div_ceil(PAGE)..to / PAGE);
    }

    fn fill(&mut self, from: u64, to: u64) {
        self.holes.retain(|page| page * PAGE >= to || (page + 1) * PAGE <= from);
    }
}

#[derive(Clone)]
enum Pending {
    Write(u64, Vec<u8>),
    Len(u64),
}

impl Pending {
    fn apply(&self, data: &mut Vec<u8>) {
        match self {
            Pending::Write(offset, bytes) => overwrite(data, *offset as usize, bytes),
            Pending::Len(len) => data.resize(*len as usize, 0),
        }
    }
}

/// Whether a write changes one sector of what is there.
fn is_inside_a_sector(offset: u64, len: usize, there: usize) -> bool {
    let end = offset as usize + len;
    end <= there && offset / 512 == (end as u64).saturating_sub(1) / 512
}

/// The next number of a sequence (splitmix64).
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn overwrite(data: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    if data.len() < offset + bytes.len() {
        data.resize(offset + bytes.len(), 0);
    }
    data[offset..offset + bytes.len()].copy_from_slice(bytes);
}

impl State {
    /// Counts a changing call and fails it if it is the chosen one.
    fn step(&mut self, life: u64) -> io::Result<()> {
        if life != self.life {
            return Err(io::Error::other("the simulated machine has crashed"));
        }
        self.calls += 1;
        match self.fail {
            Some((at, FailMode::Once, errno)) if self.calls == at => Err(io::Error::from_raw_os_error(errno)),
            Some((at, FailMode::Forever, errno)) if self.calls >= at => Err(io::Error::from_raw_os_error(errno)),
            _ => self.faults.call(),
        }
    }

    /// Counts a call that changes nothing and fails it if it is the chosen one.
    fn look(&mut self) -> io::Result<()> {
        self.looks += 1;
        match self.fail_look {
            Some((at, FailMode::Once, errno)) if self.looks == at => Err(io::Error::from_raw_os_error(errno)),
            Some((at, FailMode::Forever, errno)) if self.looks >= at => Err(io::Error::from_raw_os_error(errno)),
            _ => self.faults.look(),
        }
    }

    /// Refuses those of an earlier life.
    fn alive(&self, life: Option<u64>) -> io::Result<u64> {
        if life.is_some_and(|life| life != self.life) {
            return Err(io::Error::other("the simulated machine has crashed"));
        }
        Ok(self.life)
    }

    fn node(&self, path: &Path) -> io::Result<usize> {
        self.names.get(path).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Whether a file of the log says something of a write that went wrong in silence.
    fn is_in_struck_log(&self, node: usize) -> bool {
        self.faults.has_struck().is_some_and(|log| self.names.nodes_in(log).contains(&node))
    }

    /// Whether that is the file that the log ends in: where there are older ones to be synced, they are before it.
    fn ends_struck_log(&self, node: usize) -> bool {
        self.faults.has_struck().is_some_and(|log| self.names.last_in(log) == Some(node))
    }

    /// Bytes that may be written.
    fn room(&self) -> u64 {
        self.space.map_or(u64::MAX, |space| space.saturating_sub(self.others + self.used()))
    }

    fn used(&self) -> u64 {
        self.names.nodes().map(|n| self.nodes[n].used()).sum()
    }

    fn next_random(&mut self) -> u64 {
        next_random(&mut self.random)
    }

    fn crash_node(&mut self, at: usize, mode: CrashMode) {
        let pending = std::mem::take(&mut self.nodes[at].pending);
        if let CrashMode::KeepSome { .. } = mode {
            for change in pending {
                let chance = self.next_random();
                let data = &mut self.nodes[at].durable;
                match (chance % 3, &change) {
                    (0, _) => {}
                    // A sector that is there is written as a whole.
                    (1, Pending::Write(offset, bytes)) if is_inside_a_sector(*offset, bytes.len(), data.len()) => {
                        change.apply(data);
                    }
                    (1, Pending::Write(offset, bytes)) => {
                        let torn = (chance >> 8) as usize % (bytes.len() + 1);
                        overwrite(data, *offset as usize, &bytes[..torn]);
                    }
                    _ => change.apply(data),
                }
            }
        }
        let node = &mut self.nodes[at];
        node.live = node.durable.clone();
        let is_hole = |page: &u64| {
            let bytes = (page * PAGE) as usize..((page + 1) * PAGE) as usize;
            node.live.get(bytes).is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0))
        };
        node.holes.retain(is_hole);
    }
}

impl Default for SimEnv {
    fn default() -> Self {
        Self::new()
    }
}

impl SimEnv {
    /// An empty disk; the clock stands at one million milliseconds.
    pub fn new() -> Self {
        let state = State { clock: 1_000_000, ..State::default() };
        Self { state: Arc::new(Mutex::new(state)), life: None }
    }

    /// The machine for one process: when it stops, calls by this handle fail too.
    pub fn process(&self) -> Self {
        Self { life: Some(self.state.lock().life), ..self.clone() }
    }

    /// Stops the machine: open files and locks of before are dead.
    pub fn crash(&self, mode: CrashMode) {
        log::trace!("the machine stops: {mode:?}");
        let mut state = self.state.lock();
        state.life += 1;
        state.locked.clear();
        (state.fail, state.fail_look) = (None, None);
        state.sync_fails = false;
        state.faults.end();
        if mode == CrashMode::ProcessOnly {
            return;
        }
        state.boots += 1;
        if let CrashMode::KeepSome { seed } = mode {
            state.random = seed;
        }
        let State { names, random, .. } = &mut *state;
        names.crash(mode, random);
        for at in 0..state.nodes.len() {
            state.crash_node(at, mode);
        }
    }

    /// The `n`-th changing call from now (1 = the next) fails with `errno`.
    pub fn fail_call(&self, n: u64, mode: FailMode, errno: i32) {
        let mut state = self.state.lock();
        state.fail = Some((state.calls + n, mode, errno));
    }

    /// As [`SimEnv::fail_call`], of the calls that change nothing: to open, list, look for, read.
    pub fn fail_look(&self, n: u64, mode: FailMode, errno: i32) {
        let mut state = self.state.lock();
        state.fail_look = Some((state.looks + n, mode, errno));
    }

    /// Calls so far that changed nothing.
    pub fn looks(&self) -> u64 {
        self.state.lock().looks
    }

    /// Calls work again.
    pub fn heal(&self) {
        let mut state = self.state.lock();
        (state.fail, state.fail_look) = (None, None);
        state.sync_fails = false;
        state.faults.end();
    }

    /// Calls fail, and writes go wrong in silence, as the plan's seed decides.
    pub fn plan_faults(&self, plan: FaultPlan) {
        self.state.lock().faults.begin(plan);
    }

    /// The sector at a place of a file cannot be read any more.
    pub fn spoil(&self, path: &Path, offset: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        let node = state.node(path)?;
        state.faults.spoil(node, offset);
        Ok(())
    }

    /// Sectors that had gone bad can be read again.
    pub fn heal_sectors(&self) {
        self.state.lock().faults.heal_sectors();
    }

    /// How often a fault of the plan has struck, and how often in silence.
    pub fn faults_met(&self) -> (u64, u64) {
        self.state.lock().faults.met()
    }

    /// The silent faults of the plan that struck files of these directories and of which nothing on the disk tells yet: a
    /// power cut now leaves what an honest disk leaves of what was not synced.
    pub fn untold_faults(&self, dirs: &[&Path]) -> Vec<Untold> {
        let state = self.state.lock();
        let nodes: BTreeSet<usize> = dirs.iter().flat_map(|dir| state.names.nodes_in(dir)).collect();
        state.faults.untold(|node| nodes.contains(&node))
    }

    /// Whether a file may not be what was written to it.
    pub fn is_spoilt(&self, path: &Path) -> bool {
        let state = self.state.lock();
        state.node(path).is_ok_and(|node| state.faults.is_spoilt(node))
    }

    /// Every sync of a file fails from now on.
    pub fn fail_syncs(&self) {
        self.state.lock().sync_fails = true;
    }

    /// Changing calls so far.
    pub fn calls(&self) -> u64 {
        self.state.lock().calls
    }

    pub fn set_now(&self, now: Timestamp) {
        self.state.lock().clock = now.0;
    }

    pub fn advance(&self, milliseconds: i64) {
        self.state.lock().clock += milliseconds;
    }

    /// Bytes that fit on the disk; `None` = no limit.
    pub fn set_space(&self, bytes: Option<u64>) {
        self.state.lock().space = bytes;
    }

    /// Of what is free, so many bytes are for this process alone.
    pub fn keep_for_us(&self, bytes: u64) {
        self.state.lock().kept_for_us = bytes;
    }

    /// Others fill a disk of so many bytes.
    pub fn fill_disk(&self, bytes: u64) {
        let mut state = self.state.lock();
        state.space = Some(bytes);
        state.others = bytes.saturating_sub(state.used());
    }

    /// Changes stored bytes behind everyone's back.
    pub fn damage(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        let mut state = self.state.lock();
        let at = state.node(path)?;
        change(&mut state.nodes[at].live);
        let node = &mut state.nodes[at];
        node.durable = node.live.clone();
        node.pending.clear();
        Ok(())
    }

    fn file(&self, node: usize, life: u64) -> Arc<dyn EnvFile> {
        Arc::new(SimFile { env: self.clone(), node, life })
    }
}
