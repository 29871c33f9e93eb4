//! The embedded store beside SQLite as it comes and fjall: in one run, round by round, on one processor.
//!
//! Puts, reads, scans, listings and compactions are told by the processor time of the process, threads behind it included,
//! so that other work on the machine counts little; what is said to wait is told by the clock. All subjects have the
//! allocator of the program.
//!
//! `cargo bench --bench store` prints medians and ratios. CELLFS_BENCH_CELLS (1,000,000),
//! CELLFS_BENCH_ROUNDS (3) and CELLFS_BENCH_ONLY (cellfs: without the peers) change its size, CELLFS_BENCH_VALUE (100) the
//! bytes of a value, which CELLFS_BENCH_TEXT makes words.

#![allow(clippy::disallowed_types, reason = "a benchmark is not simulated")]
#![allow(clippy::expect_used, reason = "a benchmark that cannot go on says where")]

mod cells;
mod subjects;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use nix::time::{ClockId, clock_gettime};
use subjects::{Cellfs, Fjall, Sqlite, Subject};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const NAMES: [&str; 3] = ["cellfs", "SQLite", "fjall"];
/// Threads that put durably.
const WRITERS: u64 = 8;

/// Figures by name and subject, one for each round.
type Figures = BTreeMap<(&'static str, usize), Vec<f64>>;

/// A line of the table: what is measured, whose figure it is compared with, and the ratio to reach.
struct Line {
    name: &'static str,
    unit: &'static str,
    peer: usize,
    goal: &'static str,
}

const fn line(name: &'static str, unit: &'static str, peer: usize, goal: &'static str) -> Line {
    Line { name, unit, peer, goal }
}

const LINES: [Line; 22] = [
    line("puts, settled", "1000/cpu s", 2, ">= 1.5x"),
    line("puts, burst", "1000/cpu s", 2, ""),
    line("longest put", "ms", 2, ""),
    line("durable puts, 8 writers", "1000/s", 1, ">= 8x"),
    line("newest, value, unflushed", "cpu us", 1, ""),
    line("newest, value", "cpu us", 1, "<= 1.6x"),
    line("newest, no value", "cpu us", 1, ""),
    line("scan, values, unflushed", "1000/cpu s", 2, ""),
    line("scan, values", "1000/cpu s", 2, ">= 1.2x"),
    line("listing, a row, unflushed", "cpu us", 0, "< 0.6 us"),
    line("listing, a row", "cpu us", 0, "< 0.6 us"),
    line("rename", "cpu us", 0, ""),
    line("unlink", "cpu us", 0, ""),
    line("unlink, flushed", "cpu us", 0, ""),
    line("rename, flushed", "cpu us", 0, ""),
    line("disk / data", "x", 0, ""),
    line("disk / data, compacted", "x", 0, "<= 1.6x"),
    line("major compaction", "cpu s", 2, ""),
    line("open with a full log", "ms", 0, "< 2000 ms"),
    line("memory after it", "MiB", 0, "< 150 MiB"),
    line("memory, flushed", "MiB", 0, "< 150 MiB"),
    line("open, flushed", "ms", 0, "<= 100 ms"),
];

/// Processor time that the process has used.
struct Work(std::time::Duration);

impl Work {
    fn begin() -> Self {
        Self(Self::used())
    }

    fn used() -> std::time::Duration {
        clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("a clock").into()
    }

    fn seconds(&self) -> f64 {
        (Self::used() - self.0).as_secs_f64()
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let [_, flag, dir, cell] = args.as_slice()
        && flag == "--open"
    {
        return open_and_tell(dir.as_ref(), cell.parse().expect("a number"));
    }
    pin_to_first_processor();
    let count = setting("CELLFS_BENCH_CELLS", 1_000_000);
    let subjects = if std::env::var("CELLFS_BENCH_ONLY").is_ok() { 1 } else { NAMES.len() };
    let mut figures = Figures::new();
    for _ in 0..setting("CELLFS_BENCH_ROUNDS", 3) {
        for at in 0..subjects {
            let dir = tempfile::tempdir_in(".").expect("a directory");
            let mut note = |name, figure| figures.entry((name, at)).or_default().push(figure);
            round(at, &dir.path().join("store"), count, &mut note);
        }
    }
    print(&figures, count);
}

fn pin_to_first_processor() {
    let mut set = nix::sched::CpuSet::new();
    let pinned = set.set(0).and_then(|()| nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &set));
    if let Err(e) = pinned {
        eprintln!("not pinned to one processor ({e}): the figures will vary");
    }
}

/// Everything that is measured of one subject, in a fresh store.
fn round(at: usize, dir: &Path, count: u64, note: &mut dyn FnMut(&'static str, f64)) {
    match at {
        0 => {
            small_round(&dir.with_extension("small"), count.min(100_000), note);
            let subject = Cellfs::create(dir);
            load(&subject, count, note);
            note("memory, flushed", memory_of(dir, count, subject).1);
            note("open, flushed", tell(dir, count / 2).0);
            let subject = Cellfs::open(dir);
            measure(&subject, dir, count, note);
            changes(&subject, count, ["unlink, flushed", "rename, flushed"], note);
        }
        1 => {
            let subject = Sqlite::create(dir);
            load(&subject, count, note);
            measure(&subject, dir, count, note);
        }
        _ => {
            let subject = Fjall::create(dir);
            load(&subject, count, note);
            measure(&subject, dir, count, note);
        }
    }
}

/// What fits into the memtable.
fn small_round(dir: &Path, count: u64, note: &mut dyn FnMut(&'static str, f64)) {
    let subject = Cellfs::create(dir);
    let work = Work::begin();
    (0..count).for_each(|n| subject.put(cells::shuffled(n, count)));
    note("puts, burst", count as f64 / work.seconds() / 1e3);
    note("newest, value, unflushed", micros(50_000, |n| assert_eq!(subject.newest(random(n, count)), *cells::VALUE)));
    let work = Work::begin();
    assert_eq!(subject.scan(), count);
    note("scan, values, unflushed", count as f64 / work.seconds() / 1e3);
    let work = Work::begin();
    let rows = subject.rows().unwrap_or_default();
    note("listing, a row, unflushed", work.seconds() * 1e6 / rows as f64);
    changes(&subject, count, ["unlink", "rename"], note);
    let (open, memory) = memory_of(dir, count, subject);
    note("open with a full log", open);
    note("memory after it", memory);
}

fn changes(subject: &Cellfs, count: u64, names: [&'static str; 2], note: &mut dyn FnMut(&'static str, f64)) {
    let some = count / 20;
    note(names[0], micros(some, |n| subject.unlink(cells::shuffled(n, count))));
    note(names[1], micros(some, |n| subject.rename(cells::shuffled(n + some, count))));
}

fn load(subject: &dyn Subject, count: u64, note: &mut dyn FnMut(&'static str, f64)) {
    let mut longest = 0_f64;
    let work = Work::begin();
    for n in 0..count {
        let before = Instant::now();
        subject.put(cells::shuffled(n, count));
        longest = longest.max(before.elapsed().as_secs_f64());
    }
    subject.settle();
    note("puts, settled", count as f64 / work.seconds() / 1e3);
    note("longest put", longest * 1e3);
}

fn measure<S: Subject + 'static>(subject: &S, dir: &Path, count: u64, note: &mut dyn FnMut(&'static str, f64)) {
    let reads = count.min(100_000);
    note("newest, value", micros(reads, |n| assert_eq!(subject.newest(random(n, count)), *cells::VALUE)));
    if let Some(cellfs) = (subject as &dyn std::any::Any).downcast_ref::<Cellfs>() {
        note("newest, no value", micros(reads, |n| assert_eq!(cellfs.stat(random(n, count)), *cells::VALUE as u64)));
    }
    let work = Work::begin();
    assert_eq!(subject.scan(), count);
    note("scan, values", count as f64 / work.seconds() / 1e3);
    let work = Work::begin();
    if let Some(rows) = subject.rows() {
        note("listing, a row", work.seconds() * 1e6 / rows as f64);
    }
    let data = (count * (cells::KEY + *cells::VALUE) as u64) as f64;
    note("disk / data", bytes_in(dir) as f64 / data);
    let work = Work::begin();
    subject.compact();
    note("major compaction", work.seconds());
    note("disk / data, compacted", bytes_in(dir) as f64 / data);
    durable(subject, count, note);
}

fn durable(subject: &dyn Subject, count: u64, note: &mut dyn FnMut(&'static str, f64)) {
    let each = 250;
    let started = Instant::now();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || (0..each).for_each(|n| subject.put_durably(random(writer * each + n, count))));
        }
    });
    note("durable puts, 8 writers", (WRITERS * each) as f64 / started.elapsed().as_secs_f64() / 1e3);
}

