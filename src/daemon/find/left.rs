//! Mounts that were taken away while programs used them: they are in no table, and their daemons end when those programs do.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::daemon::control::client::Client;
use crate::daemon::mounts::locate;
use crate::env::is_stopped;
use crate::store::Store;

/// That the mount of a daemon was taken away while programs were there, if it was.
pub fn left_behind(store: &Path, daemon: &Client) -> Option<String> {
    let (pid, mount_point) = (daemon.pid(), daemon.hello().mount_point()?);
    (!locate::is_mounted_for(pid, (mount_point, store))).then(|| {
        let (store, mount_point) = (store.display(), daemon.hello().shown_mount_point());
        format!("{store} was unmounted from {mount_point} while programs used it; process {pid} ends when they do")
    })
}

/// The store that such a mount had at an absolute path, or around it; `None`: none of a daemon of this user.
pub fn store_left_at(path: &Path) -> Option<PathBuf> {
    let user = nix::unistd::geteuid().as_raw();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    // Another user's could say anything, or keep whoever asks waiting.
    let own = processes.filter(|process| process.metadata().is_ok_and(|found| found.uid() == user));
    let holders = own.filter_map(|process| {
        let pid: u32 = process.file_name().to_str()?.parse().ok()?;
        Some((pid, locked_by(&process.path())?))
    });
    // Those that are mounted are not asked. One that is stopped would keep whoever asks waiting.
    let holders = holders.filter(|(pid, _)| !is_stopped(&pid.to_string()));
    let unmounted = holders.filter(|(pid, store)| !locate::is_mounted_for(*pid, (path, store)));
    unmounted.map(|(_, store)| store).find(|store| {
        let Ok(Some(daemon)) = Client::connect(store) else { return false };
        let was_there = daemon.hello().mount_point().is_some_and(|point| path.starts_with(point));
        was_there && left_behind(store, &daemon).is_some()
    })
}

/// The store whose lock a process has open.
fn locked_by(process: &Path) -> Option<PathBuf> {
    let files = std::fs::read_dir(process.join("fd")).ok()?.flatten();
    let mut opened = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    let lock = opened.find(|file| file.file_name() == Some(OsStr::new("LOCK")))?;
    lock.parent().filter(|store| Store::exists(store)).map(Path::to_owned)
}
