//! Opening a store: the lock, the identity, the journal, and the replay of the log.

use std::path::Path;
use std::sync::Arc;

use super::{identity, lock};
use crate::blob::{BlobState, Blobs};
use crate::env::{Env, LockGuard};
use crate::journal::{Found, Journal, SnapshotRecord, State};
use crate::log::{Headers, Log};
use crate::model::{Catalogue, SeqNo, Timestamp};
use crate::store::catalogue::change;
use crate::store::catalogue::index_states::doubt_others;
use crate::store::catalogue::tables::families_of;
use crate::store::engine::background::chores::Chores;
use crate::store::engine::background::signals::SignalState;
use crate::store::engine::clock::Clock;
use crate::store::engine::row_locks::{RowLocks, ValueLocks};
use crate::store::engine::sizes::Sizes;
use crate::store::engine::views::{Parts, Views};
use crate::store::engine::{Engine, Given};
use crate::store::extents::flush;
use crate::store::health::boot;
use crate::store::health::damage::{Damages, Met};
use crate::store::health::progress::{Noted, Progress};
use crate::store::jobs::make_room;
use crate::store::layout::blob_names::BlobNames;
use crate::store::layout::runs::Layout;
use crate::store::layout::structure::{Structure, has_unnamed, numbers};
use crate::store::memory::memtable::Memtables;
use crate::store::options::{Background, StoreOptions};
use crate::store::recover::recovery;
use crate::store::recover::recovery::Recovered;
use crate::store::recover::write_again::write_again;
use crate::store::secondary::entry;
use crate::store::space::reserve;
use crate::{Error, ErrorKind, Result};

/// Directories of a store.
pub const DIRECTORIES: [&str; 4] = ["segments", "log", "blobs", "edits"];

/// Takes the lock and brings everything up; see [`crate::store::Store::open`].
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
    for name in DIRECTORIES {
        env.create_dir(&dir.join(name)).map_err(|e| io("prepare", e))?;
    }
    env.sync_dir(&dir).map_err(|e| io("prepare", e))?;
    let edits = dir.join("edits");
    refuse_without_journal(&*env, &dir)?;
    let initial = || State { catalogue: Arc::new(change::initial()), ..State::default() };
    let is_young = greatest_number(&*env, &dir)? == 0;
    // A store on a full disk opens with what was reserved for that.
    let progress = Arc::new(reserve::use_up(&*env, &dir, || Progress::open(&env, &dir))?);
    let log = crate::log::headers(&*env, &dir.join("log"), &identity.store)?;
    let found = Found { is_young, owed: progress.seen.edit.max(log.edit) };
    let opened = reserve::use_up(&*env, &dir, || Journal::open(&env, &edits, identity.store, found, initial))?;
    let mut damages = Damages::default();
    for problem in &opened.problems {
        damages.add(&format!("{}, offset {}: {}", problem.path.display(), problem.offset, problem.text));
    }
    let lost_end = lost_end((&*env, &dir), &progress.seen, (&opened.state, opened.shown), &log)?;
    let named = greatest_number(&*env, &dir)?;
    let state = opened.state.clone();
    let cache = options.reader_cache_bytes;
    let structure =
        Structure::new(&env, &dir, identity.store, (opened.journal, opened.state, &progress), (named, cache));
    #[cfg(test)]
    let structure = structure.breaking(options.broken);
    let structure = Arc::new(structure);
    match &lost_end {
        Some(text) => {
            progress.note_lost_end().map_err(|e| io("note the progress of", e))?;
            let edits = edits.display();
            damages.add(&format!("the journal in {edits}: {text}"));
        }
        None => structure.sweep()?,
    }
    let space = env.disk_space(&dir).map_err(|e| io("measure", e))?;
    let sizes = Sizes::of(&mut options, space.total);
    let blobs = open_blobs(&env, &dir, &structure, &state, &mut damages)?;
    let mut recovered =
        reserve::use_up(&*env, &dir, || recovery::recover(&options, &structure, &blobs, &progress, &mut damages))?;
    // Order: what a power cut has left of the log is read before.
    boot::note(&*env, &dir);
    let met = Arc::new(Met::new(&*env, &dir));
    recovered.missing.take().iter().for_each(|e| met.note(e));
    let parts = Made { options, hash_key: identity.hash_key, structure, blobs, progress, met, sizes, damages };
    let engine = parts.engine(recovered);
    if lost_end.is_some() {
        engine.log.set_poison("the journal has lost its end; restore the store from a backup".to_owned());
    }
    Ok((engine, lock))
}

