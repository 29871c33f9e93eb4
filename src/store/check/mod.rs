//! `check` and `repair`: what of a store is as it was written, and what can be mended.

mod entries;
mod large;
mod logs;
mod repair;
mod rewrite;
mod walk;

use crate::store::jobs::collect;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use repair::{Repaired, repair};

use super::engine::Engine;
use super::health::boot;
use super::health::damage::{Damages, FirstDamage};
use super::health::progress::{Noted, Progress};
use super::health::{damage, lost};
use super::jobs::collect::{Chunks, add_needed, kept_families};
use super::layout::runs::File;
use super::open::opening::lost_end;
use super::open::{identity, lock};
use super::recover::replayed::{self, Found, Replayed};
use super::space::reserve;
use crate::blob::{BlobState, Blobs, Naming, Root};
use crate::env::Env;
use crate::format::StoreId;
use crate::journal::{Journal, Problem, Seen, State};
use crate::log::Record;
use crate::model::{CheckEvent, CheckSummary, Finding, SeqNo, Severity};
use crate::segment::{Cache, Segment};
use crate::{Error, ErrorKind, Result};
use large::Needing;
use walk::Checker;

/// Told of everything.
pub type Tell<'f> = dyn FnMut(CheckEvent) -> Result<()> + 'f;

/// Memory for blocks while a store is checked that nobody has open.
const CACHE: usize = 4 << 20;

/// Checks a store that nobody has open; takes its lock, and changes nothing but the note of what it has found.
pub fn check(env: &Arc<dyn Env>, dir: &Path, tell: &mut Tell<'_>) -> Result<CheckSummary> {
    let _lock = lock::take(&**env, dir)?;
    let mut first = FirstDamage::default();
    let summary = look(env, dir, &mut |event| {
        first.look(&event);
        tell(event)
    })?
    .summary;
    first.note(&**env, dir, summary.damages);
    tell(CheckEvent::End(summary))?;
    Ok(summary)
}

/// Gives no names: nothing is written.
struct NoNames;

impl Naming for NoNames {
    fn begin_blob(&self) -> Result<u64> {
        Err(crate::Error::new(crate::ErrorKind::ReadOnlyStore, "a store that is checked is not written to"))
    }

    fn sealed(&self, _number: u64, _bytes: u64, _chunks: u32) -> Result<()> {
        Ok(())
    }
}

/// The blobs of a store that nobody has open.
fn look_at_blobs(env: &Arc<dyn Env>, dir: &Path, store: StoreId, state: &State) -> Result<Blobs> {
    let of = |(number, record): (&u64, &crate::journal::BlobRecord)| {
        let (bytes, chunks) = record.sealed?;
        Some(BlobState { number: *number, bytes, chunks, dead: Vec::new() })
    };
    let sealed = state.blobs.iter().filter_map(of).collect();
    Blobs::open(Arc::clone(env), dir.join("blobs"), store, sealed, Arc::new(NoNames))
}

/// What a look at a store comes to.
struct Looked {
    summary: CheckSummary,
    /// Segments that are damaged.
    segments: BTreeSet<u64>,
    /// Chunks that are, and that something refers to.
    chunks: BTreeSet<(u64, u32)>,
}

impl From<Checker<'_>> for Looked {
    fn from(checker: Checker<'_>) -> Self {
        let Checker { summary, damaged: segments, chunks, .. } = checker;
        Self { summary, segments, chunks: chunks.into_keys().collect() }
    }
}

/// How far the log once reached, and whether it may have been farther; tells of a journal that does not any more.
fn check_progress(
    checker: &mut Checker<'_>,
    (env, dir, store): (&dyn Env, &Path, &StoreId),
    seen: &Seen,
) -> Result<(SeqNo, bool)> {
    let path = || dir.join("progress").display().to_string();
    let (noted, is_unreadable) = match Progress::look(env, dir) {
        Ok((noted, unread)) => {
            if let Some(e) = &unread {
                checker.summary.notes += 1;
                (checker.tell)(note(path(), None, format!("a part of it cannot be read: {e}")))?;
            }
            (noted, unread.is_some())
        }
        Err(e) => {
            checker.unread(path(), Error::io(format!("read {}", path()), &e))?;
            (Noted::default(), true)
        }
    };
    let log = crate::log::headers(env, &dir.join("log"), store)?;
    if let Some(text) = lost_end((env, dir), &noted, (&seen.state, seen.shown), &log)? {
        checker.damage(dir.join("edits").display().to_string(), None, text)?;
    }
    Ok((noted.synced, is_unreadable))
}

