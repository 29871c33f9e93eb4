//! Room that is given back when the disk is full, so that deleting and compacting still work.
//!
//! Two files: `reserve` is for deletes, `reserve.last` for flushes and compactions alone, which make room in the end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::env::Env;
use crate::env::sync::Instant;
use crate::store::engine::Engine;
use crate::store::engine::disk_room::Giving;
use crate::store::engine::sizes::LEAST_SLICE;
use crate::store::layout::runs::Run;
use crate::store::options::Background;
use crate::store::space::level;
use crate::{Error, ErrorKind, Result};

/// A file of it, at least.
const LEAST_PART: u64 = 4096;
/// What opening a store, an edit and a compaction take of it first, at least, and a delete.
pub const FIRST_USED: u64 = 64 << 10;
const FIRST_FOR_DELETES: u64 = 16 << 10;

/// So long a delete waits for what a compaction gives back.
const GIVES_BACK: Duration = Duration::from_secs(5);

/// Of so many free bytes those that are reserved at most: others write too.
fn beside(free: u64) -> u64 {
    free / 5 * 4
}

/// What of the reserve there is room for.
struct Share {
    all: u64,
    room: u64,
}

impl Share {
    /// Of so many bytes in all, where so many are free or reserved.
    fn new(all: u64, free: u64) -> Self {
        Self { all, room: beside(free).min(all) }
    }

    /// Of a part of so many bytes.
    fn of(&self, bytes: u64) -> u64 {
        let share = u128::from(bytes) * u128::from(self.room) / u128::from(self.all.max(1));
        u64::try_from(share).unwrap_or(bytes)
    }
}

/// What may use what is reserved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Deletes,
    /// What makes room only in the end: it leaves deletes their part.
    Merges,
    /// Flushes, edits, and what opening a store needs.
    Maintenance,
}

impl Use {
    /// The files it may use. Order: what deletes may use first.
    fn paths(self, store: &Path) -> Vec<PathBuf> {
        match self {
            Self::Deletes => vec![deletes_path(store)],
            Self::Merges => vec![last_path(store)],
            Self::Maintenance => paths(store).into(),
        }
    }
}

fn deletes_path(store: &Path) -> PathBuf {
    store.join("reserve")
}

fn last_path(store: &Path) -> PathBuf {
    store.join("reserve.last")
}

fn is_full<T>(done: &Result<T>) -> bool {
    done.as_ref().is_err_and(|e| e.kind == ErrorKind::NoSpace)
}

/// The files that keep it.
pub fn paths(store: &Path) -> [PathBuf; 2] {
    [deletes_path(store), last_path(store)]
}

/// Does what opening a store needs, with what is reserved if there is no other room: no more of it than that, for others
/// take the rest.
pub fn use_up<T>(env: &dyn Env, store: &Path, mut action: impl FnMut() -> Result<T>) -> Result<T> {
    let mut bytes = FIRST_USED;
    loop {
        match action() {
            Err(e) if e.kind == ErrorKind::NoSpace && shorten(env, store, Use::Maintenance, bytes) => bytes *= 2,
            done => return done,
        }
    }
}

/// As [`use_up`], of what an open can do without: once, and little of what others need.
pub fn use_little<T>(env: &dyn Env, store: &Path, mut action: impl FnMut() -> Result<T>) -> Result<T> {
    match action() {
        Err(e) if e.kind == ErrorKind::NoSpace && shorten(env, store, Use::Maintenance, FIRST_USED) => action(),
        done => done,
    }
}

/// Gives back to the disk so many bytes of what is reserved; whether there were any.
fn shorten(env: &dyn Env, store: &Path, by: Use, bytes: u64) -> bool {
    let shortened = |path: &PathBuf| {
        let file = env.open(path).ok()?;
        let len = file.len().ok().filter(|len| *len >= bytes + LEAST_PART)?;
        // Whole blocks of the disk.
        file.set_len((len - bytes) / LEAST_PART * LEAST_PART).ok()
    };
    by.paths(store).iter().any(|path| shortened(path).is_some() || env.remove(path).is_ok())
}

/// Whether neither the disk nor what is reserved has room for opening a store.
pub fn is_used_up(env: &dyn Env, store: &Path) -> bool {
    let usable = env.disk_space(store).map_or(u64::MAX, |space| space.usable);
    let is_there = |path: &PathBuf| env.exists(path).unwrap_or(true);
    usable < FIRST_USED && !paths(store).iter().any(is_there)
}

