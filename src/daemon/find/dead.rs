//! Whether a mount has a daemon.

use super::locate::{self, MountEntry};
use super::serving::daemon_of;
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
