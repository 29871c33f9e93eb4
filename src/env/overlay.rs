//! A store on a read-only filesystem: its files are read where they are, and every change of one stays in memory and goes
//! with the process. What opening a store writes down, it can read back.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::sync::Mutex;
use super::{DiskSpace, Env, EnvFile, HeldDir, LockGuard};
use crate::model::Timestamp;

/// What is kept of a changed file at a time, bytes.
const PAGE: usize = 4096;

/// What is below: files and locks that want no right to write.
pub trait Below: Env {
    /// An existing file, for reading alone.
    fn open_to_read(&self, path: &Path) -> io::Result<Arc<dyn EnvFile>>;
    /// A lock beside others of its kind, on a file that is there; `WouldBlock` if another has it alone.
    fn lock_to_read(&self, path: &Path) -> io::Result<Box<dyn LockGuard>>;
}

/// See the module. Clones share what they hold.
#[derive(Clone)]
pub struct OverlayEnv {
    base: Arc<dyn Below>,
    changed: Arc<Mutex<Changed>>,
}

#[derive(Default)]
struct Changed {
    /// Files that were opened or made; `None`: removed.
    files: BTreeMap<PathBuf, Option<Arc<OverlayFile>>>,
    dirs: BTreeSet<PathBuf>,
}

impl OverlayEnv {
    pub fn over(base: impl Below + 'static) -> Self {
        Self { base: Arc::new(base), changed: Arc::default() }
    }

    fn file(&self, path: &Path) -> io::Result<Arc<OverlayFile>> {
        let mut changed = self.changed.lock();
        if let Some(known) = changed.files.get(path) {
            return known.clone().ok_or_else(|| io::ErrorKind::NotFound.into());
        }
        let base = self.base.open_to_read(path)?;
        let len = base.len()?;
        let file =
            Arc::new(OverlayFile { base: Some(base), state: Mutex::new(State { len, kept: len, ..State::default() }) });
        changed.files.insert(path.to_owned(), Some(Arc::clone(&file)));
        Ok(file)
    }
}

impl Env for OverlayEnv {
    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn EnvFile>> {
        if self.exists(path)? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = Arc::new(OverlayFile { base: None, state: Mutex::default() });
        self.changed.lock().files.insert(path.to_owned(), Some(Arc::clone(&file)));
        Ok(file)
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn EnvFile>> {
        Ok(self.file(path)?)
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        let changed = self.changed.lock();
        match changed.files.get(path) {
            Some(known) => Ok(known.is_some()),
            None if changed.dirs.contains(path) => Ok(true),
            None => self.base.exists(path),
        }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let file = self.file(from)?;
        let mut changed = self.changed.lock();
        changed.files.insert(to.to_owned(), Some(file));
        changed.files.insert(from.to_owned(), None);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if !self.exists(path)? {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.changed.lock().files.insert(path.to_owned(), None);
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.exists(to)? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let file = self.file(from)?;
        self.changed.lock().files.insert(to.to_owned(), Some(file));
        Ok(())
    }

    fn remove_tree(&self, _dir: &Path) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::EROFS))
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        let changed = self.changed.lock();
        let base = match self.base.list(dir) {
            Err(e) if e.kind() == io::ErrorKind::NotFound && changed.dirs.contains(dir) => Vec::new(),
            listed => listed?,
        };
        let mut names: BTreeSet<String> = base.into_iter().collect();
        for (path, file) in changed.files.iter().filter(|(path, _)| path.parent() == Some(dir)) {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if file.is_some() {
                names.insert(name.to_owned())
            } else {
                names.remove(name)
            };
        }
        Ok(names.into_iter().collect())
    }

    fn links(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.base.links(dir)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        if !self.base.exists(dir)? {
            self.changed.lock().dirs.insert(dir.to_owned());
        }
        Ok(())
    }

    fn claim_dir(&self, dir: &Path) -> io::Result<()> {
        self.base.claim_dir(dir)
    }

    fn hold(&self, dir: &Path) -> io::Result<HeldDir> {
        self.base.hold(dir)
    }

    fn sync_dir(&self, _dir: &Path) -> io::Result<()> {
        Ok(())
    }

    /// A lock beside others who read, as far as there is one: nobody writes, unless the same files are writable elsewhere.
    fn lock(&self, path: &Path, _holder: &str) -> io::Result<Box<dyn LockGuard>> {
        self.base.lock_to_read(path)
    }

    fn boot(&self, dir: &Path) -> Option<String> {
        self.base.boot(dir)
    }

    fn disk_space(&self, path: &Path) -> io::Result<DiskSpace> {
        self.base.disk_space(path)
    }

    fn now(&self) -> Timestamp {
        self.base.now()
    }

    fn random(&self) -> io::Result<[u8; 32]> {
        self.base.random()
    }
}

