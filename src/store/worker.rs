//! The store's threads: one syncs the log at its interval, one flushes, one compacts.

use std::sync::Arc;
use std::time::Duration;

use super::Background;
use super::engine::{Engine, SignalState};
use super::open::VERIFIED_AT_ONCE;
use crate::backend::{CompactionKind, CompactionProgress, Status};
use crate::env::sync::{self, Handle, Instant};
use crate::index::Verified;
use crate::{Error, ErrorKind, Result};

/// How often the index is verified.
const VERIFY: Duration = Duration::from_hours(24);
/// How often the compactor looks by itself.
const LOOK: Duration = Duration::from_secs(60);

/// Running threads; stopped and joined by [`Workers::stop`].
pub struct Workers {
    engine: Arc<Engine>,
    threads: Vec<Handle<()>>,
}

impl Workers {
    /// Starts the threads if the options ask for them.
    pub fn start(engine: &Arc<Engine>) -> Self {
        let mut workers = Self { engine: Arc::clone(engine), threads: Vec::new() };
        if engine.options.background == Background::On {
            workers.spawn("cellfs-sync", sync_loop);
            workers.spawn("cellfs-flush", flush_loop);
            workers.spawn("cellfs-compact", compact_loop);
            workers.spawn("cellfs-verify", verify_loop);
        }
        workers
    }

    fn spawn(&mut self, name: &str, body: fn(&Engine)) {
        let engine = Arc::clone(&self.engine);
        match sync::spawn(name, move || body(&engine)) {
            Ok(thread) => self.threads.push(thread),
            Err(e) => log::error!("start the thread {name}: {e}; its work is done when asked for only"),
        }
    }

    /// Ends the threads after what they are doing now.
    pub fn stop(&mut self) {
        self.engine.wake(|state| state.stop = true);
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                log::error!("a background thread of the store panicked");
            }
        }
    }
}

/// Waits until `ready` says so, the time is up, or the store stops; whether to go on.
fn wait(engine: &Engine, time: Duration, ready: impl Fn(&mut SignalState) -> bool) -> bool {
    let until = Instant::now() + time;
    let mut state = engine.signals.state.lock();
    loop {
        if state.stop {
            return false;
        }
        if ready(&mut state) || engine.signals.changed.wait_until(&mut state, until).timed_out() {
            return !state.stop;
        }
    }
}

fn sync_loop(engine: &Engine) {
    while wait(engine, engine.options.sync_interval, |_| false) {
        if engine.log.poison().is_none() {
            note(engine, "sync the log", engine.sync_log());
            note(engine, "keep a reserve", engine.restore_reserve());
        }
    }
}

fn flush_loop(engine: &Engine) {
    while wait(engine, LOOK, |state| std::mem::take(&mut state.flush)) {
        if engine.log.poison().is_none() && !engine.tables.load().frozen.is_empty() {
            engine.signals.state.lock().flushing = true;
            let result = engine.flush_frozen();
            {
                let mut state = engine.signals.state.lock();
                state.flushing = false;
                state.flush_failed = result.as_ref().err().cloned();
            }
            if result.is_err() {
                // Not at full speed against a full disk.
                wait(engine, Duration::from_secs(1), |_| false);
            }
            note(engine, "flush", result);
            engine.wake(|state| state.compact = true);
        }
    }
}

fn compact_loop(engine: &Engine) {
    while wait(engine, LOOK, |state| state.make_room || std::mem::take(&mut state.compact)) {
        if std::mem::take(&mut engine.signals.state.lock().make_room) {
            engine.make_disk_room();
        } else if engine.log.poison().is_none() {
            note(engine, "compact", engine.compact_as_needed());
        }
    }
}

/// A small index was verified when the store was opened.
fn verify_loop(engine: &Engine) {
    let small = engine.meta.lock().cells() <= VERIFIED_AT_ONCE;
    let mut pause = if small { VERIFY } else { Duration::ZERO };
    while wait(engine, pause, |_| false) {
        let stopped = || engine.signals.state.lock().stop;
        pause = match engine.index.verify(&|| !stopped()) {
            Ok(Verified::Good) => VERIFY,
            // A sync of the index comes first.
            Ok(Verified::Stopped) => LOOK,
            Ok(Verified::Damaged(reason)) => {
                let text = format!("the index is damaged: {reason}. It is rebuilt from the log at the next start");
                note(engine, "verify the index", Err(Error::new(ErrorKind::Corrupt, text)));
                return;
            }
            Err(e) => {
                note(engine, "verify the index", Err(e));
                LOOK
            }
        };
    }
}

/// Says in the status what is going on, until it is said to be nothing.
pub fn doing(engine: &Engine, what: &str) {
    engine.signals.state.lock().activity = what.to_owned();
}

fn activity(state: &SignalState) -> String {
    let flushing = state.flushing.then(|| "flushing".to_owned());
    let compacting = state.compaction.as_ref().map(|CompactionProgress { table, family, kind, percent }| {
        let how = if *kind == CompactionKind::Major { "major compaction of" } else { "compacting" };
        format!("{how} {table}:{family} {percent} %")
    });
    let other = (!state.activity.is_empty()).then(|| state.activity.clone());
    flushing.into_iter().chain(compacting).chain(other).collect::<Vec<_>>().join(", ")
}

/// Two things to say as one.
fn joined(one: Option<String>, other: Option<String>) -> Option<String> {
    match (one, other) {
        (Some(one), Some(other)) => Some(format!("{one}; {other}")),
        (one, other) => one.or(other),
    }
}

fn note(engine: &Engine, what: &str, result: Result<()>) {
    if let Err(e) = result {
        let text = format!("{what}: {e}");
        log::error!("{text}");
        engine.signals.state.lock().last_error = Some(text);
    }
}

impl Engine {
    /// Everything that was written is on the disk when this returns.
    pub fn sync_log(&self) -> Result<()> {
        let synced = self.log.sync();
        self.witness.note_synced(self.log.synced());
        synced
    }

    /// Numbers about the store.
    pub fn status(&self) -> Result<Status> {
        let disk = self.options.env.disk_space(&self.options.path).unwrap_or_default();
        let tables = self.tables.load();
        let memtable_cells = tables.all().map(|t| t.len()).sum();
        let memtable_bytes = tables.all().map(|t| t.bytes()).sum();
        let unflushed: u64 = tables.all().map(|t| t.stored_bytes()).sum();
        let meta = self.meta.lock();
        let state = self.signals.state.lock();
        let segments = self.log.segments();
        Ok(Status {
            cells: meta.cells() + memtable_cells,
            segments: segments.ids().len() as u64,
            segment_bytes: segments.total_len(),
            live_bytes: meta.live_bytes() + unflushed,
            index_bytes: self.index.bytes(),
            memtable_cells,
            memtable_bytes,
            last_seq: self.log.written().0,
            checkpoint_seq: meta.checkpoint.seq.0,
            synced_seq: self.log.synced().0,
            flushes: meta.flushes,
            compactions: meta.compactions,
            activity: activity(&state),
            compaction: state.compaction.clone(),
            poisoned: self.log.poison(),
            last_error: joined(state.last_error.clone(), self.met.sentence()),
            damaged_reads: self.met.count(),
            expired_segments: state.expired_segments,
            disk_total: disk.total,
            disk_free: disk.free,
            disk_available: disk.available,
            disk_writable: self.disk.writable(disk.available),
        })
    }
}
