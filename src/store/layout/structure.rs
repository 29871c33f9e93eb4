//! The owner of what is stored: the journal, the open files, the numbers that are given out. One way to change any of
//! it: [`Structure::commit`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use super::runs::{File, Layout};
use crate::env::Env;
use crate::env::sync::Mutex;
use crate::format::StoreId;
use crate::journal::{Edit, Item, Journal, State, Unsaved};
use crate::model::{Catalogue, FamilyId, FamilySchema};
use crate::segment::{Cache, Caching, Segment};
use crate::store::health::progress::Progress;
use crate::{Error, ErrorKind, Result};

/// Numbers of files that are reserved at once.
const NUMBERS: u64 = 1024;

/// See the module.
pub struct Structure {
    env: Arc<dyn Env>,
    store: StoreId,
    segments: PathBuf,
    cache: Arc<Cache>,
    /// Where edits are noted that are on the disk.
    progress: Arc<Progress>,
    /// Lock 4: one edit at a time.
    journal: Mutex<Committing>,
    /// Lock 6: open segments, as many as the layouts in use have.
    files: Mutex<FxHashMap<u64, Arc<File>>>,
    /// The next number of a file; those up to the journal's are reserved.
    next: AtomicU64,
    reserved: AtomicU64,
    /// Files that no edit names any more; they go once nobody reads them.
    garbage: Mutex<Vec<Arc<File>>>,
    /// Lock 5: held while files are removed, so that who asks for it finds them gone.
    removing: Mutex<()>,
    /// The filesystem gives nothing back of a file but the file.
    pub(super) cannot_punch: AtomicBool,
    #[cfg(test)]
    broken: Option<crate::store::options::Broken>,
}

struct Committing {
    journal: Journal,
    layout: Arc<Layout>,
}

/// Where a segment is.
pub fn segment_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:08}.seg"))
}

impl Structure {
    /// Of a journal that was opened; numbers up to `named` stand in names of files.
    pub fn new(
        env: &Arc<dyn Env>,
        dir: &Path,
        store: StoreId,
        (journal, state, progress): (Journal, State, &Arc<Progress>),
        (named, cache_bytes): (u64, u64),
    ) -> Self {
        let structure = Self {
            env: Arc::clone(env),
            store,
            segments: dir.join("segments"),
            cache: Cache::new(cache_bytes as usize),
            progress: Arc::clone(progress),
            next: AtomicU64::new(named.max(state.numbers) + 1),
            reserved: AtomicU64::new(0),
            journal: Mutex::new(Committing { journal, layout: Arc::default() }),
            files: Mutex::default(),
            garbage: Mutex::default(),
            removing: Mutex::default(),
            cannot_punch: AtomicBool::new(false),
            #[cfg(test)]
            broken: None,
        };
        let state = Arc::new(state);
        structure.cache.set_families(caching(&state.catalogue));
        let layout = Layout::new(&state, (u64::MAX, state.live()), &mut |number| structure.file(number));
        structure.journal.lock().layout = Arc::new(layout);
        structure
    }

    /// The same, breaking a rule.
    #[cfg(test)]
    pub fn breaking(mut self, broken: Option<crate::store::options::Broken>) -> Self {
        self.broken = broken;
        self
    }

    /// What is stored after the last edit.
    pub fn layout(&self) -> Arc<Layout> {
        Arc::clone(&self.journal.lock().layout)
    }

    /// What was read of segments and may be asked again.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Which store it is.
    pub fn store(&self) -> &StoreId {
        &self.store
    }

    /// As [`Structure::store`].
    pub fn store_id(&self) -> StoreId {
        self.store
    }

    /// What holds now, and every file that anything refers to, held.
    pub fn held(&self) -> (Arc<State>, Vec<Arc<File>>) {
        // Order: no edit in between, or a file could go before it is held.
        let committing = self.journal.lock();
        let state = Arc::clone(&committing.layout.state);
        let files = state.files().into_iter().map(|number| self.file(number)).collect();
        (state, files)
    }

    /// Files that nothing refers to and somebody still reads.
    pub fn lingering(&self) -> Vec<Arc<File>> {
        self.garbage.lock().clone()
    }

    /// Directory of the segments.
    pub fn directory(&self) -> &Path {
        &self.segments
    }

    /// Where a segment is.
    pub fn path(&self, number: u64) -> PathBuf {
        segment_path(&self.segments, number)
    }

    /// An open file; one that cannot be opened says why to every read.
    pub fn file(&self, number: u64) -> Arc<File> {
        if let Some(file) = self.files.lock().get(&number) {
            return Arc::clone(file);
        }
        let segment = Segment::open(&*self.env, &self.path(number), self.store, number, &self.cache);
        if let Err(e) = &segment {
            log::error!("{e}");
        }
        let file = Arc::new(File { number, segment });
        Arc::clone(self.files.lock().entry(number).or_insert(file))
    }

