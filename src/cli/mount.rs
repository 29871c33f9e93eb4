//! mount and umount.

use std::path::Path;
use std::time::Duration;

use super::Answer;
use super::args::{MountArgs, UmountArgs};
use super::mount_options;
use crate::daemon::find::{dead, serving as sockets};
use crate::daemon::mounts::locate::{self, MountEntry};
use crate::daemon::{MountRequest, left_behind, mount as start, store_left_at};
use crate::env::memory;
use crate::fs::{Options, nodes_within};
use crate::fuse::{Detach, Idle, MountSettings, remount, unmount};
use crate::store::{Store, StoreOptions};
use crate::{Error, ErrorKind, Result};

/// How long `umount` waits for the daemon to write down what is open.
const END_TIMEOUT: Duration = Duration::from_secs(60);
/// How long the daemon may take to see that its mount is gone, before it is told.
const UNASKED: Duration = Duration::from_secs(3);

/// How long the kernel believes what it was told of a cluster, which does not say what others change.
const CLUSTER_CACHE: Duration = Duration::from_secs(1);

/// Each of them may wait for a server.
const CLUSTER_THREADS: usize = 16;

pub fn mount(args: MountArgs) -> Result<Answer> {
    if let Some(wanted) = mount_options::remount(&args.options) {
        return change(&args, &wanted);
    }
    // Order: relative paths mean nothing to a daemon.
    let store = locate::absolute(&args.store)?;
    let is_cluster = locate::is_cluster(&store);
    if !is_cluster {
        Store::admit(&store)?;
    }
    let mount_point = locate::absolute(&args.mount_point)?;
    let mut request = MountRequest {
        settings: MountSettings {
            source: store.clone(),
            allow_other: false,
            default_permissions: false,
            read_only: false,
            threads: if is_cluster { CLUSTER_THREADS } else { 2 },
            no_exec: false,
            idle: Idle::Auto,
        },
        options: options(&store, is_cluster),
        store: StoreOptions::new(&store),
        mount_point,
        words: args.options.clone(),
        foreground: args.foreground,
        nonempty: false,
        log: None,
        program: std::env::current_exe().ok(),
        serves_commands: true,
    };
    for option in args.options.iter().filter(|option| !option.is_empty()) {
        mount_options::apply(&mut request, option)?;
    }
    // Its servers are waited for, which takes longer than to wake.
    if is_cluster && request.settings.idle == Idle::Auto {
        request.settings.idle = Idle::Halt;
    }
    mount_options::check(&request)?;
    let said = start(request)?;
    if is_cluster && !args.foreground {
        super::complain(
            "HBase keeps no mtimes, modes and empty directories; moves go within a row, else by copying; what is written gets \
             this machine's clock as its time, and in tables made elsewhere a tombstone hides also what is put later with \
             an older time; see cellfs-tree(7), ON A CLUSTER",
        );
    }
    if let Some(said) = said {
        super::complain(&said);
    }
    Ok(Answer::Yes)
}

/// What a mount has where no option says otherwise.
fn options(store: &Path, is_cluster: bool) -> Options {
    Options {
        uid: nix::unistd::geteuid().as_raw(),
        gid: nix::unistd::getegid().as_raw(),
        file_mask: 0o022,
        dir_mask: 0o022,
        spill_dir: if is_cluster { std::env::temp_dir() } else { store.to_owned() },
        cache_time: if is_cluster { CLUSTER_CACHE } else { Options::default().cache_time },
        max_nodes: nodes_within(memory()),
        ..Options::default()
    }
}

