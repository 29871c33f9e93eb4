//! A process whose system calls fail: each call that it makes on the files of its store, one after the other, with EIO
//! and with ENOSPC, once and from there on, and interrupted. What it has acknowledged is there at the next start, and nothing is damaged.
//! Needs strace, and says so where it is missing. Some of the calls in `cargo test`; all with CELLFS_TORTURE=full.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cellfs::backend::Backend;
use cellfs::model::*;
use cellfs::store::{Store, StoreOptions};

use crate::mount::fixture::{CELLFS, can_fail_calls};

/// What may fail; those that are not of this machine are passed by.
const CALLS: &[&str] = &[
    "pwrite64",
    "pwritev",
    "pwritev2",
    "fsync",
    "fdatasync",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "openat",
    "ftruncate",
    "fallocate",
    "unlink",
    "unlinkat",
];

/// Of these a signal may interrupt some on a local filesystem; they are made again.
const INTERRUPTED: &[&str] = &["pwrite64", "fsync", "fdatasync", "ftruncate", "fallocate"];

/// A bound on liveness: what takes longer does not end.
const FOREVER: Duration = Duration::from_secs(60);
/// Cases in the short form.
const FEW: usize = 30;

/// What is done before any call fails.
const BEFORE: &[Step] = &[
    Step::Other("create 't', {NAME => 'f', VERSIONS => 1, NEW_VERSION_BEHAVIOR => 'true'}, DURABILITY => 'FSYNC_WAL'"),
    Step::Put("a", 10),
    Step::Put("b", 3000),
    Step::Put("c", 40),
    Step::Other("flush 't'"),
    Step::Put("d", 20_000),
    Step::Delete("a"),
    Step::Other("flush 't'"),
    Step::Put("e", 5),
    Step::Delete("c"),
];

/// What is done while one does.
const DURING: &[Step] = &[
    Step::Put("a", 11),
    Step::Put("f", 900),
    Step::Delete("e"),
    Step::Other("flush 't'"),
    Step::Put("b", 12),
    Step::Other("major_compact 't'"),
    Step::Put("g", 70_000),
    Step::Delete("d"),
    Step::Put("h", 13),
    Step::Other("snapshot 't', 'kept'"),
    Step::Put("e", 300),
    Step::Other("flush 't'"),
    Step::Other("create 'u', 'f'"),
    Step::Other("major_compact 't'"),
    Step::Delete("f"),
    Step::Put("c", 14),
];

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A cell, and the length of its value, which no other has.
    Put(&'static str, usize),
    Delete(&'static str),
    Other(&'static str),
}

fn value(name: &str, len: usize) -> Vec<u8> {
    format!("{name}{len}.").into_bytes().into_iter().cycle().take(len).collect()
}

impl Step {
    fn statement(self) -> String {
        match self {
            Self::Put(name, len) => {
                format!("put 't', 'r', 'f:{name}', '{}'", String::from_utf8(value(name, len)).unwrap())
            }
            Self::Delete(name) => format!("deleteall 't', 'r', 'f:{name}'"),
            Self::Other(text) => text.to_owned(),
        }
    }
}

/// What each cell may be: the states since the last one that was acknowledged.
#[derive(Clone, Default)]
struct Expected(BTreeMap<&'static str, Vec<Option<Vec<u8>>>>);

impl Expected {
    fn note(&mut self, step: Step, acknowledged: bool) {
        let (name, state) = match step {
            Step::Put(name, len) => (name, Some(value(name, len))),
            Step::Delete(name) => (name, None),
            Step::Other(_) => return,
        };
        let states = self.0.entry(name).or_insert_with(|| vec![None]);
        if acknowledged {
            states.clear();
        }
        states.push(state);
    }
}

/// A call that fails.
#[derive(Clone, Copy, Debug)]
struct Fault {
    call: &'static str,
    n: u64,
    errno: &'static str,
    forever: bool,
}

#[derive(Debug, Default)]
struct Tally {
    tried: u64,
    /// Statements that were answered with an error, or not at all.
    refused: u64,
    acknowledged: u64,
    lost: u64,
    wrong: u64,
    first: Vec<String>,
}

/// Runs a script of the shell's language on a store, under strace with more arguments; how it ended, and what it said.
fn shell(directory: &Path, steps: &[Step], strace: &[String]) -> (Option<ExitStatus>, String) {
    let (script, said) = (directory.join("script"), directory.join("said"));
    let text: String = steps.iter().map(|step| step.statement() + "\n").collect();
    fs::write(&script, text).unwrap();
    let mut command = Command::new("strace");
    command
        .args(["-f", "-qq"])
        .args(strace)
        .arg(CELLFS)
        .args(["shell", "--make"])
        .arg(directory.join("store"))
        .arg(&script);
    let output = File::create(&said).unwrap();
    command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output);
    let mut child = command.spawn().unwrap();
    let started = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if started.elapsed() > FOREVER => {
                let pids = fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id())).unwrap();
                for pid in pids.split_whitespace() {
                    let pid = nix::unistd::Pid::from_raw(pid.parse().unwrap());
                    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
                }
                child.wait().unwrap();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    (status, String::from_utf8_lossy(&fs::read(said).unwrap()).into_owned())
}

/// Which of the steps were acknowledged.
fn acknowledged(said: &str, steps: &[Step]) -> Vec<bool> {
    let mut answers = said.split("hbase:").skip(1);
    let answered = |answer: &str| answer.contains("\nTook ") && !answer.contains("ERROR");
    steps.iter().map(|_| answers.next().is_some_and(answered)).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to.join(name));
        } else if !name.to_string_lossy().starts_with("reserve") {
            fs::copy(entry.path(), to.join(name)).unwrap();
        }
    }
}

