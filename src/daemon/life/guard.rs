//! A process beside the daemon that ends its connection to the kernel when it was killed and cannot go.
//!
//! See [`held::is_held`]: a thread that the kernel holds keeps the device open, so that the kernel does not end the
//! connection by itself. The guard has no file of the daemon's open and takes nothing but a second. Its standard input is
//! the kernel's file that ends the connection, which does that also when the mount was taken away meanwhile.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getppid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use super::inherited;
use crate::daemon::mounts::{held, locate};
use crate::{Error, Result};

/// The name by which the program knows that it is to guard.
const NAME: &str = "cellfs-guard";

/// What a guard looks after.
pub struct Guard {
    daemon: i32,
    connection: u32,
    mount_point: PathBuf,
}

impl Guard {
    /// Starts a guard of this process, whose mount at `mount_point` is made. Without one the mount works as well.
    ///
    /// The thread that calls this has to live as long as the process.
    pub fn start(program: Option<&Path>, mount_point: &Path) {
        let Some(program) = program else { return };
        let connection = locate::mount_at(mount_point).ok().flatten().and_then(|mount| mount.connection);
        let Some(connection) = connection else { return };
        let mut command = Command::new(program);
        command.arg0(NAME).arg(std::process::id().to_string()).arg(connection.to_string()).arg(mount_point);
        let breaks = crate::fuse::abort_file(connection).inspect_err(|e| log::debug!("connection {connection}: {e}"));
        command.stdin(breaks.map_or_else(|_| Stdio::null(), Stdio::from));
        command.stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
        if let Err(e) = command.spawn() {
            log::warn!("start a guard of the mount: {e}; whoever kills this daemon may have to run `umount -f`");
        }
    }

    /// What this process is to guard, if it was started for that.
    pub fn of_arguments(arguments: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut arguments = arguments.into_iter().take(4);
        if arguments.next()? != NAME {
            return None;
        }
        let daemon = arguments.next()?.to_str()?.parse().ok()?;
        let connection = arguments.next()?.to_str()?.parse().ok()?;
        Some(Self { daemon, connection, mount_point: arguments.next()?.into() })
    }

    /// Waits for the end of the daemon, and sees to it that it ends.
    pub fn run(&self) -> Result<()> {
        inherited::close(&inherited::inherited());
        // Order: before the daemon's end can send one. What asks programs of a terminal or a service to end is the daemon's.
        let mut signals = Signals::new([SIGUSR1, SIGTERM, SIGINT, SIGHUP, SIGQUIT])
            .map_err(|e| Error::io("wait for the end of the daemon", &e))?;
        set_pdeathsig(Signal::SIGUSR1).map_err(|e| Error::io("wait for the end of the daemon", &e.into()))?;
        if getppid() == Pid::from_raw(self.daemon) {
            signals.forever().find(|signal| *signal == SIGUSR1);
        }
        if !held::is_held(self.daemon) {
            return Ok(());
        }
        // Where there is no such file nothing can be written to what stands in its place.
        let input = std::io::stdin().as_fd().try_clone_to_owned().map(File::from);
        if input.and_then(crate::fuse::abort_by).is_ok() {
            return Ok(());
        }
        let mount = locate::mount_at(&self.mount_point)?;
        if mount.is_some_and(|mount| mount.connection == Some(self.connection)) {
            crate::fuse::abort(self.connection, &self.mount_point);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_is_called_so_is_a_guard() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let guard = Guard::of_arguments(words(&[NAME, "7", "52", "/mnt/a b"])).unwrap();
        assert_eq!((guard.daemon, guard.connection, guard.mount_point), (7, 52, "/mnt/a b".into()));
        for others in [&["cellfs", "7", "52", "/mnt"][..], &[NAME], &[NAME, "x", "52", "/mnt"], &[]] {
            assert!(Guard::of_arguments(words(others)).is_none());
        }
        assert!(!held::is_held(std::process::id().cast_signed()));
    }
}
