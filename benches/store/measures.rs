//! What every subject is asked.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::cells;
use crate::disk::{bytes_in, forget};
use crate::figures::{Notes, Work, cpu_micros, micros};
use crate::subjects::{Subject, Who};

/// Threads that put durably.
const WRITERS: u64 = 8;
/// Reads of a store that is cold.
const COLD_READS: u64 = 2000;
/// A store in which nothing has gone on for so long is settled; it is given so long.
const QUIET: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(300);

/// Fills a new store and waits until it is settled.
pub fn load(subject: &dyn Subject, count: u64, notes: &mut Notes<'_>) {
    let mut longest = 0_f64;
    let work = Work::begin();
    for n in 0..count {
        let before = Instant::now();
        subject.put(cells::shuffled(n, count));
        longest = longest.max(before.elapsed().as_secs_f64());
    }
    settle(subject);
    notes.note("puts, settled", count as f64 / work.seconds() / 1e3);
    notes.note("longest put", longest * 1e3);
}

/// Returns when what was written has found its place and nothing goes on behind.
pub fn settle(subject: &dyn Subject) {
    subject.flush();
    let started = Instant::now();
    let mut since = started;
    while since.elapsed() < QUIET {
        std::thread::sleep(Duration::from_millis(10));
        if !subject.is_idle() {
            since = Instant::now();
        }
        if started.elapsed() > PATIENCE {
            return eprintln!("something still goes on after {} s; it is measured all the same", PATIENCE.as_secs());
        }
    }
}

/// Microseconds by the clock of a read from a store that was just opened, with nothing of it in memory.
pub fn cold(who: Who, dir: &Path, count: u64) -> f64 {
    forget(dir);
    let subject = who.open(dir);
    micros(COLD_READS.min(count), |n| assert_eq!(subject.newest(random(n, count)), *cells::VALUE))
}

/// Reads, a compaction and durable puts, of a store that was filled.
pub fn measure(subject: &dyn Subject, dir: &Path, count: u64, notes: &mut Notes<'_>) {
    reads(subject, count, notes);
    let work = Work::begin();
    assert_eq!(subject.scan(), count);
    notes.note("scan, values", count as f64 / work.seconds() / 1e3);
    let data = (count * (cells::KEY + *cells::VALUE) as u64) as f64;
    notes.note("disk / data", bytes_in(dir) as f64 / data);
    let work = Work::begin();
    subject.compact();
    notes.note("major compaction", work.seconds());
    settle(subject);
    notes.note("disk / data, compacted", bytes_in(dir) as f64 / data);
    durable(subject, count, notes);
}

/// Single cells and rows, and names where there are any, of a store that has been read from for a while.
pub fn reads(subject: &dyn Subject, count: u64, notes: &mut Notes<'_>) {
    let reads = count.min(100_000);
    let newest = |n| assert_eq!(subject.newest(random(n, count)), *cells::VALUE);
    (0..reads / 4).for_each(|n| newest(n + reads));
    notes.note("newest, value", cpu_micros(reads, newest));
    if subject.len_of(0).is_some() {
        let stat = |n| assert_eq!(subject.len_of(random(n, count)), Some(*cells::VALUE as u64));
        notes.note("newest, no value", cpu_micros(reads, stat));
    }
    let first = |n| assert_eq!(subject.first_row(random(n, count)), cells::COLUMNS);
    notes.note("first row of a scan", cpu_micros(reads / cells::COLUMNS, first));
    let work = Work::begin();
    if let Some(rows) = subject.rows() {
        assert_eq!(rows, count / cells::COLUMNS);
        notes.note("listing, a row", work.seconds() * 1e6 / rows as f64);
    }
}

fn durable(subject: &dyn Subject, count: u64, notes: &mut Notes<'_>) {
    let each = 250;
    let started = Instant::now();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            scope.spawn(move || (0..each).for_each(|n| subject.put_durably(random(writer * each + n, count))));
        }
    });
    notes.note("durable puts, 8 writers", (WRITERS * each) as f64 / started.elapsed().as_secs_f64() / 1e3);
}

/// The n-th of cells that are drawn, the same ones each time.
pub fn random(n: u64, count: u64) -> u64 {
    cells::shuffled(n.wrapping_mul(7919) % count, count)
}