fn random(n: u64, count: u64) -> u64 {
    cells::shuffled(n.wrapping_mul(7919) % count, count)
}

fn micros(times: u64, mut each: impl FnMut(u64)) -> f64 {
    let work = Work::begin();
    (0..times).for_each(&mut each);
    work.seconds() * 1e6 / times as f64
}

fn bytes_in(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let sizes = entries.map(|entry| match entry.metadata() {
        // Blocks: what is reserved but not written does not count twice.
        Ok(meta) if meta.is_file() => std::os::unix::fs::MetadataExt::blocks(&meta) * 512,
        _ => bytes_in(&entry.path()),
    });
    sizes.sum()
}

/// Milliseconds until a process of its own has opened the store and read a cell, and its MiB then.
fn memory_of(dir: &Path, count: u64, subject: Cellfs) -> (f64, f64) {
    // As a kill leaves it: without closing, the log is as it was.
    drop(subject);
    tell(dir, count / 2)
}

fn tell(dir: &Path, cell: u64) -> (f64, f64) {
    let program = std::env::current_exe().expect("own path");
    let output = std::process::Command::new(program).arg("--open").arg(dir).arg(cell.to_string()).output();
    let text = String::from_utf8(output.expect("run").stdout).expect("text");
    let mut numbers = text.split_whitespace().map(|word| word.parse().expect("a number"));
    (numbers.next().expect("a time"), numbers.next().expect("a size"))
}

