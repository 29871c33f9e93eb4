//! Whether the kernel takes changes through a mount: a remount may alter that at any time.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::locate::is_read_only_in;
use crate::env::sync::Mutex;
use crate::{Error, ErrorKind, Result};

/// Since when a mount is read-only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    Mount,
    Remount,
}

/// What who changes something through a read-only mount is told.
pub fn refusal(mount_point: &Path, since: Since) -> Error {
    let shown = mount_point.display();
    let text = match since {
        Since::Mount => format!("{shown} is mounted read-only; mount it without ro first"),
        Since::Remount => {
            format!("{shown} was remounted read-only; `cellfs mount STORE {shown} -o remount,rw` first")
        }
    };
    Error::new(ErrorKind::ReadOnlyStore, text)
}

/// The kernel's table of mounts, looked at again when it has changed.
pub struct WatchedMount {
    mount_point: PathBuf,
    state: Mutex<State>,
}

struct State {
    table: File,
    /// Once it is known: it stays, wherever the mount is moved.
    device: Option<Vec<u8>>,
    is_read_only: bool,
}

impl WatchedMount {
    /// Order: before the process gives up the right to open files, and before the mount is made, which is the first change.
    pub fn new(mount_point: &Path) -> Result<Self> {
        let path = "/proc/self/mountinfo";
        let table = File::open(path).map_err(|e| Error::io(format!("open {path}"), &e))?;
        let state = State { table, device: None, is_read_only: false };
        Ok(Self { mount_point: mount_point.to_owned(), state: Mutex::new(state) })
    }

    /// Of a mount that is there.
    pub fn of_one_made(mount_point: &Path) -> Result<Self> {
        let watched = Self::new(mount_point)?;
        watched.state.lock().look(mount_point);
        Ok(watched)
    }

    /// What is not known is as it was.
    pub fn is_read_only(&self) -> bool {
        let mut state = self.state.lock();
        if has_changed(&state.table) {
            state.look(&self.mount_point);
        }
        state.is_read_only
    }
}

impl State {
    fn look(&mut self, mount_point: &Path) {
        let mut text = Vec::new();
        match self.table.seek(SeekFrom::Start(0)).and_then(|_| self.table.read_to_end(&mut text)) {
            Ok(_) => {
                if let Some((device, is)) = is_read_only_in(&text, mount_point, self.device.as_deref()) {
                    (self.device, self.is_read_only) = (Some(device), is);
                }
            }
            Err(e) => log::warn!("whether {} is read-only is not known: {e}", mount_point.display()),
        }
    }
}

/// The kernel tells of each change once (proc_pid_mounts(5)).
fn has_changed(table: &File) -> bool {
    let mut asked = [PollFd::new(table.as_fd(), PollFlags::POLLPRI)];
    let told = poll(&mut asked, PollTimeout::ZERO).unwrap_or(0) > 0;
    told && asked[0].revents().is_some_and(|events| events.intersects(PollFlags::POLLPRI | PollFlags::POLLERR))
}
