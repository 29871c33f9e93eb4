//! The calls of the simulated machine.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::file::SimLock;
use super::{Node, SimEnv};
use crate::env::{DiskSpace, Env, EnvFile, LockGuard, sync};
use crate::model::Timestamp;

impl Env for SimEnv {
    fn create_new(&self, path: &Path) -> io::Result<Arc<dyn EnvFile>> {
        sync::point();
        let mut state = self.state.lock();
        let life = state.alive(self.life)?;
        state.step(life)?;
        if state.names.contains(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.nodes.push(Node::default());
        let at = state.nodes.len() - 1;
        log::trace!("file {at}: {}", path.display());
        state.names.set(path, at);
        Ok(self.file(at, life))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn EnvFile>> {
        sync::point();
        log::trace!("open {}", path.display());
        let mut state = self.state.lock();
        let life = state.alive(self.life)?;
        state.look()?;
        Ok(self.file(state.node(path)?, life))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        sync::point();
        let mut state = self.state.lock();
        state.alive(self.life)?;
        state.look()?;
        Ok(state.names.contains(path) || state.dirs.contains(path))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        sync::point();
        log::trace!("rename {} {}", from.display(), to.display());
        let mut state = self.state.lock();
        let life = state.alive(self.life)?;
        state.step(life)?;
        let at = state.node(from)?;
        state.names.rename(from, to, at);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        sync::point();
        log::trace!("remove {}", path.display());
        let mut state = self.state.lock();
        let life = state.alive(self.life)?;
        state.step(life)?;
        state.node(path)?;
        state.names.unset(path);
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        sync::point();
        log::trace!("link {} {}", from.display(), to.display());
        let mut state = self.state.lock();
        let life = state.alive(self.life)?;
        state.step(life)?;
        let at = state.node(from)?;
        if state.names.contains(to) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        state.names.set(to, at);
        Ok(())
    }

    fn remove_tree(&self, dir: &Path) -> io::Result<()> {
        sync::point();
        log::trace!("remove_tree {}", dir.display());
        let mut state = self.state.lock();
        let life = state.alive(self.life)?;
        state.step(life)?;
        state.names.unset_below(dir);
        state.dirs.retain(|path| !path.starts_with(dir));
        Ok(())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<String>> {
        sync::point();
        let mut state = self.state.lock();
        state.alive(self.life)?;
        state.look()?;
        let all = state.names.paths().chain(&state.dirs);
        let inside = all.filter(|path| path.parent() == Some(dir));
        Ok(inside.filter_map(|path| path.file_name()?.to_str().map(str::to_owned)).collect())
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        sync::point();
        log::trace!("create_dir {}", dir.display());
        let mut state = self.state.lock();
        let life = state.alive(self.life)?;
        state.step(life)?;
        state.dirs.extend(dir.ancestors().map(Path::to_owned));
        Ok(())
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        sync::point();
        log::trace!("sync_dir {}", dir.display());
        let mut state = self.state.lock();
        let life = state.alive(self.life)?;
        state.step(life)?;
        state.names.sync(dir);
        Ok(())
    }

    fn lock(&self, path: &Path, holder: &str) -> io::Result<Box<dyn LockGuard>> {
        sync::point();
        let life = {
            let mut state = self.state.lock();
            state.alive(self.life)?;
            if !state.locked.insert(path.to_owned()) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            state.life
        };
        let guard = Box::new(SimLock { env: self.clone(), path: path.to_owned(), life });
        let file = if self.exists(path)? { self.open(path)? } else { self.create_new(path)? };
        file.set_len(0)?;
        file.write_at(holder.as_bytes(), 0)?;
        Ok(guard)
    }

    fn boot(&self, _dir: &Path) -> Option<String> {
        Some(format!("simulated {}", self.state.lock().boots))
    }

    fn disk_space(&self, _path: &Path) -> io::Result<DiskSpace> {
        sync::point();
        let state = self.state.lock();
        let total = state.space.unwrap_or(1 << 40);
        let free = total.saturating_sub(state.others + state.used());
        Ok(DiskSpace { total, free, available: free.saturating_sub(state.kept_for_us), usable: free })
    }

    fn now(&self) -> Timestamp {
        Timestamp(self.state.lock().clock + sync::scheduled_ms())
    }

    fn random(&self) -> io::Result<[u8; 32]> {
        let mut state = self.state.lock();
        let mut bytes = [0; 32];
        for part in bytes.chunks_mut(8) {
            part.copy_from_slice(&state.next_random().to_le_bytes());
        }
        Ok(bytes)
    }
}