fn open_and_tell(dir: &Path, cell: u64) {
    let started = Instant::now();
    let subject = Cellfs::open(dir);
    subject.stat(cell);
    let millis = started.elapsed().as_secs_f64() * 1e3;
    let status = std::fs::read_to_string("/proc/self/status").expect("status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    println!("{millis} {}", kib / 1024.0);
}

fn print(figures: &Figures, count: u64) {
    let (len, kind) = (*cells::VALUE, if *cells::IS_TEXT { "text" } else { "random" });
    println!(
        "{count} cells, ten a row, 40-byte keys, {len} bytes of {kind}; one processor; medians; `cpu`: processor time"
    );
    println!("{:<28} {:>10} {:>9} {:>9} {:>9}   ratio      goal", "", "", NAMES[0], NAMES[1], NAMES[2]);
    for Line { name, unit, peer, goal } in LINES {
        let [own, sqlite, fjall] = [0, 1, 2].map(|at| median(figures.get(&(name, at))));
        let shown = [own, sqlite, fjall].map(|f| f.map_or("-".into(), |f| format!("{f:.2}")));
        let beside = if peer == 0 { None } else { [own, sqlite, fjall][peer] };
        let ratio =
            own.zip(beside).map_or(String::new(), |(own, other)| format!("{:.2}x {}", own / other, NAMES[peer]));
        println!("{name:<28} {unit:>10} {:>9} {:>9} {:>9}   {ratio:<14} {goal}", shown[0], shown[1], shown[2]);
    }
}

fn median(values: Option<&Vec<f64>>) -> Option<f64> {
    let mut sorted = values?.clone();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}
