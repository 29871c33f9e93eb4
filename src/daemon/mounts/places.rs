//! Where a daemon listens: in the directory of its store; that of a cluster's mount in one of its user, for there is no store.
//!
//! `/run/user/UID/cellfs`, where the system has made `/run/user/UID`, else `/tmp/cellfs-UID`; in it a directory for each
//! mount point, named by the hash of that. Whoever else could write there is not trusted.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use xxhash_rust::xxh3::xxh3_128;

use super::locate::{MountEntry, is_cluster};
use crate::{Error, ErrorKind, Result};

/// A socket that is older belongs to a daemon that listens, or to one that is gone.
const SETTLED: Duration = Duration::from_secs(60);

/// Where the sockets of a user may be, the first that there is.
fn bases(user: u32) -> [PathBuf; 2] {
    [PathBuf::from(format!("/run/user/{user}/cellfs")), PathBuf::from(format!("/tmp/cellfs-{user}"))]
}

fn own_name(mount_point: &Path) -> String {
    format!("{:032x}", xxh3_128(mount_point.as_os_str().as_bytes()))
}

/// Whether a directory is there and is this user's alone.
fn is_own(path: &Path, user: u32) -> bool {
    let own = |found: std::fs::Metadata| found.is_dir() && found.uid() == user && found.mode() & 0o077 == 0;
    // A link would be followed to wherever its owner likes.
    std::fs::symlink_metadata(path).is_ok_and(own)
}

fn make_own(path: &Path, user: u32) -> Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => Err(Error::io(path.display(), &e)),
        _ if is_own(path, user) => Ok(()),
        _ => {
            let text = format!("{} is not a directory of this user alone", path.display());
            Err(Error::new(ErrorKind::AccessDenied, text))
        }
    }
}

/// The directory for the socket of a mount of a cluster, made if need be.
pub fn make(mount_point: &Path) -> Result<PathBuf> {
    let user = nix::unistd::geteuid().as_raw();
    let [of_system, of_all] = bases(user);
    let is_there = of_system.parent().is_some_and(|parent| is_own(parent, user));
    let base = if is_there { of_system } else { of_all };
    make_own(&base, user)?;
    sweep(&base);
    let place = base.join(own_name(mount_point));
    make_own(&place, user)?;
    Ok(place)
}

/// Takes away what daemons have left that were killed.
fn sweep(base: &Path) {
    for entry in std::fs::read_dir(base).into_iter().flatten().flatten() {
        let socket = entry.path().join("control.sock");
        let age = std::fs::symlink_metadata(&socket).and_then(|found| found.modified()).ok();
        let is_old = age.and_then(|made| made.elapsed().ok()).is_some_and(|age| age > SETTLED);
        let connected = is_old.then(|| std::os::unix::net::UnixStream::connect(&socket));
        if let Some(Err(e)) = connected
            && e.kind() == std::io::ErrorKind::ConnectionRefused
        {
            // What cannot be removed harms nobody.
            let _ = std::fs::remove_file(&socket).and_then(|()| std::fs::remove_dir(entry.path()));
        }
    }
}

/// Takes away what [`make`] made; the socket must be gone.
pub fn remove(place: &Path) {
    // Another mount may have come at the same place.
    let _ = std::fs::remove_dir(place);
}

/// Where the daemon of a mount may listen.
pub fn places_of(mount: &MountEntry) -> Vec<PathBuf> {
    if !is_cluster(&mount.source) {
        return vec![mount.source.clone()];
    }
    let user = mount.user.unwrap_or_else(|| nix::unistd::geteuid().as_raw());
    let own = bases(user).into_iter().filter(|base| is_own(base, user));
    own.map(|base| base.join(own_name(&mount.mount_point))).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_what_nobody_listens_at_any_more_is_swept() {
        let directory = tempfile::tempdir().unwrap();
        let listen = |name: &str, age: Duration| {
            std::fs::create_dir(directory.path().join(name)).unwrap();
            let socket = directory.path().join(name).join("control.sock");
            let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
            let then = nix::sys::stat::UtimensatFlags::NoFollowSymlink;
            let made = std::time::SystemTime::now() - age;
            let made = made.duration_since(std::time::UNIX_EPOCH).unwrap();
            let made = nix::sys::time::TimeSpec::from_duration(made);
            nix::sys::stat::utimensat(nix::fcntl::AT_FDCWD, &socket, &made, &made, then).unwrap();
            listener
        };
        let _alive = listen("alive", SETTLED * 2);
        drop(listen("new", Duration::ZERO));
        drop(listen("dead", SETTLED * 2));
        std::fs::create_dir(directory.path().join("begun")).unwrap();
        sweep(directory.path());
        let mut left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["alive", "begun", "new"]);
    }

    #[test]
    fn directories_that_others_could_have_made_are_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let user = nix::unistd::geteuid().as_raw();
        let place = directory.path().join("place");
        make_own(&place, user).unwrap();
        make_own(&place, user).unwrap();
        assert!(make_own(&place, user + 1).is_err());
        std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(make_own(&place, user).is_err());
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(directory.path(), &link).unwrap();
        assert!(make_own(&link, user).is_err());
    }
}