/// A store as it is before, what is in it, and the calls that the script makes on it: each by its number, which strace
/// counts for each thread by itself.
struct Template {
    directory: tempfile::TempDir,
    expected: Expected,
    calls: BTreeMap<&'static str, BTreeSet<u64>>,
}

impl Template {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let none = ["-o", "/dev/null", "-e", "trace=none"].map(str::to_owned);
        let (status, said) = shell(directory.path(), BEFORE, &none);
        assert!(status.unwrap().success() && acknowledged(&said, BEFORE).iter().all(|done| *done), "{said}");
        let mut expected = Expected::default();
        BEFORE.iter().for_each(|step| expected.note(*step, true));
        let mut template = Self { directory, expected, calls: BTreeMap::new() };
        template.count();
        template
    }

    fn copy(&self) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        copy(&self.directory.path().join("store"), &directory.path().join("store"));
        directory
    }

    /// A run in which nothing fails.
    fn count(&mut self) {
        let directory = self.copy();
        let log = directory.path().join("calls");
        let names: Vec<String> = CALLS.iter().map(|call| format!("?{call}")).collect();
        let trace = format!("trace={}", names.join(","));
        let strace = ["-y", "-o", log.to_str().unwrap(), "-e", &trace].map(str::to_owned);
        let (status, said) = shell(directory.path(), DURING, &strace);
        assert!(status.unwrap().success() && acknowledged(&said, DURING).iter().all(|done| *done), "{said}");
        let store = directory.path().join("store").to_str().unwrap().to_owned();
        let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
        let text = String::from_utf8_lossy(&fs::read(&log).unwrap()).into_owned();
        for line in text.lines() {
            let Some((pid, rest)) = line.split_once(' ') else { continue };
            let name = rest.trim_start().split('(').next().unwrap_or_default();
            let Some(call) = CALLS.iter().find(|call| **call == name) else { continue };
            let n = counts.entry((pid, call)).or_default();
            *n += 1;
            if line.contains(&store) {
                self.calls.entry(call).or_default().insert(*n);
            }
        }
        assert!(self.calls.len() > 5, "{:?}: {text}", self.calls);
    }

    fn faults(&self) -> Vec<Fault> {
        let places = self.calls.iter().flat_map(|(call, all)| all.iter().map(move |n| (*call, *n)));
        let of = |(call, n)| {
            let ways = [("EIO", false), ("EIO", true), ("ENOSPC", false), ("ENOSPC", true)];
            let interrupted = INTERRUPTED.contains(&call).then_some(("EINTR", false));
            ways.into_iter().chain(interrupted).map(move |(errno, forever)| Fault { call, n, errno, forever })
        };
        places.flat_map(of).collect()
    }

    fn try_one(&self, fault: Fault, tally: &mut Tally) {
        let directory = self.copy();
        let Fault { call, n, errno, forever } = fault;
        let inject = format!("inject={call}:error={errno}:when={n}{}", if forever { "+" } else { "" });
        let strace = ["-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject].map(str::to_owned);
        let (status, said) = shell(directory.path(), DURING, &strace);
        // A number of another thread's: in the first one it was the loader's, and nothing has begun.
        if said.contains("error while loading shared libraries") {
            return;
        }
        tally.tried += 1;
        let mut bad = |kind: fn(&mut Tally) -> &mut u64, what: String| {
            *kind(tally) += 1;
            tally.first.push(format!("{fault:?}: {what}"));
        };
        // Its own statuses: all is well, or not.
        if status.and_then(|status| status.code()).is_none_or(|code| code >= 100) || said.contains("panicked at") {
            bad(|tally| &mut tally.wrong, format!("ended by {status:?}: {}", shortened(&said)));
        }
        let (mut expected, done) = (self.expected.clone(), acknowledged(&said, DURING));
        DURING.iter().zip(&done).for_each(|(step, done)| expected.note(*step, *done));
        // Of a reserve that was not made, the log alone would tell.
        if errno == "EINTR" && (done.contains(&false) || said.contains("Interrupted")) {
            bad(|tally| &mut tally.wrong, format!("it was not made again: {}", shortened(&said)));
        }
        if let Err(e) = judge(&directory.path().join("store"), &expected, &mut bad) {
            bad(|tally| &mut tally.lost, format!("the next start: {e}"));
        }
        let count = |which: bool| done.iter().filter(|done| **done == which).count() as u64;
        tally.acknowledged += count(true);
        tally.refused += count(false);
    }
}