/// What the journal has lost of its end, if it has.
pub fn lost_end(
    (env, dir): (&dyn Env, &Path),
    noted: &Noted,
    (state, shown): (&State, u64),
    log: &Headers,
) -> Result<Option<String>> {
    let has_unnamed = has_unnamed(env, dir, state).map_err(|e| io(dir, "list the segments of", &e))?;
    Ok(noted.lost_end((state.edit, state.covered), shown, log, has_unnamed))
}

/// A store that has cells and no journal is damaged, not new: the journal is made before anything else.
pub fn refuse_without_journal(env: &dyn Env, dir: &Path) -> Result<()> {
    let io = |e: std::io::Error| io(dir, "list", &e);
    let edits = env.list(&dir.join("edits")).map_err(io)?;
    let has =
        |name: &str, extension: &str| Ok::<_, Error>(!numbers(env, &dir.join(name), extension).map_err(io)?.is_empty());
    if edits.is_empty() && (has("segments", ".seg")? || has("blobs", ".blob")? || has("log", ".log")?) {
        let text = format!(
            "{} is empty: the journal, which says what the store has, is gone. Put it back from a backup",
            dir.join("edits").display()
        );
        return Err(Error::new(ErrorKind::Corrupt, text));
    }
    Ok(())
}

/// The greatest number that stands in a name of a file.
fn greatest_number(env: &dyn Env, dir: &Path) -> Result<u64> {
    let mut greatest = 0;
    for (name, extension) in [("segments", ".seg"), ("log", ".log"), ("blobs", ".blob")] {
        let found = numbers(env, &dir.join(name), extension).map_err(|e| io(&dir.join(name), "list", &e))?;
        greatest = greatest.max(found.into_iter().max().unwrap_or(0));
    }
    Ok(greatest)
}

fn open_blobs(
    env: &Arc<dyn Env>,
    dir: &Path,
    structure: &Arc<Structure>,
    state: &State,
    damages: &mut Damages,
) -> Result<Arc<Blobs>> {
    let of = |(number, record): (&u64, &crate::journal::BlobRecord)| {
        let (bytes, chunks) = record.sealed?;
        Some(BlobState { number: *number, bytes, chunks, dead: Vec::new() })
    };
    let sealed = state.blobs.iter().filter_map(of).collect();
    let naming = Arc::new(BlobNames(Arc::clone(structure)));
    let blobs = Blobs::open(Arc::clone(env), dir.join("blobs"), structure.store_id(), sealed, naming)?;
    for (number, _) in state.blobs.iter().filter(|(_, record)| record.sealed.is_none()) {
        // Order: what is long, and takes no room, once: each time others take what was reserved for what is short.
        let recovered = write_again(&**env, &blobs.path(*number))
            .and_then(|()| reserve::use_little(&**env, dir, || blobs.recover(*number, 0)));
        match recovered {
            Ok(recovered) if recovered.is_gone => {
                let gone = crate::journal::Item::BlobGone { file: *number };
                structure.commit(|_| Ok(gone.into()), |_| ()).map_err(|unsaved| unsaved.error)?;
            }
            Ok(_) => {}
            Err(e) => {
                match e.kind {
                    ErrorKind::NoSpace => {
                        log::warn!("{}; it is read as it is until the store is opened with room for that", e.message);
                    }
                    _ => damages.add(&e.message),
                }
                // What is there can be read all the same.
                if let Err(e) = blobs.look(*number, 0) {
                    damages.add(&e.message);
                }
            }
        }
    }
    // It says no more than what to tell of a chunk.
    blobs.know_lost(crate::store::health::lost::chunks(&**env, dir).unwrap_or_default());
    Ok(Arc::new(blobs))
}

