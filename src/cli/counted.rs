//! What a store and its daemon have counted, as `stats` tells of it.

use std::path::Path;

use crate::backend::Status;
use crate::daemon::find::serving as sockets;
use crate::daemon::mounts::locate;
use crate::daemon::{Absent, DaemonNumbers, open_backend};
use crate::{Error, Result};

/// What is known of a store.
pub struct Stats {
    pub directory: String,
    pub status: Status,
    /// `None`: it is not mounted.
    pub mounted: Option<Mounted>,
}

/// What is known of its daemon.
pub struct Mounted {
    pub mount_point: String,
    pub version: String,
    pub pid: u32,
    pub numbers: DaemonNumbers,
}

/// Asks the store, and its daemon if there is one.
pub fn collect(store: &Path) -> Result<Stats> {
    let directory = locate::store_directory(store)?;
    let client = sockets::serving(store)?;
    let mounted = client.as_ref().map(|client| {
        let hello = client.hello();
        let (mount_point, version, pid) = (hello.shown_mount_point(), hello.version.clone(), hello.pid);
        Ok::<_, Error>(Mounted { mount_point, version, pid, numbers: client.numbers()? })
    });
    let mounted = mounted.transpose()?;
    drop(client);
    let status = open_backend(store, Absent::Refuse)?.status()?;
    Ok(Stats { directory: directory.display().to_string(), status, mounted })
}
