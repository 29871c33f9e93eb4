//! The journal's files: `edits/NNNNNNNN.edits` and beside it `.copy`, each a base and the edits after it.
//!
//! A record that either of them has whole counts. Once the edits are longer than the base, a new file is begun. What
//! fails before a sync is undone and refused; after a failed sync nobody knows what the disk has, and nothing more is
//! taken.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::edit::Edit;
use super::record::{self, Body, Place};
use super::state::State;
use crate::env::{Env, EnvFile, Partial};
use crate::format::StoreId;
use crate::{Error, ErrorKind, Result};

/// Edits are folded into a new base when they have so many bytes, and more than the base.
const LEAST: u64 = 1 << 20;
const MAIN: &str = "edits";
const COPY: &str = "copy";

/// A commit that was not done.
#[derive(Debug)]
pub struct Unsaved {
    pub error: Error,
    /// Whether it may be found at the next start nevertheless.
    pub is_unknown: bool,
}

/// Something that was not as it was written, and was made good from its other copy.
#[derive(Clone, Debug)]
pub struct Problem {
    pub path: PathBuf,
    pub offset: u64,
    pub text: String,
}

/// What is known of a journal before it is opened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Found {
    /// Nothing else of the store was ever made, so that a journal that has no beginning was never finished.
    pub is_young: bool,
    /// An edit that was on the disk.
    pub owed: u64,
}

/// What was found in a store's directory.
pub struct Opened {
    pub journal: Journal,
    pub state: State,
    pub problems: Vec<Problem>,
}

/// See the module. The caller makes one commit at a time.
pub struct Journal {
    env: Arc<dyn Env>,
    dir: PathBuf,
    store: StoreId,
    file: u64,
    /// The file and its copy.
    pair: [Arc<dyn EnvFile>; 2],
    base: u64,
    end: u64,
    poison: Option<Error>,
    /// An older file that could not be removed yet.
    old: Vec<u64>,
}

fn path_of(dir: &Path, file: u64, extension: &str) -> PathBuf {
    dir.join(format!("{file:08}.{extension}"))
}

fn io(what: &str, path: &Path, e: &std::io::Error) -> Error {
    Error::io(format!("{what} {}", path.display()), e)
}

/// The numbers of the journal files in a directory, ascending.
fn numbers(env: &dyn Env, dir: &Path) -> Result<Vec<u64>> {
    let names = match env.list(dir) {
        Ok(names) => names,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(io("list", dir, &e)),
    };
    let number = |name: &String| {
        let (number, extension) = name.split_once('.')?;
        if extension == MAIN || extension == COPY { number.parse().ok() } else { None }
    };
    let mut found: Vec<u64> = names.iter().filter_map(number).collect();
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// What one file and its copy say together.
struct Folded {
    file: u64,
    state: State,
    base: u64,
    /// Every record up to here is whole in one of them.
    end: u64,
    bytes: Vec<u8>,
    problems: Vec<Problem>,
    /// Whether both have it all.
    is_twofold: bool,
}

/// A file and its copy as far as they can be read, and what of them cannot.
fn read_both(env: &dyn Env, paths: &[PathBuf; 2]) -> Result<([Partial; 2], Vec<Problem>)> {
    let read = |path: &PathBuf| match Partial::read(env, path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Partial::default()),
        read => read.map_err(|e| io("read", path, &e)),
    };
    let both = match [read(&paths[0]), read(&paths[1])] {
        [Err(e), Err(_)] => return Err(e),
        both => both,
    };
    let problem = |(path, read): (&PathBuf, &Result<Partial>)| {
        let (offset, what) = match read {
            Ok(read) => (read.refused_in(0..usize::MAX)?, "it cannot be read here".to_owned()),
            Err(e) => (0, e.message.clone()),
        };
        let text = format!("{what}; its other copy is whole and takes its place");
        Some(Problem { path: path.clone(), offset, text })
    };
    let problems = paths.iter().zip(&both).filter_map(problem).collect();
    // One that cannot be read is as good as one that is not there, while the other can.
    Ok((both.map(Result::unwrap_or_default), problems))
}

