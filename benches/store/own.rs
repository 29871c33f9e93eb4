//! What this store alone is asked.

use std::path::Path;

use crate::apart;
use crate::cells;
use crate::figures::{Notes, Work, cpu_micros};
use crate::measures::random;
use crate::subjects::{Cellfs, Subject, Who};

/// Cells of a small store.
const SMALL: u64 = 100_000;
/// Bytes of keys and values, and of what comes with each cell, that the memtable is sure to hold beside the changes.
const IN_MEMORY: u64 = 24 << 20;
const BESIDE_A_CELL: u64 = 128;
/// A memtable that is as good as full.
const FULL: u64 = 30 << 20;
/// Changes of each kind at most.
const CHANGES: u64 = 50_000;

/// What fits into the memtable.
pub fn unflushed(dir: &Path, count: u64, notes: &mut Notes<'_>) {
    let fits = IN_MEMORY / ((cells::KEY + *cells::VALUE) as u64 + BESIDE_A_CELL);
    let count = count.min(SMALL).min(fits) / cells::COLUMNS * cells::COLUMNS;
    let subject = Cellfs::create(dir);
    let work = Work::begin();
    (0..count).for_each(|n| subject.put(cells::shuffled(n, count)));
    notes.note("puts, burst", count as f64 / work.seconds() / 1e3);
    let newest = |n| assert_eq!(subject.newest(random(n, count)), *cells::VALUE);
    notes.note("newest, value, unflushed", cpu_micros(50_000, newest));
    let work = Work::begin();
    assert_eq!(subject.scan(), count);
    notes.note("scan, values, unflushed", count as f64 / work.seconds() / 1e3);
    let (work, rows) = (Work::begin(), subject.rows().unwrap_or_default());
    notes.note("listing, a row, unflushed", work.seconds() * 1e6 / rows as f64);
    changes(&subject, count, ["unlink", "rename"], notes);
}

/// A start after a kill with as much in the log as there can be.
pub fn full_log(dir: &Path, notes: &mut Notes<'_>) {
    let cells = apart::fill(dir);
    let opened = apart::recover(Who::Cellfs, dir, 0);
    notes.note("open with a full log", opened.millis);
    notes.note("replay of a full log", cells as f64 / opened.millis / 1e3);
    notes.note("memory after it", opened.mib);
}

/// Puts until the memtable is nearly full; its cells.
pub fn fill(subject: &Cellfs) -> u64 {
    const STEP: u64 = 100;
    let mut n = 0;
    while n < 2 * SMALL && subject.memory().bytes < FULL {
        (n..n + STEP).for_each(|n| subject.put(n));
        n += STEP;
    }
    subject.memory().cells
}

fn changes(subject: &Cellfs, count: u64, names: [&'static str; 2], notes: &mut Notes<'_>) {
    let some = (count / 20).min(CHANGES);
    notes.note(names[0], cpu_micros(some, |n| subject.unlink(cells::shuffled(n, count))));
    notes.note(names[1], cpu_micros(some, |n| subject.rename(cells::shuffled(n + some, count))));
}

/// Changes of what was flushed; then a start with one of the two copies of the journal.
pub fn changes_and_mending(dir: &Path, count: u64, notes: &mut Notes<'_>) {
    let subject = Cellfs::open(dir);
    changes(&subject, count, ["unlink, flushed", "rename, flushed"], notes);
    Box::new(subject).close();
    for entry in std::fs::read_dir(dir.join("edits")).expect("list").flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "edits") {
            std::fs::remove_file(entry.path()).expect("remove a copy");
        }
    }
    notes.note("restart, half a journal", apart::mend(Who::Cellfs, dir, count / 2).millis);
}