/// Changes a mount that goes on.
fn change(args: &MountArgs, change: &mount_options::Remount) -> Result<Answer> {
    let mount_point = locate::absolute(&args.mount_point)?;
    let shown = mount_point.display();
    let Some(mount) = locate::mount_at(&mount_point)? else {
        let text = format!("{shown} is not mounted; mount it without the option remount");
        return Err(Error::new(ErrorKind::NotFound, text));
    };
    if dead::is_dead(&mount)? {
        let text =
            format!("the daemon of {shown} is gone; mount it anew: cellfs mount {} {shown}", mount.source.display());
        return Err(Error::new(ErrorKind::Disconnected, text));
    }
    let daemon = sockets::daemon_of(&mount)?;
    if change.read_only == Some(false) && daemon.is_some_and(|daemon| daemon.hello().read_only) {
        let text = format!("{shown} was mounted with the option ro; unmount it and mount it again to write");
        return Err(Error::new(ErrorKind::ReadOnlyStore, text));
    }
    let has = |option: &str| match option {
        "allow_other" => mount.allow_other,
        "default_permissions" => mount.default_permissions,
        _ => false,
    };
    for option in change.kept.iter().filter(|option| !has(option)) {
        let option = option.escape_debug();
        super::complain(&format!("a remount changes ro, rw, exec and noexec alone; `{option}` is left as it was"));
    }
    remount(&mount_point, change.read_only, change.no_exec)?;
    Ok(Answer::Yes)
}

pub fn umount(args: &UmountArgs) -> Result<Answer> {
    let path = locate::absolute(&args.path)?;
    let is_it = |m: &MountEntry| m.mount_point == path || m.is_whole() && m.source == path;
    let mount = locate::all_mounts()?.into_iter().rev().find(is_it);
    let Some(mount) = mount else { return without_mount(&path) };
    let (daemon, silent) = match sockets::daemon_of(&mount) {
        Err(e) if e.kind == ErrorKind::TimedOut => (None, Some(e)),
        connected => (connected.unwrap_or_default().filter(|daemon| daemon.serves(&mount)), None),
    };
    // Order: a daemon that does not answer us would not answer the kernel either.
    let dead = silent.is_some() || daemon.is_none() && locate::is_dead(&mount.mount_point);
    let detach = if args.lazy || dead { Detach::Now } else { Detach::WhenIdle };
    let is_removed = !locate::is_cluster(&mount.source) && !Store::exists(&mount.source);
    unmount(&mount.mount_point, detach)?;
    if is_removed {
        let store = mount.source.display();
        super::complain(&format!("unmounted; the store {store} is not there any more: it was moved or removed"));
    }
    if let Some(e) = silent {
        return Err(e.context("unmounted, but"));
    }
    if let Some(daemon) = &daemon
        && !args.lazy
        && !daemon.wait_for_end(UNASKED)
    {
        if locate::is_seen_by(daemon.pid(), &mount) {
            // Ours was a copy in a mount namespace of its own.
            return Ok(Answer::Yes);
        }
        // Another mount namespace has a copy of the mount, or a file is open: it would serve on.
        daemon.end(&mount);
    }
    match daemon {
        Some(daemon) if !args.lazy && !daemon.wait_for_end(END_TIMEOUT) => Err(Error::new(
            ErrorKind::Busy,
            format!("unmounted, but the daemon (pid {}) has not ended within {END_TIMEOUT:?}", daemon.pid()),
        )),
        _ => Ok(Answer::Yes),
    }
}

/// What is to be done, or said, where nothing is mounted.
fn without_mount(path: &Path) -> Result<Answer> {
    // The mount may have been taken away from a daemon that was killed.
    if Store::exists(path) && dead::cut_off_at(path) {
        return Ok(Answer::Yes);
    }
    let store = if Store::exists(path) { Some(path.to_owned()) } else { store_left_at(path) };
    if let Some(store) = store
        && let Some(daemon) = sockets::serving(&store)?
        && let Some(text) = left_behind(&store, &daemon)
    {
        return Err(Error::new(ErrorKind::NotFound, text));
    }
    let shown = path.display();
    let text = match locate::mount_around(path)? {
        Some(mount) => {
            let at = mount.mount_point.display();
            format!("{shown} is a part of the mount at {at}; unmount all of it: cellfs umount {at}")
        }
        None => format!("{shown} is neither a mount point nor a mounted store of cellfs"),
    };
    Err(Error::new(ErrorKind::NotFound, text))
}