fn fold(env: &dyn Env, dir: &Path, store: &StoreId, file: u64) -> Result<Option<Folded>> {
    let paths = [path_of(dir, file, MAIN), path_of(dir, file, COPY)];
    let (read, unread) = read_both(env, &paths)?;
    let both = read.each_ref().map(|read| &read.bytes);
    let mut folded: Option<Folded> = None;
    let mut at = 0usize;
    loop {
        let place = Place { store, file, offset: at as u64 };
        let found = both.map(|bytes| record::decode(place, bytes.get(at..).unwrap_or_default()));
        let lacking = found.iter().position(Option::is_none);
        let which = usize::from(found[0].is_none());
        let Some((number, body, len)) = found.into_iter().flatten().next() else { break };
        match (&mut folded, body) {
            (None, Body::Base(state)) if at == 0 => {
                let (base, problems) = (len as u64, Vec::new());
                let state = *state;
                folded = Some(Folded { file, state, base, end: 0, bytes: Vec::new(), problems, is_twofold: true });
            }
            (Some(folded), Body::Edit(edit)) if number == folded.state.edit + 1 => folded.state.fold(&edit),
            _ => break,
        }
        let Some(folded) = &mut folded else { break };
        if let Some(lacks) = lacking {
            folded.is_twofold = false;
            let is_there = !read[lacks].bytes.is_empty() && read[lacks].refused_in(at..at + len).is_none();
            let is_read = is_there || unread.iter().all(|problem| problem.path != paths[lacks]);
            // An end that was not written to the second one yet is no damage.
            let record = &both[which][at..at + len];
            if is_read && (both[lacks].is_empty() || !is_begun(both[lacks].get(at..).unwrap_or_default(), record)) {
                let text = "it is damaged; its other copy is whole and takes its place".to_owned();
                folded.problems.push(Problem { path: paths[lacks].clone(), offset: at as u64, text });
            }
        }
        folded.bytes.extend_from_slice(&both[which][at..at + len]);
        at += len;
        folded.end = at as u64;
    }
    // What follows may have been acknowledged, and no copy says what it is.
    if let [Some(offset), Some(_)] = read.each_ref().map(|read| read.refused_in(at..usize::MAX)) {
        let text = format!("{}, offset {offset}: neither it nor its copy can be read", paths[0].display());
        return Err(Error::new(ErrorKind::Io, text));
    }
    if let Some(folded) = &mut folded {
        folded.is_twofold &= both.iter().all(|bytes| bytes.len() == at);
        folded.problems.splice(..0, unread);
    }
    Ok(folded)
}

/// Whether these bytes are what may have come of a record in the middle of its write.
fn is_begun(bytes: &[u8], record: &[u8]) -> bool {
    bytes.len() <= record.len() && bytes.iter().zip(record).all(|(found, wanted)| found == wanted || *found == 0)
}

/// The fold that reaches furthest; `None`: there is no journal.
fn furthest(env: &dyn Env, dir: &Path, store: &StoreId) -> Result<Option<(Folded, Vec<u64>)>> {
    let found = numbers(env, dir)?;
    let mut best: Option<Folded> = None;
    for file in &found {
        if let Some(folded) = fold(env, dir, store, *file)?
            && best.as_ref().is_none_or(|best| folded.state.edit > best.state.edit)
        {
            best = Some(folded);
        }
    }
    match best {
        Some(best) => {
            let others = found.into_iter().filter(|file| *file != best.file).collect();
            Ok(Some((best, others)))
        }
        None if found.is_empty() => Ok(None),
        None => {
            let text = format!(
                "{}: the journal and its copy are both damaged from their beginning on; put back those of a backup",
                dir.display()
            );
            Err(Error::new(ErrorKind::Corrupt, text))
        }
    }
}

