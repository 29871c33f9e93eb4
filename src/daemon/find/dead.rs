//! Whether a mount has a daemon, and the end of one that cannot go.

use std::path::Path;

use super::serving::daemon_of;
use crate::daemon::control::line::Line;
use crate::daemon::mounts::held;
use crate::daemon::mounts::locate::{self, MountEntry};
use crate::env::is_ending;
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

/// Cuts off the mounts of whoever listens in a directory, if the kernel holds it; whether it did.
pub fn cut_off_at(place: &Path) -> bool {
    let peer = Line::to(place).ok().flatten().and_then(|line| line.peer());
    peer.filter(|(pid, _)| is_ending(&pid.to_string())).is_some_and(|(pid, _)| held::cut_off(pid, place))
}
