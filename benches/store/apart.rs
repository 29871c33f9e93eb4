//! What needs a process of its own: how long a store takes to open and what memory it has then, and a store as a kill
//! leaves it.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use nix::sys::signal::{Signal, raise};

use crate::own;
use crate::subjects::{Cellfs, Subject, Who};

/// A store is opened, read and closed; opened, read and left; a new one is filled and left.
const OPEN: &str = "--open";
const LOOK: &str = "--look";
const FILL: &str = "--fill";

/// Times that a store is opened.
const TIMES: usize = 3;

/// Of a store that was opened and has read a cell.
pub struct Opened {
    pub millis: f64,
    pub mib: f64,
}

/// Opens a store that was closed, and reads a cell: the median of a few times.
pub fn open(who: Who, dir: &Path, cell: u64) -> Opened {
    median(OPEN, who, dir, cell)
}

/// Opens a store that has to mend something first, and reads a cell.
pub fn mend(who: Who, dir: &Path, cell: u64) -> Opened {
    once(OPEN, who, dir, cell)
}

/// Opens a store that a kill has left and reads a cell, and leaves it as it was.
pub fn recover(who: Who, dir: &Path, cell: u64) -> Opened {
    median(LOOK, who, dir, cell)
}

fn median(job: &str, who: Who, dir: &Path, cell: u64) -> Opened {
    let mut opened: Vec<Opened> = (0..TIMES).map(|_| once(job, who, dir, cell)).collect();
    opened.sort_by(|one, other| one.millis.total_cmp(&other.millis));
    opened.swap_remove(TIMES / 2)
}

fn once(job: &str, who: Who, dir: &Path, cell: u64) -> Opened {
    match run(job, who, dir, cell).as_slice() {
        [millis, mib] => Opened { millis: *millis, mib: *mib },
        _ => panic!("{} was not opened", who.name()),
    }
}

/// Makes a store whose memtable and log are as good as full, and kills who has made it; the cells of it.
pub fn fill(dir: &Path) -> u64 {
    run(FILL, Who::Cellfs, dir, 0).first().copied().expect("a number of cells") as u64
}

/// The numbers that another process tells.
fn run(job: &str, who: Who, dir: &Path, cell: u64) -> Vec<f64> {
    let program = std::env::current_exe().expect("own path");
    let mut command = Command::new(program);
    command.args([job, who.name()]).arg(dir).arg(cell.to_string());
    let text = String::from_utf8(command.output().expect("run").stdout).expect("text");
    text.split_whitespace().map(|word| word.parse().expect("a number")).collect()
}

/// Whether this process is such a one; then it has done its job.
pub fn is_one() -> bool {
    let args: Vec<String> = std::env::args().collect();
    let [_, job, who, dir, cell] = args.as_slice() else { return false };
    let Some(who) = Who::named(who) else { return false };
    let (dir, cell) = (dir.as_ref(), cell.parse().expect("a number"));
    match job.as_str() {
        OPEN => tell(who, dir, cell).close(),
        LOOK => end_at_once(tell(who, dir, cell)),
        _ => {
            let subject = Cellfs::create(dir);
            println!("{}", own::fill(&subject));
            end_at_once(Box::new(subject));
        }
    }
    true
}

/// As a kill does: nothing of the store is closed.
fn end_at_once(_open: Box<dyn Subject>) {
    raise(Signal::SIGKILL).expect("end");
}

fn tell(who: Who, dir: &Path, cell: u64) -> Box<dyn Subject> {
    // What is loaded for it is no part of it.
    assert!(who.lack().is_none());
    let started = Instant::now();
    let subject = who.open(dir);
    subject.newest(cell);
    let millis = started.elapsed().as_secs_f64() * 1e3;
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    println!("{millis} {}", kib / 1024.0);
    subject
}
