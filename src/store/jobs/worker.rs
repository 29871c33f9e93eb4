//! The store's threads: one syncs the log at its interval, one flushes, one compacts, one builds secondary indexes, one
//! reads ahead at the start.

use std::sync::Arc;
use std::time::Duration;

use crate::Result;
use crate::backend::{CompactionKind, CompactionProgress, Status};
use crate::env::sync::{self, Handle, Instant};
use crate::model::SeqNo;
use crate::store::engine::Engine;
use crate::store::engine::background::signals::SignalState;
use crate::store::engine::changes::past;
use crate::store::extents::flush;
use crate::store::jobs::{build, collect, compact, make_room, prefetch};
use crate::store::options::Background;
use crate::store::read::stats;
use crate::store::recover::rescue;
use crate::store::space::{level, reserve};

/// What nobody has added to for so long,
const IDLE: Duration = Duration::from_secs(30);
/// and that takes so much memory, is flushed.
const IDLE_BYTES: u64 = 1 << 20;
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
            workers.spawn("cellfs-index", index_loop);
            if prefetch::has_to_prefetch(engine) {
                workers.spawn("cellfs-prefetch", |engine| note(engine, "prefetch", prefetch::prefetch(engine)));
            }
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
fn wait(engine: &Engine, time: Duration, mut ready: impl FnMut(&mut SignalState) -> bool) -> bool {
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
    // The last number that was written, and since when.
    let mut idle = None;
    while wait(engine, engine.options.sync_interval, |_| false) {
        if engine.log.poison().is_none() {
            note(engine, "sync the log", rescue::sync_log(engine));
            note(engine, "flush what has been idle", flush_idle(engine, &mut idle));
            if engine.structure.collect() > 0 {
                // What those files led to is nobody's any more, perhaps.
                engine.wake(|state| state.compact = true);
            }
            note(engine, "keep a reserve", reserve::restore_reserve(engine));
            past::release_past(engine);
            level::notice_others(engine);
        }
    }
}

fn flush_loop(engine: &Engine) {
    while wait(engine, LOOK, |state| std::mem::take(&mut state.flush)) {
        if engine.log.poison().is_none() && !engine.tables().frozen.is_empty() {
            engine.signals.state.lock().flushing = true;
            let result = flush::flush_frozen(engine);
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
    note(engine, "find what is dead of large values", collect::judge_blobs(engine));
    while wait(engine, LOOK, |state| state.make_room || std::mem::take(&mut state.compact)) {
        if std::mem::take(&mut engine.signals.state.lock().make_room) {
            make_room::make_disk_room(engine);
        } else if engine.log.poison().is_none() {
            note(engine, "compact", compact::compact_as_needed(engine));
        }
    }
}

fn index_loop(engine: &Engine) {
    // What was stopped in between goes on at once.
    let mut has_begun = false;
    while wait(engine, LOOK, |state| !std::mem::replace(&mut has_begun, true) | std::mem::take(&mut state.index)) {
        if engine.log.poison().is_none() && build::has_to_build(engine) {
            // What fails is told there, and tried again with the next look.
            let _ = build::build_indexes(engine);
        }
    }
}

fn activity(state: &SignalState) -> String {
    let flushing = state.flushing.then(|| "flushing".to_owned());
    let compacting = state.compaction.as_ref().map(|CompactionProgress { table, family, kind, percent }| {
        let how = if *kind == CompactionKind::Major { "major compaction of" } else { "compacting" };
        format!("{how} {table}:{family} {percent} %")
    });
    let other = (!state.activity.is_empty()).then(|| state.activity.clone());
    flushing.into_iter().chain(compacting).chain(state.building.clone()).chain(other).collect::<Vec<_>>().join(", ")
}

/// Two things to say as one.
fn joined(one: Option<String>, other: Option<String>) -> Option<String> {
    match (one, other) {
        (Some(one), Some(other)) => Some(format!("{one}; {other}")),
        (one, other) => one.or(other),
    }
}

/// Keeps what has failed for `status`, until the same is done.
fn note(engine: &Engine, what: &str, result: Result<()>) {
    let Err(e) = result else {
        let mut state = engine.signals.state.lock();
        let is_mended = |text: &mut String| text.strip_prefix(what).is_some_and(|rest| rest.starts_with(": "));
        state.last_error.take_if(is_mended);
        return;
    };
    let text = format!("{what}: {e}");
    engine.said.error(&text);
    engine.signals.state.lock().last_error = Some(text);
}

/// What is in memory and was not added to for a while becomes extents, if it is worth a file.
fn flush_idle(engine: &Engine, idle: &mut Option<(SeqNo, Instant)>) -> Result<()> {
    let tables = engine.tables();
    let now = (engine.log.written(), Instant::now());
    let (seq, since) = idle.get_or_insert(now);
    if *seq != now.0 {
        *idle = Some(now);
        return Ok(());
    }
    let is_due = since.elapsed() >= IDLE && tables.active.bytes() >= IDLE_BYTES;
    if is_due { flush::flush(engine) } else { Ok(()) }
}

/// Numbers about the store.
pub fn status(engine: &Engine) -> Result<Status> {
    if engine.options.background == Background::On {
        level::notice_others(engine);
        note(engine, "find what is dead of large values", collect::judge_blobs(engine));
    }
    let disk = engine.options.env.disk_space(&engine.options.path).unwrap_or_default();
    let (tables, layout) = (engine.tables(), engine.structure.layout());
    let memtable_cells: u64 = tables.all().map(|t| t.len()).sum();
    let memtable_bytes = tables.all().map(|t| t.bytes()).sum();
    let (segment_bytes, segments) = engine.structure.bytes();
    let blobs = engine.values.blobs.stats();
    let kept = blobs.bytes.saturating_sub(blobs.punched) + engine.log.bytes();
    collect::forget_damage(engine);
    let state = engine.signals.state.lock();
    Ok(Status {
        cells: stats::stored_cells(engine, &layout, &tables),
        segments,
        segment_bytes: segment_bytes + kept,
        live_bytes: layout.live_bytes().min(segment_bytes) + kept,
        index_bytes: 0,
        memtable_cells,
        memtable_bytes,
        last_seq: engine.log.written().0,
        checkpoint_seq: layout.state.covered.0,
        synced_seq: engine.log.synced().0,
        flushes: layout.state.flushes,
        compactions: layout.state.compactions,
        activity: activity(&state),
        reads_alone: None,
        compaction: state.compaction.clone(),
        poisoned: engine.log.poison(),
        last_error: joined(joined(state.last_error.clone(), state.unbuilt.clone()), engine.met.sentence()),
        cells_read: engine.views.looks(),
        damaged_reads: engine.met.count(),
        expired_segments: state.expired_segments,
        disk_total: disk.total,
        disk_free: disk.free,
        disk_available: disk.available,
        disk_writable: reserve::room_for_writes(engine, disk.available),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use crate::store::options::StoreOptions;
    use crate::{Error, ErrorKind};

    /// Else a disk that was full once is told as full for ever.
    #[test]
    fn what_has_failed_is_told_until_the_same_is_done() {
        let env = Arc::new(crate::env::SimEnv::new());
        let store = Store::open(StoreOptions { env, background: Background::Off, ..StoreOptions::new("/s") }).unwrap();
        let told = || status(&store.engine).unwrap().last_error;
        note(&store.engine, "flush", Err(Error::new(ErrorKind::NoSpace, "no room")));
        note(&store.engine, "flush what has been idle", Ok(()));
        assert_eq!(told().as_deref(), Some("flush: no room"));
        note(&store.engine, "flush", Ok(()));
        assert_eq!(told(), None);
    }
}
