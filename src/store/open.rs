//! Opening a store: the lock, the identity, the index, and the replay of the log.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64};

use crate::env::sync::{Condvar, Mutex, RwLock};
use arc_swap::ArcSwap;

use super::damage::Met;
use super::engine::{Engine, STRIPES, SignalState, Signals};
use super::memtable::{Indexed, Memtables};
use super::pace::Hurry;
use super::recent::Recent;
use super::recovery::{Recovery, Tail};
use super::reserve::Sizes;
use super::room::DiskRoom;
use super::settle::Moving;
use super::{Background, StoreOptions, catalogue, identity, lock, reserve, settle, snapshots, staged};
use crate::env::{Env, HeldDir, LockGuard};
use crate::index::{Index, Meta, Opened, Verified, Witness};
use crate::model::{Catalogue, Timestamp};
use crate::wal::{Log, LogOptions, Segments, ValueReader};
use crate::{Error, ErrorKind, Result};

/// Cells that are verified while the store is opened: a few milliseconds.
pub const VERIFIED_AT_ONCE: u64 = 20_000;
/// Memory for pages of a snapshot's index, bytes.
const SNAPSHOT_CACHE: u64 = 4 << 20;

/// Takes the lock and brings everything up; see [`super::Store::open`].
pub fn open(mut options: StoreOptions) -> Result<(Engine, Box<dyn LockGuard>)> {
    let env = Arc::clone(&options.env);
    let dir = options.path.clone();
    let io = |what: &str, e: std::io::Error| io(&dir, what, &e);
    // Order: before anything is made there.
    identity::admit(&*env, &dir)?;
    env.create_dir(&dir).map_err(|e| io("make", e))?;
    let lock = lock::take(&*env, &dir)?;
    refuse_links(&*env, &dir)?;
    let identity = identity::load(&*env, &dir)?;
    let catalogue_path = dir.join("catalogue");
    let segments_dir = dir.join("segments");
    env.create_dir(&segments_dir).and_then(|()| env.sync_dir(&dir)).map_err(|e| io("prepare", e))?;
    let segments = Arc::new(Segments::open(Arc::clone(&env), segments_dir, identity.store)?);
    let catalogue = declared(&*env, &catalogue_path, &segments)?;
    forget_moves(&*env, segments.dir())?;
    snapshots::remove_unfinished(&*env, &dir)?;
    let catalogue = staged::without_staged(&*env, &catalogue_path, catalogue)?;
    let index_dir = env.index_dir(&dir).map_err(|e| io("find the index of", e))?;
    let witness = Arc::new(Witness::open(&env, &dir)?);
    let find_index = || open_index(&index_dir, &segments, options.reader_cache_bytes, &witness);
    let (index, opened) = match find_index() {
        // A store on a full disk opens with what was reserved for that.
        Err(e) if e.kind == ErrorKind::NoSpace && reserve::remove(&*env, &dir) => find_index()?,
        found => found?,
    };
    let hash_key = identity.hash_key;
    let space = env.disk_space(&dir).map_err(|e| io("measure", e))?;
    let sizes = Sizes::of(&mut options, space.total);
    index.limit_log(reserve::log_pages(space.total))?;
    let met = Arc::new(Met::new(&*env, &dir));
    let parts = Parts { options, hash_key, catalogue, segments, index, witness, met, sizes, stopped_at: None };
    Ok((parts.recover(opened, Tail::Mend)?, lock))
}

/// Opens what a snapshot in `dir` holds, without the lock: its parent has it.
pub fn open_snapshot(parent: &Engine, dir: &Path, made_at: Timestamp) -> Result<Engine> {
    let env = Arc::clone(&parent.options.env);
    let segments = Arc::new(Segments::open(Arc::clone(&env), dir.join("segments"), *parent.log.segments().store_id())?);
    let path = dir.join("catalogue");
    let gone = || Error::new(ErrorKind::Corrupt, format!("{} is missing; delete the snapshot", path.display()));
    let catalogue = catalogue::load(&*env, &path)?.ok_or_else(gone)?;
    let index_dir = env.index_dir(dir).map_err(|e| Error::io(format!("find the index of {}", dir.display()), &e))?;
    let witness = Arc::new(Witness::of_snapshot());
    let (index, opened) = Index::open(&index_dir, segments.store_id(), SNAPSHOT_CACHE, Arc::clone(&witness))?;
    let options = StoreOptions { path: dir.to_owned(), background: Background::Off, ..parent.options.clone() };
    let (hash_key, stopped_at) = (parent.hash_key, Some(made_at));
    let met = Arc::clone(&parent.met);
    let parts =
        Parts { options, hash_key, catalogue, segments, index, witness, met, sizes: parent.disk.sizes, stopped_at };
    parts.recover(opened, Tail::LeaveAlone)
}

/// What an engine is made of, once its files are found.
struct Parts {
    options: StoreOptions,
    hash_key: [u8; 16],
    catalogue: Catalogue,
    segments: Arc<Segments>,
    index: Index,
    witness: Arc<Witness>,
    met: Arc<Met>,
    sizes: Sizes,
    stopped_at: Option<Timestamp>,
}