fn open_files(env: &dyn Env, dir: &Path, store: StoreId, state: &State) -> Vec<Arc<File>> {
    let cache = Cache::new(CACHE);
    let open = |number: u64| {
        let path = super::layout::structure::segment_path(&dir.join("segments"), number);
        Arc::new(File { number, segment: Segment::open(env, &path, store, number, &cache) })
    };
    state.files().into_iter().map(open).collect()
}

/// As [`check`], by the holder of the lock; does not tell the end.
fn look(env: &Arc<dyn Env>, dir: &Path, tell: &mut Tell<'_>) -> Result<Looked> {
    let absent = || {
        let text = format!("{} holds no store", dir.display());
        crate::Error::new(crate::ErrorKind::NotFound, text)
    };
    let mut checker = Checker::new(tell);
    let identity = identity::find(&**env, dir)?.ok_or_else(absent)?;
    tell_problems(&mut checker, identity.problems)?;
    let store = identity.value.store;
    let edits = dir.join("edits");
    let seen = match Journal::look(&**env, &edits, &store) {
        Ok(Some(mut seen)) => {
            tell_problems_of_edits(&mut checker, &**env, seen.problems.drain(..))?;
            seen
        }
        Ok(None) => {
            if let Err(e) = super::open::opening::refuse_without_journal(&**env, dir) {
                checker.unread(edits.display().to_string(), e)?;
            }
            Seen::default()
        }
        Err(e) => {
            checker.unread(edits.display().to_string(), e)?;
            return Ok(checker.into());
        }
    };
    tell_odd_files(&mut checker, &**env, dir)?;
    let noted = check_progress(&mut checker, (&**env, dir, &store), &seen)?;
    let state = Arc::new(seen.state);
    tell_lost(&mut checker, &**env, dir)?;
    let files = open_files(&**env, dir, store, &state);
    let blobs = look_at_blobs(env, dir, store, &state)?;
    for (number, _) in state.blobs.iter().filter(|(_, record)| record.sealed.is_none()) {
        if let Err(e) = blobs.look(*number, 0) {
            checker.unread(dir.join("blobs").display().to_string(), e)?;
        }
    }
    checker.name_by(&state);
    checker.expect(&files);
    checker.segments(&dir.join("segments"), &files)?;
    let mut live = Chunks::default();
    for file in &files {
        // Of what cannot be read nothing is known; it is told where it is checked.
        add_needed(&mut live, file, &state);
    }
    let layout = entries::layout_of(&state, &files);
    let found = Found { env: &**env, store: dir, id: &store, layout: &layout, blobs: &blobs, noted };
    // What is wrong with a file of the log is told where it is checked.
    let unread = |_| Replayed { owed: noted.0, ..Replayed::default() };
    let replayed = replayed::replay(&found, &mut Damages::quiet()).unwrap_or_else(unread);
    let records = &replayed.replay.records;
    records.iter().for_each(|record| checker.count(record));
    add_log(&mut live, &mut checker, (&dir.join("log"), records), &blobs)?;
    checker.blobs(&dir.join("blobs"), &blobs, &live)?;
    tell_large(&mut checker, (&**env, dir), (&state, &files, records), &blobs)?;
    checker.log(&**env, &dir.join("log"), &store, (state.covered, replayed.owed), replayed.left_out)?;
    checker.entries(&entries::as_stored(layout, records), &blobs)?;
    Ok(checker.into())
}

/// Tells of damaged chunks, with the cells that need them, of extents and of the log.
fn tell_large(
    checker: &mut Checker<'_>,
    (env, dir): (&dyn Env, &Path),
    (state, files, records): (&State, &[Arc<File>], &[Record]),
    blobs: &Blobs,
) -> Result<()> {
    let (names, chunks) = (checker.names.clone(), checker.chunks.keys().copied().collect());
    let mut needing = Needing::new(blobs, &names, chunks);
    needing.extents(state, &|number| files.iter().find(|file| file.number == number).cloned())?;
    needing.log(records, &checker.kept)?;
    checker.large(&needing, &lost::chunks(env, dir)?)
}

/// Adds the chunks that what a start takes from the log leads to.
fn add_log(
    live: &mut Chunks,
    checker: &mut Checker<'_>,
    (dir, records): (&Path, &[Record]),
    blobs: &Blobs,
) -> Result<()> {
    let cells = records.iter().flat_map(|record| &record.cells);
    for cell in cells.filter(|cell| cell.root.is_some()) {
        let Some(root) = Root::decode(&cell.value).filter(|_| checker.kept.contains(&cell.family)) else { continue };
        let added = blobs.each_chunk(&root, &mut |blob, chunk| {
            live.insert((blob, chunk));
            Ok(())
        });
        match added {
            Err(e) if e.kind == ErrorKind::Corrupt => checker.damage(dir.display().to_string(), None, e.message)?,
            added => added?,
        }
    }
    Ok(())
}

