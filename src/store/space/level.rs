//! How much of the disk is free, and for what that is enough.

use crate::store::engine::Engine;
use crate::{Error, ErrorKind};

/// Free bytes of the disk for what only takes room: what everybody may use, so that it is refused where `df` says that
/// there is no more. Very many if nobody can say.
pub fn available(engine: &Engine) -> u64 {
    engine.options.env.disk_space(&engine.options.path).map_or(u64::MAX, |space| space.available)
}

/// Free bytes for what makes room in the end: a share of this process alone among them, which gets what comes back first
/// on a full disk.
pub fn usable(engine: &Engine) -> u64 {
    engine.options.env.disk_space(&engine.options.path).map_or(u64::MAX, |space| space.usable)
}

/// Bytes that what is in memory may take on the disk, and what is written before the next look.
pub fn needed_by_flushes(engine: &Engine) -> u64 {
    let in_memory: u64 = engine.tables().all().map(|table| table.bytes()).sum();
    let (sizes, most) = (&engine.disk.sizes, 3 * engine.options.memtable_bytes.max(1));
    let needed = u128::from(sizes.flushes) * u128::from(in_memory) / u128::from(most);
    u64::try_from(needed).unwrap_or(u64::MAX).min(sizes.flushes)
}

/// From now on nothing is written that only takes room.
pub fn run_short(engine: &Engine) {
    if !engine.disk.begins_short() {
        return;
    }
    engine.said.warn(&format!("the disk under {} is full", engine.options.path.display()));
    // What was deleted is made room of. Once: a compaction that finds no room would begin the next one.
    engine.wake(|state| state.compact = true);
}

/// Others may have filled the disk: what `status` and `df` say then is what a write meets.
pub fn notice_others(engine: &Engine) {
    if !engine.disk.is_short() && available(engine) < engine.disk.sizes.least {
        run_short(engine);
    }
}

/// Something met a full disk. Where there is room again by now, that was made meanwhile.
pub fn note_full(engine: &Engine) {
    if available(engine) < engine.disk.sizes.enough {
        run_short(engine);
    }
}

/// As [`note_full`], if that is what has failed.
pub fn note_if_full(engine: &Engine, error: &Error) {
    if error.kind == ErrorKind::NoSpace {
        note_full(engine);
    }
}
