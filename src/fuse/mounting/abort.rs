//! The end of a mount's connection to its daemon by force: whoever waits for an answer gets an error.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use nix::errno::Errno;
use rustix::fs::{Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

/// Where the kernel shows its connections, if somebody has mounted that.
const CONNECTIONS: &str = "/sys/fs/fuse/connections";

/// The kernel's file that ends a connection when something is written to it. Held open it does nothing once that has ended,
/// whoever has its number then.
pub fn abort_file(connection: u32) -> io::Result<File> {
    let name = format!("{connection}/abort");
    File::options().write(true).open(Path::new(CONNECTIONS).join(&name)).or_else(|_| {
        // Who may mount needs no place for it.
        let context = fsopen("fusectl", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        let connections = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
        Ok(openat(connections, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?.into())
    })
}

/// Ends the connection whose file this is.
pub fn abort_by(mut file: File) -> io::Result<()> {
    file.write_all(b"1")
}

/// Ends the connection of a mount.
pub fn abort(connection: u32, mount_point: &Path) {
    if abort_file(connection).and_then(abort_by).is_ok() {
        return;
    }
    // What is in use is cut off as well, and stays mounted: on the bare directory programs would believe that their files
    // are safe.
    let flags = nix::fcntl::OFlag::O_PATH | nix::fcntl::OFlag::O_DIRECTORY | nix::fcntl::OFlag::O_CLOEXEC;
    let used = nix::fcntl::open(mount_point, flags, nix::sys::stat::Mode::empty());
    let ended = used.and_then(|_used| nix::mount::umount2(mount_point, nix::mount::MntFlags::MNT_FORCE));
    if let Err(e) = ended.or_else(|e| if e == Errno::EBUSY { Ok(()) } else { Err(e) }) {
        log::debug!("end the connection of {}: {e}", mount_point.display());
    }
}
