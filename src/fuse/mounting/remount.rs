//! Changing what the kernel enforces on a mount that goes on.

use std::path::Path;

use nix::mount::MsFlags;
use nix::sys::statvfs::{FsFlags, statvfs};

use crate::{Error, ErrorKind, Result};

/// Makes a mount read-only or writable, executable or not; what is `None` stays.
pub fn remount(mount_point: &Path, read_only: Option<bool>, no_exec: Option<bool>) -> Result<()> {
    let shown = mount_point.display();
    let now = statvfs(mount_point).map_err(|e| Error::io(format!("look at {shown}"), &e.into()))?.flags();
    let mut flags = MsFlags::MS_REMOUNT | MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOATIME;
    flags.set(MsFlags::MS_RDONLY, read_only.unwrap_or(now.contains(FsFlags::ST_RDONLY)));
    flags.set(MsFlags::MS_NOEXEC, no_exec.unwrap_or(now.contains(FsFlags::ST_NOEXEC)));
    let none: Option<&str> = None;
    nix::mount::mount(none, mount_point, none, flags, none).map_err(|e| match e {
        nix::errno::Errno::EBUSY => {
            let text =
                format!("{shown} cannot be made read-only: files are open for writing; `fuser -vm {shown}` shows who");
            Error::new(ErrorKind::Busy, text)
        }
        nix::errno::Errno::EPERM => {
            let text = format!("only root may remount {shown}; unmount it and mount it again with other options");
            Error::new(ErrorKind::AccessDenied, text)
        }
        e => Error::io(format!("remount {shown}"), &e.into()),
    })
}
