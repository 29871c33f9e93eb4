//! The process at the other end of a socket, held so that its number cannot become another's.

use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// How often, and in what time, the lock of an ended daemon is looked at.
const LOCK_LOOKS: u32 = 1000;
pub const LOCK_INTERVAL: Duration = Duration::from_millis(1);

/// See the module.
pub struct Process {
    handle: OwnedFd,
    pid: u32,
    user: u32,
}

impl Process {
    /// Holds the process of a number, if it is of this user; `None` if it is not, or is gone.
    pub fn hold(pid: i32, user: u32) -> Option<Self> {
        // Nothing but the number of one process: zero and less mean many.
        let number = Some(pid).filter(|pid| *pid > 0).and_then(Pid::from_raw)?;
        let handle = pidfd_open(number, PidfdFlags::empty()).ok()?;
        // Order: looked at after it is held; a process that had the number before is gone by then.
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        (real_user(&status) == Some(user)).then(|| Self { handle, pid: pid.cast_unsigned(), user })
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    pub fn user(&self) -> u32 {
        self.user
    }

    /// Asks it to end. It may have done so meanwhile.
    pub fn end(&self) {
        if let Err(e) = pidfd_send_signal(&self.handle, Signal::TERM) {
            log::debug!("process {} was not told to end: {e}", self.pid);
        }
    }
}

/// `Uid: REAL EFFECTIVE SAVED FILESYSTEM` (proc_pid_status(5)).
fn real_user(status: &str) -> Option<u32> {
    status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_ascii_whitespace().next()?.parse().ok()
}

/// The kernel closes what a process had open one after the other: the connections of a daemon may go before its lock.
pub fn wait_for_lock(store: &Path) {
    // Whatever lies there, it is not waited for.
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let opened = std::fs::File::options().read(true).custom_flags(flags).open(store.join("LOCK"));
    let Ok(lock) = opened else { return };
    // Someone else may take it meanwhile, and keep it.
    for _ in 0..LOCK_LOOKS {
        if lock.try_lock_shared().is_ok() {
            return;
        }
        std::thread::sleep(LOCK_INTERVAL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_process_and_only_the_users_is_held() {
        let own = nix::unistd::getuid().as_raw();
        let pid = std::process::id().cast_signed();
        assert_eq!(Process::hold(pid, own).map(|process| process.pid()), Some(pid.cast_unsigned()));
        assert!(Process::hold(pid, own + 1).is_none());
        assert!(Process::hold(0, own).is_none() && Process::hold(-1, own).is_none());
        assert_eq!(real_user("Name:\tx\nUid:\t7\t0\t0\t0\n"), Some(7));
    }
}