    /// What a snapshot holds.
    pub fn layout_at(&self, state: &Arc<State>, edit: u64, families: &dyn Fn(FamilyId) -> bool) -> Layout {
        let counted = state.counted_at(edit).filter(|(reference, _)| families(reference.family));
        Layout::new(state, (edit, counted), &mut |number| self.file(number))
    }

    /// A number that no file of this store has had.
    pub fn next_number(&self) -> Result<u64> {
        let number = self.next.fetch_add(1, Ordering::AcqRel);
        while number > self.reserved.load(Ordering::Acquire) {
            let upto = number + NUMBERS;
            self.commit(|_| Ok(Item::NumbersUpTo(upto).into()), |_| ()).map_err(|unsaved| unsaved.error)?;
            self.reserved.fetch_max(upto, Ordering::AcqRel);
        }
        Ok(number)
    }

    /// Makes one change of what is stored: `edit` makes it of what holds then, or refuses; `publish` is given the new
    /// layout before anyone else can change it again.
    pub fn commit<T>(
        &self,
        edit: impl FnOnce(&Layout) -> Result<Edit>,
        publish: impl FnOnce(&Arc<Layout>) -> T,
    ) -> std::result::Result<T, Unsaved> {
        let mut committing = self.journal.lock();
        let before = Arc::clone(&committing.layout);
        let refused = |error| Unsaved { error, is_unknown: false };
        let edit = edit(&before).map_err(refused)?;
        check(&before, &edit).map_err(refused)?;
        self.open_added(&before.state, &edit).map_err(refused)?;
        let after = Arc::new(committing.journal.commit(&before.state, &edit)?);
        self.progress.note_edit(after.edit);
        if edit.items.iter().any(|item| matches!(item, Item::Catalogue(_))) {
            self.cache.set_families(caching(&after.catalogue));
        }
        let changed = edit.items.iter().filter_map(|item| match item {
            Item::Add { reference, .. }
            | Item::Remove(reference)
            | Item::Trim { reference, .. }
            | Item::Repaired { was: reference, .. } => Some(reference.family),
            _ => None,
        });
        let mut changed: Vec<FamilyId> = changed.collect();
        changed.sort_unstable_by_key(|id| id.0);
        changed.dedup();
        let layout = Arc::new(before.changed(&after, changed.into_iter(), &mut |number| self.file(number)));
        committing.layout = Arc::clone(&layout);
        let published = publish(&layout);
        self.note_garbage(&before.state, &after);
        Ok(published)
    }

    /// Opens what an edit adds, before it counts: what cannot be opened for the moment would be an error to each read until
    /// the next start, and what was just written and is not as it was must not take the place of what it was made of. The
    /// damage of a file that counted before is an error in any case.
    fn open_added(&self, before: &State, edit: &Edit) -> Result<()> {
        for item in &edit.items {
            let Item::Add { reference, .. } = item else { continue };
            if self.files.lock().contains_key(&reference.file) {
                continue;
            }
            let file = self.file(reference.file);
            let Err(e) = &file.segment else { continue };
            let refused = match e.kind {
                ErrorKind::Corrupt if before.files().contains(&reference.file) => continue,
                ErrorKind::Corrupt => {
                    let path = self.path(reference.file);
                    Error::new(ErrorKind::Io, format!("what was written to {} is not there", path.display()))
                }
                _ => e.clone(),
            };
            self.files.lock().remove(&reference.file);
            return Err(refused);
        }
        Ok(())
    }

    /// What nothing refers to after an edit, not even a snapshot.
    fn note_garbage(&self, before: &State, after: &State) {
        if before.references.len() == after.references.len() && before.references.keys().eq(after.references.keys()) {
            return;
        }
        let kept = after.files();
        #[cfg(test)]
        let kept = match self.broken {
            Some(crate::store::options::Broken::ForgetsSnapshots) => {
                after.live().map(|(reference, _)| reference.file).collect()
            }
            _ => kept,
        };
        let gone: Vec<u64> = before.files().difference(&kept).copied().collect();
        let mut files = self.files.lock();
        let gone = gone.into_iter().filter_map(|number| files.remove(&number));
        self.garbage.lock().extend(gone);
    }

    /// Removes files that nothing refers to and nobody reads. Order: an edit that is on the disk twice has let them go.
    pub fn collect(&self) -> u64 {
        let _one = self.removing.lock();
        let unread: Vec<Arc<File>> = {
            let mut garbage = self.garbage.lock();
            garbage.extract_if(.., |file| Arc::strong_count(file) == 1).collect()
        };
        let mut bytes = 0;
        for file in unread {
            let path = self.path(file.number);
            bytes += file.segment.as_ref().map_or(0, |segment| segment.bytes());
            if let Err(e) = self.env.remove(&path)
                && e.kind() != std::io::ErrorKind::NotFound
            {
                log::warn!("remove {}: {e}; it goes at the next start", path.display());
            }
        }
        bytes
    }