/// Gives so many bytes of the reserve back to the disk, or what there is of them; whether there were any.
fn release_reserve(engine: &Engine, by: Use, bytes: u64) -> bool {
    let released = {
        // Order: one at a time, or one that has looked before another has shortened it makes it longer, without room.
        let _alone = engine.disk.restoring.lock();
        shorten(&*engine.options.env, &engine.options.path, by, bytes)
    };
    if released {
        level::run_short(engine);
    }
    released
}

/// Lets deletes have so many bytes of what is reserved for them.
pub fn release_for_deletes(engine: &Engine, bytes: u64) {
    release_reserve(engine, Use::Deletes, bytes.max(FIRST_FOR_DELETES));
}

/// Makes what is missing of the reserve, by what is stored, and gives back what is a third more than it; lets everything
/// be written again once there is room beside it. Of room for a part alone both files get a part, or whoever fills the
/// disk takes it all: then nothing can be deleted, and a store cannot be opened.
pub fn restore_reserve(engine: &Engine) -> Result<()> {
    let (env, store) = (&engine.options.env, &engine.options.path);
    let io = |e: std::io::Error| Error::io(format!("reserve room in {}", store.display()), &e);
    // Order: one at a time, or one finds the file that another makes, and removes it as its own.
    let _alone = engine.disk.restoring.lock();
    let space = env.disk_space(store).map_err(io)?;
    let mut usable = space.usable;
    let wanted = wanted_reserve(engine);
    let held: u64 = wanted.iter().map(|(path, _)| len_of(engine, path)).sum();
    let share = Share::new(wanted.iter().map(|(_, bytes)| bytes).sum(), usable + held);
    let mut whole = true;
    for (path, bytes) in wanted {
        let file = match env.open(&path) {
            Ok(file) => Some(file),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
            Err(e) => return Err(io(e)),
        };
        let len = file.as_ref().map_or(Ok(0), |file| file.len()).map_err(io)?;
        // Not anew for each cell.
        if len > 0 && bytes < len + len / 4 {
            // Not what others would take at once of a full disk.
            if let Some(file) = file.filter(|_| bytes < len - len / 4 && !engine.disk.is_short()) {
                file.set_len(bytes).map_err(io)?;
            }
            continue;
        }
        let part = share.of(bytes).min(len + beside(usable));
        whole &= part == bytes;
        if part < LEAST_PART.max(len + len / 4) {
            continue;
        }
        let filled = file.map_or_else(|| env.create_new(&path), Ok);
        if let Err(e) = filled.and_then(|file| file.allocate(part)) {
            // What was reserved before stays; an empty file is of no use to anyone.
            if len == 0 {
                let _ = env.remove(&path);
            }
            return Err(io(e));
        }
        usable = usable.saturating_sub(part - len);
    }
    let available = space.available.saturating_sub(space.usable - usable);
    if usable >= level::needed_by_flushes(engine) {
        engine.disk.set_out(false);
    }
    if whole && available >= engine.disk.sizes.enough {
        engine.disk.takes_all();
    }
    Ok(())
}

/// As [`restore_reserve`], where what it is for goes on without it.
pub fn try_to_restore(engine: &Engine) {
    if let Err(e) = restore_reserve(engine) {
        engine.said.warn(&format!("{e}; it is tried again"));
    }
}

/// What is to be reserved, by what is stored, in which files; what is in memory can be flushed with it. Order: what
/// makes room in the end first.
fn wanted_reserve(engine: &Engine) -> [(PathBuf, u64); 2] {
    let in_memory: u64 = engine.tables().all().map(|table| table.bytes()).sum();
    let stored = in_memory + engine.layout().live_bytes() + engine.values.blobs.bytes();
    let (last, deletes) = engine.disk.sizes.reserved(stored);
    let last = last.max(level::needed_by_flushes(engine).min(engine.disk.sizes.last));
    let store = &engine.options.path;
    [(last_path(store), last), (deletes_path(store), deletes)]
}