/// A file as it is on the disk, with what was written over it.
struct OverlayFile {
    base: Option<Arc<dyn EnvFile>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    len: u64,
    /// So many bytes of what is on the disk count.
    kept: u64,
    pages: BTreeMap<u64, Box<[u8; PAGE]>>,
}

impl OverlayFile {
    /// Fills a page's bytes with what is on the disk, zeros behind it.
    fn read_base(&self, kept: u64, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        buf.fill(0);
        let whole = kept.saturating_sub(offset).min(buf.len() as u64) as usize;
        match &self.base {
            Some(base) if whole > 0 => base.read_at(&mut buf[..whole], offset),
            _ => Ok(()),
        }
    }

    fn page<'s>(&self, state: &'s mut State, number: u64) -> io::Result<&'s mut [u8; PAGE]> {
        if !state.pages.contains_key(&number) {
            let mut page = Box::new([0; PAGE]);
            self.read_base(state.kept, number * PAGE as u64, &mut page[..])?;
            state.pages.insert(number, page);
        }
        state.pages.get_mut(&number).map(|page| &mut **page).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Pages that a range touches, each with where it begins in the range, in the page, and how much of it.
    fn parts(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, usize, usize)> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let from = offset + at as u64;
            let within = (from % PAGE as u64) as usize;
            let part = (PAGE - within).min(len - at);
            let found = (part > 0).then_some((from / PAGE as u64, at, within, part));
            at += part;
            found
        })
    }
}

impl EnvFile for OverlayFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        let state = self.state.lock();
        if offset.saturating_add(buf.len() as u64) > state.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read_base(state.kept, offset, buf)?;
        if state.pages.is_empty() {
            return Ok(());
        }
        for (number, at, within, part) in Self::parts(offset, buf.len()) {
            if let Some(page) = state.pages.get(&number) {
                buf[at..at + part].copy_from_slice(&page[within..within + part]);
            }
        }
        Ok(())
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        for (number, at, within, part) in Self::parts(offset, data.len()) {
            self.page(&mut state, number)?[within..within + part].copy_from_slice(&data[at..at + part]);
        }
        state.len = state.len.max(offset + data.len() as u64);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.state.lock();
        if len < state.len {
            let first = len / PAGE as u64;
            if !len.is_multiple_of(PAGE as u64) {
                self.page(&mut state, first)?[(len % PAGE as u64) as usize..].fill(0);
            }
            state.pages.retain(|number, _| number * (PAGE as u64) < len);
            state.kept = state.kept.min(len);
        }
        state.len = len;
        Ok(())
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.state.lock().len)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::env::RealEnv;

    #[test]
    fn changes_are_read_back_and_the_files_stay_as_they_were() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let bytes: Vec<u8> = (0..20_000u32).map(|n| n as u8).collect();
        fs::write(path("old"), &bytes).unwrap();
        fs::write(path("gone"), "x").unwrap();
        let env = OverlayEnv::over(RealEnv::default());
        let mut model = bytes.clone();
        let file = env.open(&path("old")).unwrap();
        let mut random = 7u64;
        for _ in 0..500 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (offset, len) = ((random >> 33) as usize % 30_000, (random >> 20) as usize % 9_000);
            if random.is_multiple_of(5) {
                file.set_len(offset as u64).unwrap();
                model.resize(offset, 0);
            } else {
                let data = vec![(random >> 50) as u8; len];
                file.write_at(&data, offset as u64).unwrap();
                if model.len() < offset + len {
                    model.resize(offset + len, 0);
                }
                model[offset..offset + len].copy_from_slice(&data);
            }
            assert_eq!(env.read_file(&path("old")).unwrap(), model);
        }
        env.remove(&path("gone")).unwrap();
        env.replace_file(&path("new one"), b"made").unwrap();
        env.rename(&path("old"), &path("renamed")).unwrap();
        env.create_dir(&path("dir")).unwrap();
        env.create_new(&path("dir/below")).unwrap();
        assert_eq!(env.list(directory.path()).unwrap(), ["new one", "renamed"]);
        assert_eq!(env.list(&path("dir")).unwrap(), ["below"]);
        assert!(env.open(&path("old")).is_err() && env.create_new(&path("new one")).is_err());
        assert_eq!(env.read_file(&path("renamed")).unwrap(), model);
        let mut names: Vec<_> = fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["gone", "old"]);
        assert_eq!(fs::read(path("old")).unwrap(), bytes);
    }
}