/// What an engine is made of, once its files are found.
struct Made {
    options: StoreOptions,
    hash_key: [u8; 16],
    structure: Arc<Structure>,
    blobs: Arc<Blobs>,
    progress: Arc<Progress>,
    met: Arc<Met>,
    sizes: Sizes,
    damages: Damages,
}

impl Made {
    fn engine(self, recovered: Recovered) -> Engine {
        let Self { options, hash_key, structure, blobs, progress, met, sizes, damages } = self;
        let state = SignalState { last_error: damages.sentence(&options.path), ..SignalState::default() };
        let Recovered { memtable, log, last, doubt, .. } = recovered;
        let tables = Memtables { active: Arc::new(memtable), frozen: Vec::new() };
        let parts = Parts { tables: Arc::new(tables), layout: structure.layout() };
        let catalogue = Arc::clone(&parts.layout.state.catalogue);
        Engine::new(Given {
            hash_key,
            log,
            blobs,
            catalogue,
            views: Views::new(parts, last, doubt),
            row_locks: RowLocks::new(),
            unique: ValueLocks::new(),
            chores: Chores { flush_frozen: flush::flush_frozen, make_room: make_room::make_disk_room },
            state,
            structure,
            progress,
            met,
            sizes,
            clock: Clock::default(),
            options,
        })
    }
}

/// What a snapshot holds, as an engine that only reads.
pub fn open_snapshot(parent: &Engine, (state, edit, record): (&Arc<State>, u64, &SnapshotRecord)) -> Engine {
    let families = families_of(&record.catalogue);
    let layout = parent.structure.layout_at(state, edit, &|family| families.contains(&family));
    let mut catalogue = record.catalogue.clone();
    let complete = entry::complete_entries(&state.catalogue);
    catalogue.tables.values_mut().for_each(|table| doubt_others(table, &complete));
    open_reading(parent, Reading { catalogue, layout: Arc::new(layout), stopped_at: Some(record.made_at) })
}

/// What an engine reads that takes no changes.
#[derive(Default)]
pub struct Reading {
    pub catalogue: Catalogue,
    pub layout: Arc<Layout>,
    /// What the clock shows; `None`: it goes on.
    pub stopped_at: Option<Timestamp>,
}

/// An engine beside another one that only reads.
pub fn open_reading(parent: &Engine, reading: Reading) -> Engine {
    let Reading { catalogue, layout, stopped_at } = reading;
    let options = StoreOptions { background: Background::Off, ..parent.options.clone() };
    Engine::new(Given {
        hash_key: parent.hash_key,
        log: Log::idle(Arc::clone(&options.env), *parent.structure.store()),
        blobs: Arc::clone(&parent.values.blobs),
        structure: Arc::clone(&parent.structure),
        progress: Arc::new(Progress::of_snapshot()),
        catalogue: Arc::new(catalogue),
        views: Views::new(Parts { tables: Arc::default(), layout }, SeqNo(u64::MAX), None),
        row_locks: RowLocks::default(),
        unique: ValueLocks::default(),
        chores: Chores::default(),
        state: SignalState::default(),
        met: Arc::clone(&parent.met),
        sizes: parent.disk.sizes,
        clock: Clock::stopped(stopped_at),
        options,
    })
}

/// A link in a store would have another file read, written or deleted than the one that counts.
fn refuse_links(env: &dyn Env, store: &Path) -> Result<()> {
    for dir in [""].iter().chain(&DIRECTORIES).map(|name| store.join(name)) {
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

/// Whether anything was ever declared in a store that nobody has open.
pub fn was_used(env: &dyn Env, dir: &Path) -> Result<bool> {
    let Some(identity) = identity::find(env, dir)? else { return Ok(false) };
    let found = Journal::look(env, &dir.join("edits"), &identity.value.store)?;
    Ok(found.is_some_and(|seen| *seen.state.catalogue != change::initial()))
}
