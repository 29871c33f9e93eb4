//! The journal's files: `edits/NNNNNNNN.edits` and beside it `.copy`, each a base and the edits after it.
//!
//! A record that either of them has whole counts. Once the edits are longer than the base, a new file is begun. What
//! fails before a sync is undone and refused; after a failed sync nobody knows what the disk has, and nothing more is
//! taken.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::edit::Edit;
use super::fold::{ASIDE, COPY, Folded, MAIN, Problem, furthest, io, numbers, path_of};
use super::record::{self, Place};
use super::state::State;
use crate::env::{Env, EnvFile};
use crate::format::StoreId;
use crate::{Error, ErrorKind, Result};

/// Edits are folded into a new base when they have so many bytes, and more than the base.
const LEAST: u64 = 1 << 20;
/// Files of one name that are kept aside.
const ASIDE_MAX: usize = 100;

/// A commit that was not done.
#[derive(Debug)]
pub struct Unsaved {
    pub error: Error,
    /// Whether it may be found at the next start nevertheless.
    pub is_unknown: bool,
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
    /// The greatest edit that the files show to have been there.
    pub shown: u64,
}

/// What a journal says.
#[derive(Default)]
pub struct Seen {
    pub state: State,
    pub problems: Vec<Problem>,
    /// As of [`Opened`].
    pub shown: u64,
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

/// Keeps a file and its copy where no store reads them.
fn set_aside(env: &dyn Env, dir: &Path, file: u64) -> Result<()> {
    for extension in [MAIN, COPY] {
        let path = path_of(dir, file, extension);
        // What was kept before stays as it is.
        let is_free = |name: &PathBuf| env.exists(name).is_ok_and(|exists| !exists);
        let names = (0..).map(|n| match n {
            0 => path.with_extension(format!("{extension}.{ASIDE}")),
            n => path.with_extension(format!("{n}.{extension}.{ASIDE}")),
        });
        let Some(aside) = names.take(ASIDE_MAX).find(is_free) else { continue };
        match env.rename(&path, &aside) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            renamed => renamed.map_err(|e| io("keep aside", &path, &e))?,
        }
    }
    env.sync_dir(dir).map_err(|e| io("sync", dir, &e))
}

impl Journal {
    /// What the journal in a directory says, without a change; `None`: there is none.
    pub fn look(env: &dyn Env, dir: &Path, store: &StoreId) -> Result<Option<Seen>> {
        let found = furthest(env, dir, store)?;
        Ok(found.map(|(Folded { state, problems, shown, .. }, _)| Seen { state, problems, shown }))
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
            return Ok(Opened { journal, shown: state.edit, state, problems: Vec::new() });
        };
        let shown = folded.shown;
        let lacks_end = folded.state.edit < known.owed.max(shown);
        // What is kept aside tells of the loss already.
        let is_told = !lacks_end || shown == u64::MAX;
        if folded.is_twofold && others.is_empty() && is_told {
            return Self::go_on(env, dir, store, folded);
        }
        let mut old = others;
        old.push(folded.file);
        let number = old.iter().max().copied().unwrap_or(0) + 1;
        let Folded { mut state, problems, .. } = folded;
        if lacks_end {
            // Order: the new file says no more than the old ones, so that a start that finds both knows as much.
            let journal = Self::begin(env, dir, store, (&state, number), Vec::new())?;
            old.iter().try_for_each(|file| set_aside(&**env, dir, *file))?;
            return Ok(Opened { journal, state, problems, shown });
        }
        state.edit += 1;
        let journal = Self::begin(env, dir, store, (&state, number), old)?;
        Ok(Opened { journal, state, problems, shown })
    }

    /// Goes on in a file whose copies are alike.
    fn go_on(env: &Arc<dyn Env>, dir: &Path, store: StoreId, folded: Folded) -> Result<Opened> {
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
        let Folded { state, problems, shown, file, base, end, .. } = folded;
        let (env, dir) = (Arc::clone(env), dir.to_owned());
        let journal = Self { env, dir, store, file, pair, base, end, poison: None, old: Vec::new() };
        Ok(Opened { journal, state, problems, shown })
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
        // Whatever was the matter, even a full disk: it is no use to try again.
        let text = format!("{error}. Whether the change holds is known after a restart");
        let error = Error::new(ErrorKind::Poisoned, text);
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
