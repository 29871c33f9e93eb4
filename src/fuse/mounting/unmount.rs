//! Unmounting, as root or through fusermount3.

use std::path::Path;
use std::time::Duration;

use crate::env::sync::Instant;
use crate::{Error, ErrorKind, Result};

/// So long a mount point that is in use is asked again: programs look at it in passing.
const PASSING: Duration = Duration::from_secs(1);
const AGAIN: Duration = Duration::from_millis(20);

/// Unmounts by system call where that is allowed, else through fusermount3.
pub fn unmount(mount_point: &Path, lazily: Detach) -> Result<()> {
    let began = Instant::now();
    loop {
        match try_unmount(mount_point, lazily) {
            Err(e) if e.kind == ErrorKind::Busy && began.elapsed() < PASSING => std::thread::sleep(AGAIN),
            done => return done,
        }
    }
}

fn try_unmount(mount_point: &Path, lazily: Detach) -> Result<()> {
    let shown = mount_point.display();
    let flags = match lazily {
        Detach::Now => nix::mount::MntFlags::MNT_DETACH,
        Detach::WhenIdle => nix::mount::MntFlags::empty(),
    };
    match nix::mount::umount2(mount_point, flags) {
        Ok(()) => return Ok(()),
        // Who may not is helped by fusermount3.
        Err(nix::errno::Errno::EPERM) if !nix::unistd::geteuid().is_root() => {}
        Err(nix::errno::Errno::EBUSY) => return Err(busy(mount_point)),
        Err(e) => return Err(Error::io(format!("unmount {shown}"), &e.into())),
    }
    let flag = if lazily == Detach::Now { "-uz" } else { "-u" };
    let output = std::process::Command::new("fusermount3").arg(flag).arg("--").arg(mount_point).output();
    let output = output.map_err(|e| {
        Error::new(ErrorKind::Io, format!("cannot run fusermount3 ({e}); install the package fuse3: apt install fuse3"))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if words.contains("busy") { Err(busy(mount_point)) } else { Err(Error::new(ErrorKind::Io, words)) }
}

/// Whether an unmount waits for the last user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detach {
    /// The name goes at once, users go on.
    Now,
    /// Refused while it is used.
    WhenIdle,
}

fn busy(mount_point: &Path) -> Error {
    let shown = mount_point.display();
    let text = format!(
        "{shown} is in use: leave it (cd elsewhere, close its files; `fuser -vm {shown}` shows who), or use --lazy"
    );
    Error::new(ErrorKind::Busy, text)
}
