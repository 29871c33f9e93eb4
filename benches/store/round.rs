//! A round of one subject, in fresh stores.

use std::path::Path;

use crate::apart;
use crate::disk::warm;
use crate::figures::Notes;
use crate::growth::growth;
use crate::measures::{cold, load, measure};
use crate::own;
use crate::subjects::Who;

/// All that is measured of it, in directories below this one.
pub fn round(dir: &Path, count: u64, notes: &mut Notes<'_>) {
    let who = notes.who;
    if who == Who::Cellfs {
        own::unflushed(&dir.join("unflushed"), count, notes);
        own::full_log(&dir.join("full"), notes);
    }
    let store = dir.join("store");
    let subject = who.create(&store);
    load(&*subject, count, notes);
    if let Some(seconds) = subject.snapshot(&dir.join("checkpoint")) {
        notes.note("snapshot", seconds * 1e3);
    }
    subject.close();
    let opened = apart::open(who, &store, count / 2);
    notes.note("restart", opened.millis);
    notes.note("memory, flushed", opened.mib);
    notes.note("newest, value, cold", cold(who, &store, count));
    warm(&store);
    measure(&*who.open(&store), &store, count, notes);
    if who == Who::Cellfs {
        own::changes_and_mending(&store, count, notes);
    }
    growth(&dir.join("small"), count, notes);
}