/// Bytes of a slice of a merge of `runs`: on a full disk so few that they fit into what is free and reserved, with
/// what belongs to them, if their room comes back. Else slices would use up what deletes need.
pub fn slice_bytes(engine: &Engine, runs: &[Arc<Run>]) -> u64 {
    let whole = engine.options.segment_bytes;
    if !engine.disk.is_short() || !engine.structure.comes_back(runs) {
        return whole;
    }
    let env = &engine.options.env;
    let free = env.disk_space(&engine.options.path).map_or(0, |space| space.usable);
    let reserved = len_of(engine, &last_path(&engine.options.path));
    whole.min(((free + reserved) / 4).max(LEAST_SLICE))
}

/// Bytes of a file; 0 if there is none.
fn len_of(engine: &Engine, path: &Path) -> u64 {
    engine.options.env.open(path).and_then(|file| file.len()).unwrap_or(0)
}

/// Of so many free bytes, those that may be written: on a disk that was full, those that the next write would get.
pub fn room_for_writes(engine: &Engine, available: u64) -> u64 {
    if !engine.disk.is_short() {
        return available.saturating_sub(engine.disk.sizes.least);
    }
    let missing = |(path, bytes): &(PathBuf, u64)| bytes.saturating_sub(len_of(engine, path));
    let missing: u64 = wanted_reserve(engine).iter().map(missing).sum();
    let left = available.saturating_sub(missing + missing / 4);
    if left < engine.disk.sizes.enough { 0 } else { left - engine.disk.sizes.least }
}

/// As [`restore_reserve`], when the store is opened: which it is without a reserve too.
pub fn begin_reserve(engine: &Engine) {
    try_to_restore(engine);
    look_at_room(engine);
}

/// Notes how much room there is: at the start, and after so much that was written. Before what is in memory
/// has no room on the disk any more, less is written.
pub fn look_at_room(engine: &Engine) {
    if level::available(engine) < engine.disk.sizes.least {
        level::run_short(engine);
    }
    let (needed, free) = (level::needed_by_flushes(engine), level::usable(engine));
    if free < needed {
        release_for_deletes(engine, needed - free);
    }
    engine.disk.set_out(level::usable(engine) < needed);
}

/// Deletes on a full disk: with the part of the reserve that is for that, and then with what the background makes room
/// of in a moment, for which it has the rest. Who writes to the same rows waits with it, as for any write.
pub fn delete_with_reserve<T>(engine: &Engine, mut action: impl FnMut() -> Result<T>) -> Result<T> {
    let (mut done, mut bytes) = (action(), FIRST_FOR_DELETES);
    while is_full(&done) && release_reserve(engine, Use::Deletes, bytes) {
        done = action();
        bytes *= 2;
    }
    if engine.options.background == Background::On && is_full(&done) {
        level::run_short(engine);
        engine.wake(|state| state.make_room = true);
        let until = Instant::now() + GIVES_BACK;
        while is_full(&done) && engine.disk.await_moment(until) {
            done = action();
        }
    }
    if is_full(&done) {
        look_at_room(engine);
    }
    done
}

/// Does what makes room in the end: with the reserve, if it does not without.
pub fn with_reserve<T>(engine: &Engine, action: impl FnMut() -> Result<T>) -> Result<T> {
    with_much_of_reserve(engine, FIRST_USED, action)
}

/// As [`with_reserve`], of what takes so many bytes, about; no more of it than needed, for others take the rest.
pub fn with_much_of_reserve<T>(engine: &Engine, about: u64, action: impl FnMut() -> Result<T>) -> Result<T> {
    // It begins anew each time: few times.
    let first = (about / 4).max(FIRST_USED);
    let may = |bytes, released| given(engine, (bytes, released), || beyond_third(engine));
    bit_by_bit(engine, (Use::Maintenance, first), may, action)
}

/// Merges a slice with three quarters of what is reserved for that at most; where others take it, of a quarter of what
/// should be with nothing: they would take what flushes need.
pub fn merge_with_reserve<T>(engine: &Engine, merge: impl FnMut() -> Result<T>) -> Result<T> {
    let [(path, wanted), _] = wanted_reserve(engine);
    let reserved = len_of(engine, &path);
    let is_last = reserved <= wanted / 4;
    let most = reserved / 4 * 3;
    let may = |bytes: u64, released: u64| {
        let left = most.saturating_sub(released);
        given(engine, (bytes.min(left), released), || if is_last { 0 } else { left })
    };
    bit_by_bit(engine, (Use::Merges, (reserved / 4).max(FIRST_USED)), may, merge)
}