/// Keeps a file and its copy where no store reads them.
fn set_aside(env: &dyn Env, dir: &Path, file: u64) -> Result<()> {
    for extension in [MAIN, COPY] {
        let path = path_of(dir, file, extension);
        match env.rename(&path, &path.with_extension(format!("{extension}.damaged"))) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            renamed => renamed.map_err(|e| io("keep aside", &path, &e))?,
        }
    }
    env.sync_dir(dir).map_err(|e| io("sync", dir, &e))
}

impl Journal {
    /// What the journal in a directory says, without a change; `None`: there is none.
    pub fn look(env: &dyn Env, dir: &Path, store: &StoreId) -> Result<Option<(State, Vec<Problem>)>> {
        Ok(furthest(env, dir, store)?.map(|(folded, _)| (folded.state, folded.problems)))
    }

    /// Opens the journal, or begins one with `initial`; makes its two copies alike. Files that end before an edit that was
    /// on the disk are kept aside, `NNNNNNNN.edits.damaged` and `NNNNNNNN.copy.damaged`, and the state ends as they do.
    pub fn open(
        env: &Arc<dyn Env>,
        dir: &Path,
        store: StoreId,
        known: Found,
        initial: impl FnOnce() -> State,
    ) -> Result<Opened> {
        let found = match furthest(&**env, dir, &store) {
            Err(e) if e.kind == ErrorKind::Corrupt && known.is_young => None,
            found => found?,
        };
        let Some((folded, others)) = found else {
            let mut state = initial();
            state.edit = 1;
            let unfinished = numbers(&**env, dir)?;
            let number = unfinished.last().map_or(1, |last| last + 1);
            let journal = Self::begin(env, dir, store, (&state, number), unfinished)?;
            return Ok(Opened { journal, state, problems: Vec::new() });
        };
        if folded.is_twofold && others.is_empty() {
            let open = |extension| {
                let path = path_of(dir, folded.file, extension);
                env.open(&path).map_err(|e| io("open", &path, &e))
            };
            let pair = [open(MAIN)?, open(COPY)?];
            // What was read may be in memory alone, and count as written after a sync that failed.
            for file in &pair {
                let again = file.write_at(&folded.bytes, 0).and_then(|()| file.sync());
                again.map_err(|e| io("sync the journal in", dir, &e))?;
            }
            let journal = Self {
                env: Arc::clone(env),
                dir: dir.to_owned(),
                store,
                file: folded.file,
                pair,
                base: folded.base,
                end: folded.end,
                poison: None,
                old: Vec::new(),
            };
            return Ok(Opened { journal, state: folded.state, problems: folded.problems });
        }
        let mut old = others;
        old.push(folded.file);
        let number = old.iter().max().copied().unwrap_or(0) + 1;
        let mut state = folded.state;
        if state.edit < known.owed {
            // Order: the new file says no more than the old ones, so that a start that finds both knows as much.
            let journal = Self::begin(env, dir, store, (&state, number), Vec::new())?;
            old.iter().try_for_each(|file| set_aside(&**env, dir, *file))?;
            return Ok(Opened { journal, state, problems: folded.problems });
        }
        state.edit += 1;
        let journal = Self::begin(env, dir, store, (&state, number), old)?;
        Ok(Opened { journal, state, problems: folded.problems })
    }

