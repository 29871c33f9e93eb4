//! A disk that is almost full: what is still written, and room that is made when somebody needs it.
//!
//! First nothing is written that only takes room; then nothing is deleted either, before what was deleted so far has
//! made room: what is in memory goes into extents, and the tables are compacted as on request.

use crate::store::engine::Engine;
use crate::store::engine::disk_room::Prospect;
use crate::store::options::Background;
use crate::store::space::{level, reserve};
use crate::{Error, ErrorKind, Result};

/// A delete has room looked for so often. What is held by a reader, or is just being written, is found the next time.
const DELETE_ROUNDS: u32 = 3;

/// A flush for which there was no room, reserve and all, lets nothing more be written.
pub fn note_flush(engine: &Engine, flushed: &Result<()>) {
    if flushed.as_ref().is_err_and(|e| e.kind == ErrorKind::NoSpace) {
        level::note_full(engine);
        engine.disk.set_out(engine.disk.is_short());
    }
}

/// Before something is written, with no lock held: waits for room that can be made on a full disk. `takes_room`:
/// it is no delete.
pub fn await_room(engine: &Engine, takes_room: bool) {
    if engine.disk.is_due() {
        reserve::look_at_room(engine);
    }
    let rounds = if takes_room { 1 } else { DELETE_ROUNDS };
    for round in 0..rounds {
        let is_missing = engine.disk.is_out() || takes_room && engine.disk.is_short();
        if !is_missing || !await_round(engine, round > 0) {
            return;
        }
    }
}

/// Waits until room was looked for once; false if there is no sense in it yet. `again`: at once.
fn await_round(engine: &Engine, again: bool) -> bool {
    let (round, until) = match engine.disk.prospect(again) {
        Prospect::Nothing => return false,
        Prospect::Room => return true,
        Prospect::Round(round, until) => (round, until),
    };
    if engine.options.background == Background::Off {
        (engine.chores.make_room)(engine);
        return true;
    }
    let _hurry = engine.hurry.up();
    // A round that has begun since is one more than is needed.
    engine.wake(|state| state.make_room = true);
    engine.disk.await_round(round, until)
}

/// Refuses so many bytes of what only takes room while there is little.
pub fn check_reserve(engine: &Engine, bytes: u64) -> Result<()> {
    let sizes = &engine.disk.sizes;
    if bytes >= sizes.look && level::available(engine) < bytes.saturating_add(sizes.flushes) {
        return Err(full(engine, bytes.saturating_add(sizes.flushes)));
    }
    if !engine.disk.is_short() {
        return Ok(());
    }
    // If it cannot be made there is no room, which is what is told.
    reserve::try_to_restore(engine);
    if engine.disk.is_short() { Err(full(engine, sizes.enough)) } else { Ok(()) }
}

/// Writes so many bytes of a value to where it stays, with no lock held; once more after room was made, if there was
/// none.
pub fn with_room<T>(engine: &Engine, bytes: u64, mut write: impl FnMut() -> Result<T>) -> Result<T> {
    check_reserve(engine, bytes)?;
    let mut written = write();
    if written.as_ref().is_err_and(|e| e.kind == ErrorKind::NoSpace) {
        level::note_full(engine);
        await_room(engine, true);
        written = check_reserve(engine, bytes).and_then(|()| write());
    }
    engine.disk.note_written(bytes, 0);
    written
}

/// Refuses even deletes while what is in memory might have no room on the disk.
pub fn check_deletes(engine: &Engine) -> Result<()> {
    if engine.disk.is_out() { Err(full_for_deletes(engine)) } else { Ok(()) }
}

/// As [`told_full`], of what takes no more room than a delete.
pub fn told_full_for_deletes(engine: &Engine, error: Error) -> Error {
    if error.kind != ErrorKind::NoSpace {
        return error;
    }
    engine.said.warn(&error.message);
    full_for_deletes(engine)
}

fn full_for_deletes(engine: &Engine) -> Error {
    let (store, needed) = (engine.options.path.display(), level::needed_by_flushes(engine).max(engine.disk.sizes.look));
    let text = format!(
        "the disk under {store} is full, and has no room left even to delete: free {} MiB of it otherwise",
        needed.div_ceil(1 << 20)
    );
    Error::new(ErrorKind::NoSpace, text)
}

/// What failed for want of room says what a refused put says.
pub fn told_full(engine: &Engine, error: Error) -> Error {
    if error.kind != ErrorKind::NoSpace {
        return error;
    }
    engine.said.warn(&error.message);
    full(engine, engine.disk.sizes.enough)
}

fn full(engine: &Engine, needed: u64) -> Error {
    let store = engine.options.path.display();
    let text = format!(
        "the disk under {store} is full: {} MiB must be free before anything more is written. Remove cells, and \
         take what is kept of them with `cellfs purge`, keep fewer VERSIONS, or free room otherwise",
        needed.div_ceil(1 << 20)
    );
    Error::new(ErrorKind::NoSpace, text)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::store::Store;
    use crate::store::options::StoreOptions;

    /// Else a flush or a write that failed before room was made lets the next write be refused after that.
    #[test]
    fn what_met_a_full_disk_that_has_room_by_now_refuses_nothing() {
        let env = Arc::new(crate::env::SimEnv::new());
        let options = StoreOptions { env, background: Background::Off, ..StoreOptions::new("/s") };
        let store = Store::open(options).unwrap();
        note_flush(&store.engine, &Err(Error::new(ErrorKind::NoSpace, "no room")));
        assert!(!store.engine.disk.is_short() && !store.engine.disk.is_out());
    }
}
