//! Daemons that end and cannot go: the kernel holds them, until their mounts are cut off.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::locate;
use super::places::places_of;
use crate::env::is_ending;

/// How often a process that ends is looked at before it counts as held, and how long between two looks.
const LOOKS: u32 = 20;
const INTERVAL: Duration = Duration::from_millis(50);

/// Whether a process that ends has threads that do not, after they had a second for it. The kernel may hold them for ever:
/// a thread that tells it of a change waits for a directory (`fuse_reverse_inval_entry`), and who has that waits for an
/// answer of the daemon. Such a process has its files open, the lock of its store among them.
pub fn is_held(pid: i32) -> bool {
    let tasks = format!("/proc/{pid}/task");
    (0..LOOKS).all(|look| {
        if look > 0 {
            std::thread::sleep(INTERVAL);
        }
        fs::read_dir(&tasks).is_ok_and(|threads| threads.count() > 1) && is_ending(&pid.to_string())
    })
}

/// Cuts off the mounts of a process that ends, which listens in a directory, if the kernel holds it; whether it did.
pub fn cut_off(pid: i32, place: &Path) -> bool {
    if !is_held(pid) {
        return false;
    }
    log::warn!("{}: its daemon (pid {pid}) was killed, and the kernel holds it: it is cut off", place.display());
    for mount in locate::mounts().unwrap_or_default() {
        if let Some(connection) = mount.connection
            && places_of(&mount).iter().any(|of_mount| of_mount == place)
        {
            crate::fuse::abort(connection, &mount.mount_point);
        }
    }
    // What was taken away since is in no table.
    for connection in connections_of(pid) {
        if let Err(e) = crate::fuse::abort_file(connection).and_then(crate::fuse::abort_by) {
            log::debug!("end connection {connection} of process {pid}: {e}");
        }
    }
    true
}

/// The connections to the kernel that threads of a process have open: its first may have ended before them.
fn connections_of(pid: i32) -> BTreeSet<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let files = threads.filter_map(|thread| fs::read_dir(thread.path().join("fdinfo")).ok()).flatten().flatten();
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    texts.filter_map(|text| connection_in(&text)).collect()
}

/// The number of its connection in what the kernel says of an open `/dev/fuse`, from 6.16 on.
fn connection_in(text: &str) -> Option<u32> {
    text.lines().find_map(|line| line.strip_prefix("fuse_connection:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_found_in_what_is_said_of_a_file() {
        assert_eq!(connection_in("pos:\t0\nflags:\t0100002\nfuse_connection:\t48\n"), Some(48));
        assert_eq!(connection_in("pos:\t0\nflags:\t0100002\n"), None);
    }
}
