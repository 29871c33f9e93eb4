//! Whether the kernel takes changes through a mount: a remount may alter that at any time.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::locate::is_read_only_in;
use crate::env::sync::Mutex;
use crate::{Error, Result};

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

    /// What is not known is as it was.
    pub fn is_read_only(&self) -> bool {
        let mut state = self.state.lock();
        if has_changed(&state.table) {
            let mut text = Vec::new();
            let read = state.table.seek(SeekFrom::Start(0)).and_then(|_| state.table.read_to_end(&mut text));
            match read {
                Ok(_) => {
                    if let Some((device, is)) = is_read_only_in(&text, &self.mount_point, state.device.as_deref()) {
                        (state.device, state.is_read_only) = (Some(device), is);
                    }
                }
                Err(e) => log::warn!("whether {} is read-only is not known: {e}", self.mount_point.display()),
            }
        }
        state.is_read_only
    }
}

/// The kernel tells of each change once (proc_pid_mounts(5)).
fn has_changed(table: &File) -> bool {
    let mut asked = [PollFd::new(table.as_fd(), PollFlags::POLLPRI)];
    let told = poll(&mut asked, PollTimeout::ZERO).unwrap_or(0) > 0;
    told && asked[0].revents().is_some_and(|events| events.intersects(PollFlags::POLLPRI | PollFlags::POLLERR))
}
