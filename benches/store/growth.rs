//! How much more a cell costs among all that there are than in a small store.

use std::path::Path;

use crate::disk::warm;
use crate::figures::{Figures, Notes};
use crate::measures::{cold, load, reads};

/// Cells of the small store.
const SMALL: u64 = 100_000;

/// What grows, the line that it is about, and the power of it that a time has.
const LINES: [(&str, &str, i32); 5] = [
    ("growth of a put", "puts, settled", -1),
    ("growth of a get", "newest, value", 1),
    ("growth of a first row", "first row of a scan", 1),
    ("growth of a listing", "listing, a row", 1),
    ("growth of a cold get", "newest, value, cold", 1),
];

/// Compares what was noted last with a small store.
pub fn growth(dir: &Path, count: u64, notes: &mut Notes<'_>) {
    if count <= SMALL {
        return;
    }
    let who = notes.who;
    let mut figures = Figures::default();
    let mut small = figures.of(who);
    let subject = who.create(dir);
    load(&*subject, SMALL, &mut small);
    subject.close();
    small.note("newest, value, cold", cold(who, dir, SMALL));
    warm(dir);
    reads(&*who.open(dir), SMALL, &mut small);
    for (growth, line, power) in LINES {
        if let Some((all, few)) = notes.last(line).zip(small.last(line)) {
            notes.note(growth, (all / few).powi(power));
        }
    }
}