    /// Gives a damaged file a name by which no store finds it; that name. `None`: it is not there. Order: nothing refers
    /// to it any more, or nothing of it can be read.
    pub fn set_aside(&self, number: u64) -> Result<Option<PathBuf>> {
        let path = self.path(number);
        let aside = path.with_extension("seg.damaged");
        match self.env.rename(&path, &aside) {
            Ok(()) => {}
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io(format!("rename {}", path.display()), &e)),
        }
        self.env.sync_dir(&self.segments).map_err(|e| Error::io(format!("sync {}", self.segments.display()), &e))?;
        Ok(Some(aside))
    }

    /// Bytes of all segment files that are named, and how many there are.
    pub fn bytes(&self) -> (u64, u64) {
        let files = self.files.lock();
        let bytes = files.values().filter_map(|file| file.segment.as_ref().ok()).map(|segment| segment.bytes()).sum();
        (bytes, files.len() as u64)
    }

    /// Removes files in the directories that the journal does not name. Once, before anything is written.
    pub fn sweep(&self) -> Result<()> {
        let named = self.journal.lock().layout.state.files();
        let io = |e: std::io::Error| Error::io(format!("list {}", self.segments.display()), &e);
        for number in numbers(&*self.env, &self.segments, ".seg").map_err(io)? {
            if !named.contains(&number) {
                let path = self.path(number);
                self.env.remove(&path).map_err(|e| Error::io(format!("remove {}", path.display()), &e))?;
            }
        }
        let blobs = self.segments.with_file_name("blobs");
        let named = Arc::clone(&self.journal.lock().layout.state);
        for number in numbers(&*self.env, &blobs, ".blob").map_err(io)? {
            if !named.blobs.contains_key(&number) {
                let path = blobs.join(format!("{number:08}.blob"));
                self.env.remove(&path).map_err(|e| Error::io(format!("remove {}", path.display()), &e))?;
            }
        }
        self.env.sync_dir(&self.segments).map_err(|e| Error::io(format!("sync {}", self.segments.display()), &e))
    }
}

/// How blocks of families are held that ask for something.
fn caching(catalogue: &Catalogue) -> FxHashMap<FamilyId, Caching> {
    let of = |family: &FamilySchema| {
        let is = |name: &str, wanted: &str| {
            family.attributes.get(name).is_some_and(|value| value.eq_ignore_ascii_case(wanted))
        };
        match (is("BLOCKCACHE", "false"), is("IN_MEMORY", "true")) {
            (true, _) => Some((family.id, Caching::None)),
            (false, true) => Some((family.id, Caching::Preferred)),
            _ => None,
        }
    };
    catalogue.stored_families().filter_map(of).collect()
}

/// Numbers of the files in a directory whose names end so.
pub fn numbers(env: &dyn Env, dir: &Path, extension: &str) -> std::io::Result<Vec<u64>> {
    match env.list(dir) {
        Ok(names) => Ok(names.iter().filter_map(|name| name.strip_suffix(extension)?.parse().ok()).collect()),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(e) => Err(e),
    }
}

/// Whether there are segments that a journal does not name.
pub fn has_unnamed(env: &dyn Env, dir: &Path, state: &State) -> std::io::Result<bool> {
    let named = state.files();
    Ok(numbers(env, &dir.join("segments"), ".seg")?.iter().any(|number| !named.contains(number)))
}

/// What must hold of every edit.
fn check(layout: &Layout, edit: &Edit) -> Result<()> {
    let broken = |text: String| Err(Error::new(crate::ErrorKind::Busy, text));
    let state = &layout.state;
    let mut added = BTreeSet::new();
    for item in &edit.items {
        match item {
            Item::Add { reference, .. } if state.references.contains_key(reference) || !added.insert(reference) => {
                return broken(format!("extent {} of segment {} is there already", reference.extent, reference.file));
            }
            // What comes back from a snapshot counts from the key on that it counted from then.
            Item::Trim { reference, .. } if added.contains(reference) => {}
            Item::Remove(reference) | Item::Trim { reference, .. }
                if state.references.get(reference).is_none_or(|held| held.gone.is_some()) =>
            {
                return broken(format!("extent {} of segment {} is gone already", reference.extent, reference.file));
            }
            Item::Trim { reference, from }
                if state.references.get(reference).is_some_and(|held| held.from() > *from) =>
            {
                return broken(format!("extent {} of segment {} begins later", reference.extent, reference.file));
            }
            Item::Repaired { was, now }
                if !state.references.contains_key(was) || now.iter().any(|now| state.references.contains_key(now)) =>
            {
                return broken(format!("extent {} of segment {} was repaired already", was.extent, was.file));
            }
            Item::Covered(seq) if *seq < state.covered => {
                return broken("what was flushed before does not become unflushed".to_owned());
            }
            _ => {}
        }
    }
    Ok(())
}