fn shortened(said: &str) -> String {
    said.lines().map(|line| line.chars().take(200).collect::<String>() + "\n").collect()
}

/// Opens the store, where nothing fails any more, and looks at all of it.
fn judge(
    store: &Path,
    expected: &Expected,
    bad: &mut dyn FnMut(fn(&mut Tally) -> &mut u64, String),
) -> cellfs::Result<()> {
    let store = Store::open(StoreOptions::new(PathBuf::from(store)))?;
    let table = TableName::parse("t").unwrap();
    for (name, states) in &expected.0 {
        let column = ColumnKey { table: table.clone(), row: "r".into(), family: "f".into(), qualifier: (*name).into() };
        let cell = store.newest(&column, TimeRange::ALL)?;
        let found = cell.map(|cell| store.read_value(&cell, 0, usize::MAX)).transpose()?;
        if states.contains(&found) {
            continue;
        }
        let is_value = found.as_ref().is_none_or(|found| *found == value(name, found.len()));
        let lens = |state: &Option<Vec<u8>>| state.as_ref().map(Vec::len);
        let what = format!("{name} is {:?}, not of {:?}", lens(&found), states.iter().map(lens).collect::<Vec<_>>());
        bad(if is_value { |tally| &mut tally.lost } else { |tally| &mut tally.wrong }, what);
    }
    let mut findings = Vec::new();
    let summary = store.check(&mut |event| {
        findings.push(format!("{event:?}"));
        Ok(())
    })?;
    if summary.damages > 0 {
        bad(|tally| &mut tally.wrong, format!("damages: {findings:?}"));
    }
    store.close()
}

#[test]
fn torture_system_calls_that_fail_lose_nothing_that_was_acknowledged() {
    if !can_fail_calls() {
        return;
    }
    let began = Instant::now();
    let template = Template::new();
    let mut faults = template.faults();
    if !std::env::var("CELLFS_TORTURE").is_ok_and(|form| form == "full") {
        // Odd, so that all four ways have their turn.
        faults = faults.iter().step_by((faults.len() / FEW) | 1).copied().collect();
    }
    let (tallies, next) = (Mutex::new(BTreeMap::<&str, Tally>::new()), AtomicUsize::new(0));
    let work = || {
        while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut tally = Tally::default();
            template.try_one(*fault, &mut tally);
            let mut tallies = tallies.lock().unwrap();
            let sum = tallies.entry(fault.call).or_default();
            sum.tried += tally.tried;
            sum.refused += tally.refused;
            sum.acknowledged += tally.acknowledged;
            sum.lost += tally.lost;
            sum.wrong += tally.wrong;
            sum.first.extend(tally.first);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let tallies = tallies.into_inner().unwrap();
    for (call, tally) in &tallies {
        println!(
            "failed system calls, {call}: {} tried, {} statements acknowledged, {} refused, {} lost, {} wrong",
            tally.tried, tally.acknowledged, tally.refused, tally.lost, tally.wrong
        );
    }
    let tried: u64 = tallies.values().map(|tally| tally.tried).sum();
    println!("failed system calls: {tried} tried; {} s", began.elapsed().as_secs());
    let all: Vec<&String> = tallies.values().flat_map(|tally| &tally.first).collect();
    assert!(all.is_empty(), "{all:#?}");
    assert!(tallies.values().any(|tally| tally.refused > 0), "the rig makes nothing fail: {tallies:#?}");
}
