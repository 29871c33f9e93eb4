//! An environment that forgets one of its duties: the negative control of the crash tests, which must notice.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{DiskSpace, Env, EnvFile, HeldDir, LockGuard};
use crate::model::Timestamp;

/// What is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgets {
    /// Contents are not synced.
    Sync,
    /// Names are not synced.
    SyncDir,
}

/// See the module.
pub struct CarelessEnv {
    inner: Arc<dyn Env>,
    forgets: Forgets,
}

struct CarelessFile {
    inner: Arc<dyn EnvFile>,
    forgets: Forgets,
}

impl CarelessEnv {
    /// Does everything that `inner` does, but for what it forgets.
    pub fn new(inner: Arc<dyn Env>, forgets: Forgets) -> Self {
        Self { inner, forgets }
    }

    fn file(&self, inner: Arc<dyn EnvFile>) -> Arc<dyn EnvFile> {
        Arc::new(CarelessFile { inner, forgets: self.forgets })
    }
}

impl EnvFile for CarelessFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        self.inner.read_at(buf, offset)
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.inner.write_at(data, offset)
    }

    fn sync(&self) -> io::Result<()> {
        if self.forgets == Forgets::Sync { Ok(()) } else { self.inner.sync() }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        self.inner.punch(offset, len)
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn is_named(&self) -> io::Result<bool> {
        self.inner.is_named()
    }
}

impl Env for CarelessEnv {
    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn EnvFile>> {
        Ok(self.file(self.inner.create_new(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn EnvFile>> {
        Ok(self.file(self.inner.open(path)?))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.inner.exists(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner.link(from, to)
    }

    fn remove_tree(&self, dir: &Path) -> io::Result<()> {
        self.inner.remove_tree(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        self.inner.list(dir)
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.create_dir(dir)
    }

    fn claim_dir(&self, dir: &Path) -> io::Result<()> {
        self.inner.claim_dir(dir)
    }

    fn hold(&self, dir: &Path) -> io::Result<HeldDir> {
        self.inner.hold(dir)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        if self.forgets == Forgets::SyncDir { Ok(()) } else { self.inner.sync_dir(dir) }
    }

    fn lock(&self, path: &Path, holder: &str) -> io::Result<Box<dyn LockGuard>> {
        self.inner.lock(path, holder)
    }

    fn boot(&self, dir: &Path) -> Option<String> {
        self.inner.boot(dir)
    }

    fn disk_space(&self, path: &Path) -> io::Result<DiskSpace> {
        self.inner.disk_space(path)
    }

    fn now(&self) -> Timestamp {
        self.inner.now()
    }

    fn random(&self) -> io::Result<[u8; 32]> {
        self.inner.random()
    }
}
