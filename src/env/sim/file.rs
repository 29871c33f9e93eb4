//! Files and locks of the simulated machine.

use crate::env::sync;

use super::{EnvFile, LockGuard, PathBuf, Pending, SimEnv, io, overwrite};
use crate::env::{WINDOW_HEAD, Window};

/// Bytes of a window: few, so that a file has many of them, and records that do not fit.
const WINDOW: u64 = 1024;

pub(super) struct SimFile {
    pub(super) env: SimEnv,
    pub(super) node: usize,
    pub(super) life: u64,
}

pub(super) struct SimLock {
    pub(super) env: SimEnv,
    pub(super) path: PathBuf,
    pub(super) life: u64,
}

impl SimFile {
    /// Writes bytes, the first `head` of them last.
    fn write(&self, data: &[u8], mut offset: u64, head: usize) -> io::Result<()> {
        sync::point();
        log::trace!("file {}: write {} bytes at {offset}", self.node, data.len());
        let mut state = self.env.state.lock();
        let mut data = data.to_vec();
        let mut result = state.step(self.life);
        let room = state.room();
        let len = state.nodes[self.node].live.len() as u64;
        let end = offset + data.len() as u64;
        if result.is_ok() && end.saturating_sub(len) > room {
            result = Err(io::Error::from_raw_os_error(libc::ENOSPC));
            data.truncate((data.len() as u64).saturating_sub(end - len - room) as usize);
        } else if result.is_err() {
            // A failed write may have written a part, shorter or longer, but never all.
            data.truncate(data.len() * (state.calls % 4) as usize / 4);
            data.drain(..head.min(data.len()));
            offset += head as u64;
        }
        if self.life == state.life {
            if state.is_in_struck_log(self.node) {
                state.faults.log_written();
            }
            for offset in state.faults.write(self.node, offset, len) {
                let node = &mut state.nodes[self.node];
                node.fill(offset, offset + data.len() as u64);
                overwrite(&mut node.live, offset as usize, &data);
                node.pending.push(Pending::Write(offset, data.clone()));
            }
        }
        result
    }
}

/// See [`EnvFile::window`].
struct SimWindow {
    file: SimFile,
    end: u64,
}

impl Window for SimWindow {
    fn end(&self) -> u64 {
        self.end
    }

    fn put(&mut self, record: &[u8], offset: u64) -> io::Result<()> {
        self.file.write(record, offset, WINDOW_HEAD)
    }
}

impl LockGuard for SimLock {}

impl Drop for SimLock {
    fn drop(&mut self) {
        let mut state = self.env.state.lock();
        if state.life == self.life {
            if let Ok(node) = state.node(&self.path) {
                state.nodes[node].live.clear();
            }
            state.locked.remove(&self.path);
        }
    }
}

impl EnvFile for SimFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<()> {
        sync::point();
        let mut state = self.env.state.lock();
        if self.life != state.life {
            return Err(io::Error::other("the simulated machine has crashed"));
        }
        state.look()?;
        state.faults.read(self.node, offset, buf.len())?;
        let from = offset as usize;
        let bytes = state.nodes[self.node].live.get(from..from + buf.len());
        buf.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.write(data, offset, 0)
    }

    fn is_named(&self) -> io::Result<bool> {
        sync::point();
        let state = self.env.state.lock();
        Ok(self.life != state.life || state.names.nodes().any(|node| node == self.node))
    }

    fn sync(&self) -> io::Result<()> {
        sync::point();
        log::trace!("file {}: sync", self.node);
        let mut state = self.env.state.lock();
        let stepped = state.step(self.life);
        if self.life != state.life {
            // A process that has ended syncs nothing, and spoils nothing either.
            return stepped;
        }
        if state.sync_fails || stepped.is_err() {
            // As Linux does: the pages count as clean from here on, though they never reached the disk.
            state.nodes[self.node].pending.clear();
            return stepped.and_then(|()| Err(io::Error::from_raw_os_error(libc::EIO)));
        }
        let node = &mut state.nodes[self.node];
        let pending = std::mem::take(&mut node.pending);
        pending.iter().for_each(|change| change.apply(&mut node.durable));
        if state.ends_struck_log(self.node) {
            state.faults.log_synced();
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        sync::point();
        log::trace!("file {}: set its length to {len}", self.node);
        let mut state = self.env.state.lock();
        state.step(self.life)?;
        let node = &mut state.nodes[self.node];
        node.fill(len, u64::MAX);
        node.live.resize(len as usize, 0);
        node.pending.push(Pending::Len(len));
        Ok(())
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        sync::point();
        let mut state = self.env.state.lock();
        state.step(self.life)?;
        if state.room() < len.saturating_sub(state.nodes[self.node].used()) {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        let node = &mut state.nodes[self.node];
        // Zeros that nobody looks at take neither time nor memory, as long as they are made at once.
        node.live = vec![0; len as usize];
        node.pending.push(Pending::Len(len));
        Ok(())
    }

    fn window(&self, from: u64, to: u64) -> io::Result<Option<Box<dyn Window>>> {
        let end = to.min(from + WINDOW);
        sync::point();
        let mut state = self.env.state.lock();
        state.step(self.life)?;
        if state.room() < end - from {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        let node = &mut state.nodes[self.node];
        node.live.resize(end as usize, 0);
        node.pending.push(Pending::Len(end));
        drop(state);
        let file = Self { env: self.env.clone(), node: self.node, life: self.life };
        Ok(Some(Box::new(SimWindow { file, end })))
    }

    fn punch(&self, offset: u64, len: u64) -> io::Result<()> {
        sync::point();
        log::trace!("file {}: punch {len} bytes at {offset}", self.node);
        let mut state = self.env.state.lock();
        state.step(self.life)?;
        let node = &mut state.nodes[self.node];
        let end = (offset + len).min(node.live.len() as u64);
        if offset < end {
            let zeros = vec![0; (end - offset) as usize];
            node.punch(offset, end);
            overwrite(&mut node.live, offset as usize, &zeros);
            node.pending.push(Pending::Write(offset, zeros));
        }
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.env.state.lock().nodes[self.node].live.len() as u64)
    }
}