impl Parts {
    fn recover(self, opened: Opened, end: Tail) -> Result<Engine> {
        let Self { options, hash_key, catalogue, segments, index, witness, met, sizes, stopped_at } = self;
        let read = Arc::clone(&options.recovered);
        let mut recovery = Recovery::new(&segments, &catalogue, &index, (&*witness, end), &read);
        let meta = recovery.run(opened)?;
        let indexed = Arc::new(Indexed::of(&meta));
        let Recovery { memtable, last, tail, tracks, damages, .. } = recovery;
        let state = SignalState { last_error: damages.sentence(&options.path), ..SignalState::default() };
        let moving = match end {
            Tail::Mend => Moving::left(settle::read(&*options.env, &options.path, segments.ids())?),
            Tail::LeaveAlone => Moving::default(),
        };
        let log_options = LogOptions { segment_bytes: options.segment_bytes };
        let log = match end {
            Tail::Mend => Log::open(Arc::clone(&segments), log_options, last, tail)?,
            Tail::LeaveAlone => Log::of_snapshot(Arc::clone(&segments), last),
        };
        Ok(Engine {
            catalogue_path: options.path.join("catalogue"),
            hash_key,
            log,
            values: ValueReader::new(segments),
            index,
            catalogue: ArcSwap::from_pointee(catalogue),
            altering: Mutex::new(()),
            declaring: RwLock::new(()),
            tables: ArcSwap::from_pointee(Memtables { active: Arc::new(memtable), frozen: Vec::new(), indexed }),
            read_point: AtomicU64::new(last.0),
            reads: Arc::default(),
            meta: Mutex::new(meta),
            tracks: RwLock::new(tracks),
            recent: Recent::default(),
            rows: (0..STRIPES).map(|_| Mutex::new(())).collect(),
            flushing: Mutex::new(()),
            compacting: Mutex::new(()),
            moving: Mutex::new(moving),
            hurry: Hurry::default(),
            maintenance: Mutex::new(()),
            room: Mutex::new(()),
            room_made: Condvar::new(),
            signals: Signals { state: Mutex::new(state), ..Signals::default() },
            witness,
            met,
            disk: DiskRoom::new(sizes),
            moves: Mutex::default(),
            subscribers: RwLock::default(),
            snapshotting: Mutex::new(()),
            stopped_at,
            ahead: AtomicI64::new(0),
            options,
        })
    }
}

/// The catalogue; a new one if nothing was ever written.
fn declared(env: &dyn Env, path: &Path, segments: &Segments) -> Result<Catalogue> {
    match catalogue::load(env, path)? {
        Some(catalogue) => Ok(catalogue),
        None if segments.ids().is_empty() => {
            let new = catalogue::initial();
            catalogue::save(env, path, &new)?;
            Ok(new)
        }
        None => {
            let text = format!("{} is missing; put a copy of it there, backups have one", path.display());
            Err(Error::new(ErrorKind::Corrupt, text))
        }
    }
}

/// A link in a store would have another file read, written or deleted than the one that counts.
fn refuse_links(env: &dyn Env, store: &Path) -> Result<()> {
    for dir in ["", "segments", "index", "snapshots"].map(|name| store.join(name)) {
        let links = env.links(&dir).map_err(|e| io(&dir, "list", &e))?;
        if let Some(link) = links.first() {
            let text = format!(
                "{} is a symbolic link, and none is followed in a store: put the file itself there, or remove the link \
                 if it is not the store's",
                dir.join(link).display()
            );
            return Err(Error::new(ErrorKind::Refused, text));
        }
    }
    Ok(())
}

pub fn io(dir: &Path, what: &str, source: &std::io::Error) -> Error {
    Error::io(format!("{what} {}", dir.display()), source)
}

/// Handles of an earlier process are gone, and with them the need to know where values went.
fn forget_moves(env: &dyn Env, dir: &Path) -> Result<()> {
    let io = |e: std::io::Error| Error::io(format!("clear {}", dir.display()), &e);
    for name in env.list(dir).map_err(io)?.iter().filter(|name| name.ends_with(".moved")) {
        env.remove(&dir.join(name)).map_err(io)?;
    }
    Ok(())
}

/// An index that has lost rows is thrown away.
fn open_index(dir: &HeldDir, segments: &Segments, cache_bytes: u64, witness: &Arc<Witness>) -> Result<(Index, Opened)> {
    let open = || Index::open(dir, segments.store_id(), cache_bytes, Arc::clone(witness));
    let (index, opened) = open()?;
    let Opened::Ready(meta) = &opened else { return Ok((index, opened)) };
    let Some(reason) = verify_small(&index, meta)? else { return Ok((index, opened)) };
    drop(index);
    let (index, _) = open()?;
    Ok((index, Opened::Empty { reason }))
}

/// A small index is looked at as a whole before anything is served; the background looks at a large one.
fn verify_small(index: &Index, meta: &Meta) -> Result<Option<String>> {
    if meta.cells() > VERIFIED_AT_ONCE {
        return Ok(None);
    }
    Ok(match index.verify(&|| true)? {
        Verified::Damaged(reason) => Some(reason),
        Verified::Good | Verified::Stopped => None,
    })
}