/// Tells of what is no regular file though it has the name of one that is not read here.
fn tell_odd_files(checker: &mut Checker<'_>, env: &dyn Env, dir: &Path) -> Result<()> {
    for path in reserve::paths(dir).into_iter().chain([damage::path(dir), boot::path(dir)]) {
        if let Err(e) = env.open(&path).map(drop)
            && e.kind() == std::io::ErrorKind::InvalidData
        {
            checker.damage(path.display().to_string(), None, e.to_string())?;
        }
    }
    Ok(())
}

/// What is wrong with the journal; an error where one of its files may not be read.
fn tell_problems_of_edits(
    checker: &mut Checker<'_>,
    env: &dyn Env,
    problems: impl Iterator<Item = Problem>,
) -> Result<()> {
    for Problem { path, offset, text } in problems {
        let shown = path.display().to_string();
        match env.open(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::PermissionDenied => {
                checker.unread(shown.clone(), Error::io(format!("read {shown}"), &e))?;
            }
            _ => checker.damage(shown, Some(offset), text)?,
        }
    }
    Ok(())
}

/// What is wrong with files that are kept twice.
fn tell_problems(checker: &mut Checker<'_>, problems: Vec<(PathBuf, String)>) -> Result<()> {
    for (path, text) in problems {
        let text = format!("{text}; the next start writes it again from its other copy");
        checker.damage(path.display().to_string(), None, text)?;
    }
    Ok(())
}

/// What is noted to be lost; what nobody has acknowledged counts as damage.
fn tell_lost(checker: &mut Checker<'_>, env: &dyn Env, dir: &Path) -> Result<()> {
    for one in lost::read(env, dir)?.iter().filter(|one| !one.acknowledged) {
        let text = format!("{}. `cellfs check --repair` acknowledges it", one.sentence());
        checker.damage(lost::path(dir).display().to_string(), None, text)?;
    }
    Ok(())
}

/// Checks the open store, as of now.
pub fn check_open(engine: &Engine, tell: &mut Tell<'_>) -> Result<CheckSummary> {
    let (env, dir) = (&engine.options.env, &engine.options.path);
    let mut first = FirstDamage::default();
    let summary = {
        let mut tell = |event: CheckEvent| {
            first.look(&event);
            tell(event)
        };
        let mut checker = Checker::new(&mut tell);
        tell_lost(&mut checker, &**env, dir)?;
        // Memtables and files are held, so that nothing goes while it is looked at. Order: the memtables first: what
        // is flushed in between is in both.
        let snapshot = engine.view();
        let tables = Arc::clone(&snapshot.tables);
        let (state, files) = engine.structure.held();
        checker.name_by(&state);
        checker.expect(&files);
        checker.segments(engine.structure.directory(), &files)?;
        let mut live = Chunks::default();
        for file in &files {
            add_needed(&mut live, file, &state);
        }
        let kept = kept_families(&state);
        for table in tables.all() {
            // A large value whose lists cannot be read is told by the chunk.
            match collect::add_memory(engine, &mut live, table, &|id| kept.contains(&id)) {
                Err(e) if e.kind == crate::ErrorKind::Corrupt => {}
                added => added?,
            }
        }
        checker.blobs(&dir.join("blobs"), &engine.values.blobs, &live)?;
        let (names, chunks) = (checker.names.clone(), checker.chunks.keys().copied().collect());
        let mut needing = Needing::new(&engine.values.blobs, &names, chunks);
        needing.extents(&state, &|number| Some(engine.structure.file(number)))?;
        needing.memory(&tables, &kept)?;
        checker.large(&needing, &lost::chunks(&**env, dir)?)?;
        let covered = || engine.layout().state.covered;
        checker.entries(&snapshot, &engine.values.blobs)?;
        checker.open_log(&**env, engine.structure.store(), &engine.log, (state.covered, &covered))?;
        checker.summary
    };
    // Order: whoever is told of the end finds in the status what it has found.
    engine.met.checked(first.note(&**env, dir, summary.damages));
    tell(CheckEvent::End(summary))?;
    Ok(summary)
}

/// A finding that is damage.
fn damage(file: String, offset: Option<u64>, cell: Option<String>, text: String) -> CheckEvent {
    CheckEvent::Finding(Finding { severity: Severity::Damage, file, offset, cell, text })
}

/// What a crash may leave.
fn note(file: String, offset: Option<u64>, text: String) -> CheckEvent {
    CheckEvent::Finding(Finding { severity: Severity::Note, file, offset, cell: None, text })
}

/// What is known of the log beside what it says: covered by extents, on the disk once.
type Known = (SeqNo, SeqNo);
