//! Opening what is named: a store in a directory, itself or by the daemon that serves it, or a cluster.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use super::left::{left_behind, store_left_at};
use super::reach::check_directory;
use super::serving::daemon_of;
use crate::backend::Backend;
use crate::daemon::control::client::Client;
use crate::daemon::control::connection::{INTERVAL, PATIENCE};
use crate::daemon::control::served::Served;
use crate::daemon::mounts::locate::{self, MountEntry, is_cluster};
use crate::daemon::mounts::watched::{Since, WatchedMount, refusal};
use crate::hbase::HBase;
use crate::store::{NoChanges, Store, StoreOptions};
use crate::{Error, ErrorKind, Result};

/// What a mount shows.
pub(in crate::daemon) enum Opened {
    Store(Arc<Store>),
    Cluster(Arc<HBase>),
}

impl Opened {
    /// The store of a mount, or its cluster.
    pub fn new(options: &StoreOptions) -> Result<Self> {
        match is_cluster(&options.path) {
            true => cluster(&options.path).map(Arc::new).map(Self::Cluster),
            false => open_store(options).map(Arc::new).map(Self::Store),
        }
    }

    pub fn backend(&self) -> Arc<dyn Backend> {
        match self {
            Self::Store(store) => Arc::clone(store) as Arc<dyn Backend>,
            Self::Cluster(cluster) => Arc::clone(cluster) as Arc<dyn Backend>,
        }
    }

    /// Why the store takes no changes where it is; `None`: it takes them.
    pub fn no_changes(&self) -> Option<NoChanges> {
        match self {
            Self::Store(store) => store.no_changes(),
            Self::Cluster(_) => None,
        }
    }

    /// Everything acknowledged is on the disk afterwards, in segments if it is much. Threads that wait for signals and
    /// clients have the store still: they are cut off by the end of the process.
    pub fn close(self) -> Result<()> {
        match self {
            Self::Store(store) => store.finish(),
            Self::Cluster(_) => Ok(()),
        }
    }
}

/// The cluster at an address, as the user that Hadoop's programs would be: HADOOP_USER_NAME, else who runs this.
pub(in crate::daemon) fn cluster(address: &Path) -> Result<HBase> {
    let own = || nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten().map(|user| user.name);
    let user = std::env::var("HADOOP_USER_NAME").ok().filter(|name| !name.is_empty()).or_else(own);
    HBase::open(&address.to_string_lossy(), &user.unwrap_or_else(|| "nobody".to_owned()))
}

/// Opens the store of a mount: a command that has it is waited for, a daemon is not.
fn open_store(options: &StoreOptions) -> Result<Store> {
    let started = Instant::now();
    loop {
        match Store::open(options.clone()) {
            Err(e) if e.kind == ErrorKind::Locked && started.elapsed() < PATIENCE => {
                if let Ok(Some(holder)) = Client::connect(&options.path)
                    && holder.hello().is_mount()
                {
                    return Err(in_use(&options.path, &holder));
                }
                std::thread::sleep(INTERVAL);
            }
            opened => return opened,
        }
    }
}

fn in_use(store: &Path, daemon: &Client) -> Error {
    let (pid, mount_point) = (daemon.pid(), daemon.hello().shown_mount_point());
    let mounted =
        || format!("{} is in use by process {pid}; it is mounted on {mount_point}: unmount it there", store.display());
    Error::new(ErrorKind::Locked, left_behind(store, daemon).unwrap_or_else(mounted))
}

/// Opens a store for one command: through its daemon where it is mounted, or the command that has it; else directly.
pub fn open_backend(path: &Path, absent: Absent) -> Result<Arc<dyn Backend>> {
    let path = locate::in_whole_tree(path)?;
    match locate::mount_around(&path)? {
        Some(mount) => open_mounted(&mount, absent),
        None if is_cluster(&path) => Ok(Arc::new(cluster(&path)?)),
        None => open_store_in(&path, absent),
    }
}

/// What a mount shows, for one command. Of a cluster commands ask no daemon: what a read-only mount refuses is refused here.
pub fn open_mounted(mount: &MountEntry, absent: Absent) -> Result<Arc<dyn Backend>> {
    if !is_cluster(&mount.source) {
        return open_store_in(&mount.source, absent);
    }
    let cluster = cluster(&mount.source)?;
    let (watched, mount) = (WatchedMount::of_one_made(&mount.mount_point)?, mount.clone());
    let check = move || if watched.is_read_only() { Err(refusal(&mount.mount_point, since(&mount))) } else { Ok(()) };
    Ok(Arc::new(cluster.checked(Box::new(check))))
}

/// Refuses what would change something through a path in a read-only mount of a cluster; of a store its daemon does.
pub fn check_writable(path: &Path) -> Result<()> {
    let mount = locate::mount_around(&locate::in_whole_tree(path)?)?.filter(|mount| is_cluster(&mount.source));
    match mount {
        Some(mount) if WatchedMount::of_one_made(&mount.mount_point)?.is_read_only() => {
            Err(refusal(&mount.mount_point, since(&mount)))
        }
        Some(_) | None => Ok(()),
    }
}

/// Since when a mount is read-only: its daemon knows how it was made.
fn since(mount: &MountEntry) -> Since {
    match daemon_of(mount) {
        Ok(Some(daemon)) if !daemon.hello().read_only => Since::Remount,
        Ok(_) | Err(_) => Since::Mount,
    }
}

fn open_store_in(directory: &Path, absent: Absent) -> Result<Arc<dyn Backend>> {
    check_directory(directory)?;
    if !Store::exists(directory) && absent == Absent::Refuse {
        return Err(no_store(directory));
    }
    // Order: the daemon's lock is held before its socket listens, so a store that is locked and does not
    // listen is asked again for a while.
    let started = Instant::now();
    loop {
        if directory.exists() {
            match Client::connect(directory) {
                Ok(Some(client)) => return Ok(Arc::new(client)),
                // It has ended between the connection and its greeting; its service manager may start it again.
                Err(e) if e.kind == ErrorKind::Disconnected && started.elapsed() < PATIENCE => {
                    std::thread::sleep(INTERVAL);
                    continue;
                }
                Err(e) => return Err(e),
                Ok(None) => {}
            }
        }
        match Served::open(directory) {
            Ok(store) => return Ok(Arc::new(store)),
            Err(e) if e.kind == ErrorKind::Locked && started.elapsed() < PATIENCE => std::thread::sleep(INTERVAL),
            Err(e) => return Err(e),
        }
    }
}

fn no_store(directory: &Path) -> Error {
    let shown = directory.display();
    let text = match store_left_at(directory) {
        Some(store) => {
            let store = store.display();
            format!("{store} was unmounted from {shown}, where programs use it still; until they end, ask by {store}")
        }
        None => format!(
            "there is no store in {shown}, nor one mounted there: name the store's directory; \
             `cellfs mount {shown} MOUNTPOINT` or `cellfs create --make` makes one"
        ),
    };
    Error::new(ErrorKind::NotFound, text)
}

/// What to do where there is no store yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Absent {
    Make,
    Refuse,
}