/// Does it, each time with more of the reserve: twice as many bytes, or of these as many as `may` says beside those that
/// were released before; 0: no more.
fn bit_by_bit<T>(
    engine: &Engine,
    (by, first): (Use, u64),
    may: impl Fn(u64, u64) -> u64,
    mut action: impl FnMut() -> Result<T>,
) -> Result<T> {
    let (mut done, mut released, mut bytes) = (action(), 0, first);
    while is_full(&done) {
        let given = may(bytes, released);
        if given == 0 || !release_reserve(engine, by, given) {
            break;
        }
        done = action();
        (released, bytes) = (released + given, bytes * 2);
    }
    if released > 0 && is_full(&done) {
        // Before others take it.
        try_to_restore(engine);
    }
    done
}

/// Of so many bytes those that may be given back, after `released` ones that were not enough; where others take it no
/// more than `spare` says.
fn given(engine: &Engine, (bytes, released): (u64, u64), spare: impl FnOnce() -> u64) -> u64 {
    let now = Instant::now();
    if released > 0 && level::usable(engine) < released / 2 {
        engine.disk.note_taken(now);
    }
    match engine.disk.giving(now) {
        Giving::Freely => bytes,
        Giving::Little if released > 0 => bytes,
        Giving::Little => bytes.min(FIRST_USED),
        Giving::Spare => bytes.min(spare()),
    }
}

/// Bytes beyond a third of what should be reserved, which stays for the next open and for deletes.
fn beyond_third(engine: &Engine) -> u64 {
    let wanted = wanted_reserve(engine);
    let left: u64 = wanted.iter().map(|(path, _)| len_of(engine, path)).sum();
    let whole: u64 = wanted.iter().map(|(_, bytes)| bytes).sum();
    left.saturating_sub(whole / 3) / LEAST_PART * LEAST_PART
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use crate::store::options::StoreOptions;

    /// Else one found the file that another was making, told that there is no room, and removed it.
    #[test]
    fn the_reserve_is_made_by_one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let options = StoreOptions { background: Background::Off, ..StoreOptions::new(dir.path()) };
        let store = Store::open(options).unwrap();
        let engine = &store.engine;
        for _ in 0..100 {
            paths(dir.path()).iter().for_each(|path| std::fs::remove_file(path).unwrap());
            std::thread::scope(|scope| {
                let made = [(); 4].map(|()| scope.spawn(|| restore_reserve(engine)));
                made.into_iter().for_each(|made| made.join().unwrap().unwrap());
            });
            assert!([deletes_path, last_path].iter().all(|path| path(dir.path()).exists()));
        }
    }

    /// Else one that has looked before another has shortened it makes it longer again: without room, which counts as reserved.
    #[test]
    fn what_several_give_back_at_once_leaves_no_hole() {
        use std::os::unix::fs::MetadataExt;
        let dir = tempfile::tempdir().unwrap();
        let options = StoreOptions { background: Background::Off, ..StoreOptions::new(dir.path()) };
        let store = Store::open(options).unwrap();
        let path = deletes_path(dir.path());
        for _ in 0..200 {
            std::fs::write(&path, vec![1; 1 << 20]).unwrap();
            std::thread::scope(|scope| {
                for bytes in [16 << 10, 512 << 10, 32 << 10, 128 << 10] {
                    let engine = &store.engine;
                    scope.spawn(move || assert!(release_reserve(engine, Use::Deletes, bytes)));
                }
            });
            let file = std::fs::metadata(&path).unwrap();
            assert_eq!(file.len(), (1 << 20) - (688 << 10));
            assert!(file.blocks() * 512 >= file.len(), "{} bytes of {}", file.blocks() * 512, file.len());
        }
    }

    /// Else a daemon that was killed on a full disk cannot be started again, where a socket takes a block.
    #[test]
    fn what_a_daemon_makes_gets_room_from_the_reserve() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(deletes_path(dir.path()), vec![0; 1 << 20]).unwrap();
        let reserved = || std::fs::metadata(deletes_path(dir.path())).map_or(0, |file| file.len());
        let made = Store::with_reserve_of(dir.path(), || match reserved() {
            left if left > 900_000 => Err(Error::new(ErrorKind::NoSpace, "no room")),
            left => Ok(left),
        });
        assert!((1..900_000).contains(&made.unwrap()));
        let failed = Store::with_reserve_of(dir.path(), || -> Result<()> { Err(Error::new(ErrorKind::Io, "broken")) });
        assert!(failed.is_err() && reserved() > 0);
    }
}
