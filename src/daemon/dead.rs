//! Whether a mount has a daemon.

use std::path::Path;
use std::time::Duration;

use super::locate::{self, MountEntry};
use super::sockets::{daemon_of, places_of};
use crate::env::is_ending;
use crate::{ErrorKind, Result};

/// How often a process that ends is looked at before it counts as held, and how long between two looks.
const LOOKS: u32 = 20;
const INTERVAL: Duration = Duration::from_millis(50);

/// Whether the daemon of a mount is gone. Kind `TimedOut` where it is there and does not answer: then the kernel would
/// wait for it too, for ever.
pub fn is_dead(mount: &MountEntry) -> Result<bool> {
    match daemon_of(mount) {
        Ok(Some(daemon)) if daemon.serves(mount) => Ok(false),
        Err(e) if e.kind == ErrorKind::TimedOut => Err(e),
        // It may be another user's, or serve elsewhere now, or its store may have gone.
        _ => Ok(locate::is_dead(&mount.mount_point)),
    }
}

/// Whether a process that ends has threads that do not, after they had a second for it. The kernel may hold them for ever:
/// a thread that tells it of a change waits for a directory (`fuse_reverse_inval_entry`), and who has that waits for an
/// answer of the daemon. Such a process has its files open, the lock of its store among them.
pub(super) fn is_held(pid: i32) -> bool {
    let tasks = format!("/proc/{pid}/task");
    (0..LOOKS).all(|look| {
        if look > 0 {
            std::thread::sleep(INTERVAL);
        }
        std::fs::read_dir(&tasks).is_ok_and(|threads| threads.count() > 1) && is_ending(&pid.to_string())
    })
}

/// Cuts off the mounts whose daemon listens in a directory and is held.
pub fn cut_off(place: &Path) {
    for mount in locate::mounts().unwrap_or_default() {
        if let Some(connection) = mount.connection
            && places_of(&mount).iter().any(|of_mount| of_mount == place)
        {
            crate::fuse::abort(connection, &mount.mount_point);
        }
    }
}
