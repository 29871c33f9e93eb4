//! Room in memory for what is written: the next memtable, and the wait for a flush.

use super::{reserve, room};
use crate::ErrorKind;
use crate::Result;
use crate::store::engine::Engine;
use crate::store::options::Background;

/// Frozen memtables at most; past it writers wait for the flush.
const FROZEN: usize = 2;

/// Waits until disk and memtable have room; `takes_room`: what is to be written is no delete.
pub fn make_room(engine: &Engine, takes_room: bool) -> Result<()> {
    room::await_room(engine, takes_room);
    let is_full = || engine.views.now().tables.active.bytes() >= engine.options.memtable_bytes;
    if !is_full() {
        return Ok(());
    }
    let has_threads = engine.options.background == Background::On;
    let mut held = engine.backlog.lock();
    while engine.tables().frozen.len() >= FROZEN {
        if !has_threads {
            drop(held);
            (engine.chores.flush_frozen)(engine)?;
            held = engine.backlog.lock();
            continue;
        }
        // Who flushes ends with the store.
        engine.go_on()?;
        room::check_deletes(engine)?;
        let failed = engine.signals.state.lock().flush_failed.clone();
        if let Some(e) = failed.filter(|e| e.kind != ErrorKind::NoSpace) {
            return Err(e.context("what was written before cannot be flushed"));
        }
        engine.wake(|state| state.flush = true);
        engine.backlog.await_less(&mut held);
    }
    if is_full() {
        freeze(engine)?;
        engine.wake(|state| state.flush = true);
    }
    drop(held);
    if has_threads { Ok(()) } else { (engine.chores.flush_frozen)(engine) }
}

/// Starts a new memtable and a new file of the log, if the present one has cells.
pub fn freeze(engine: &Engine) -> Result<()> {
    if engine.tables().active.is_empty() {
        return Ok(());
    }
    // It begins the flush that makes room.
    let frozen = reserve::with_reserve(engine, || {
        loop {
            if engine.log.needs_spare() {
                engine.log.make_spare(engine.structure.next_number()?)?;
            }
            let edit = engine.layout().state.edit;
            if engine.log.roll(edit, |last| engine.views.freeze(last))?.is_some() {
                return Ok(());
            }
        }
    });
    frozen.map_err(|e| room::told_full(engine, e))
}
