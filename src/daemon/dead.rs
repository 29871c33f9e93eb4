//! Whether a mount has a daemon.

use std::path::Path;

use super::locate::{self, MountEntry};
use super::sockets::{daemon_of, places_of};
use crate::{ErrorKind, Result};

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

/// Cuts off the mounts whose daemon listens in a directory and was killed. The kernel may hold such a process for ever: a
/// thread that tells it of a change waits for a directory (`fuse_reverse_inval_entry`), and who has that waits for an
/// answer of the daemon.
pub fn cut_off(place: &Path) {
    for mount in locate::mounts().unwrap_or_default() {
        if let Some(connection) = mount.connection
            && places_of(&mount).iter().any(|of_mount| of_mount == place)
        {
            crate::fuse::abort(connection, &mount.mount_point);
        }
    }
}