    /// A new file that begins with a state; `old` ones go once it is on the disk.
    fn begin(
        env: &Arc<dyn Env>,
        dir: &Path,
        store: StoreId,
        (state, file): (&State, u64),
        old: Vec<u64>,
    ) -> Result<Self> {
        let bytes = record::of_base(Place { store: &store, file, offset: 0 }, state)?;
        let make = |extension| -> Result<Arc<dyn EnvFile>> {
            let path = path_of(dir, file, extension);
            let made = env.create_new(&path).map_err(|e| io("make", &path, &e))?;
            made.write_at(&bytes, 0).and_then(|()| made.sync()).map_err(|e| io("write", &path, &e))?;
            Ok(made)
        };
        let end = bytes.len() as u64;
        let made = make(MAIN).and_then(|main| Ok([main, make(COPY)?]));
        let pair = made.inspect_err(|_| {
            let _ = env.remove(&path_of(dir, file, MAIN));
            let _ = env.remove(&path_of(dir, file, COPY));
        })?;
        env.sync_dir(dir).map_err(|e| io("sync", dir, &e))?;
        let (env, dir) = (Arc::clone(env), dir.to_owned());
        let mut journal = Self { env, dir, store, file, pair, base: end, end, poison: None, old };
        journal.remove_old();
        Ok(journal)
    }

    fn remove_old(&mut self) {
        let (env, dir) = (&self.env, &self.dir);
        self.old.retain(|file| {
            [MAIN, COPY].iter().any(|extension| {
                let path = path_of(dir, *file, extension);
                env.exists(&path).unwrap_or(true) && env.remove(&path).is_err()
            })
        });
    }

    /// Makes an edit durable, twice; the state after it. One that was not done and is not unknown left nothing.
    pub fn commit(&mut self, before: &State, edit: &Edit) -> std::result::Result<State, Unsaved> {
        if let Some(error) = &self.poison {
            return Err(Unsaved { error: error.clone(), is_unknown: false });
        }
        let refused = |error| Unsaved { error, is_unknown: false };
        if self.end - self.base > LEAST.max(self.base) {
            self.rebase(before)?;
        }
        let (place, after) = (Place { store: &self.store, file: self.file, offset: self.end }, before.after(edit));
        let bytes = record::of_edit(place, after.edit, edit).map_err(refused)?;
        // Order: both are written before either is synced, so that a full disk leaves nothing in doubt.
        let written = self.pair.iter().try_for_each(|file| file.write_at(&bytes, self.end));
        if let Err(e) = written {
            return Err(self.undo(&e));
        }
        for file in &self.pair {
            if let Err(e) = file.sync() {
                return Err(self.set_poison(io("sync the journal in", &self.dir, &e)));
            }
        }
        self.end += bytes.len() as u64;
        Ok(after)
    }

    /// Takes back what was written of an edit. A copy of it that the system has written to the disk meanwhile would count
    /// after a power cut, so the disk has to have the cut too.
    fn undo(&mut self, source: &std::io::Error) -> Unsaved {
        let error = io("write the journal in", &self.dir, source);
        match self.pair.iter().try_for_each(|file| file.set_len(self.end).and_then(|()| file.sync())) {
            Ok(()) => Unsaved { error, is_unknown: false },
            Err(e) => self.set_poison(io("cut off what was written to the journal in", &self.dir, &e)),
        }
    }

    fn set_poison(&mut self, error: Error) -> Unsaved {
        self.poison = Some(error.clone());
        Unsaved { error, is_unknown: true }
    }

    /// Goes on in a new file. Where there is no room for it the old one does for now.
    fn rebase(&mut self, state: &State) -> std::result::Result<(), Unsaved> {
        let next = self.file + 1;
        let mut old = std::mem::take(&mut self.old);
        old.push(self.file);
        match Self::begin(&self.env, &self.dir, self.store, (state, next), old.clone()) {
            Ok(journal) => *self = journal,
            Err(e) => {
                old.pop();
                self.old = old;
                log::warn!("begin a new journal: {e}; it is tried again");
                let left = [MAIN, COPY]
                    .iter()
                    .any(|extension| self.env.exists(&path_of(&self.dir, next, extension)).unwrap_or(true));
                // A base that came through after all would hide what is appended here.
                if left || self.env.sync_dir(&self.dir).is_err() {
                    return Err(self.set_poison(e));
                }
            }
        }
        Ok(())
    }
}
