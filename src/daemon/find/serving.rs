//! Who listens: the daemon of a mount, or the one that serves what a path names.

use std::path::Path;

use super::reach::check_directory;
use crate::Result;
use crate::daemon::control::client::Client;
use crate::daemon::mounts::locate::{self, MountEntry, is_cluster};
use crate::daemon::mounts::places::places_of;

/// The daemon of a mount; `None`: nobody listens.
pub fn daemon_of(mount: &MountEntry) -> Result<Option<Client>> {
    if !is_cluster(&mount.source) {
        return mounted(&mount.source);
    }
    for place in places_of(mount) {
        if place.is_dir()
            && let Some(client) = Client::connect(&place)?
        {
            return Ok(Some(client));
        }
    }
    Ok(None)
}

/// The daemon that serves what a path (of a store, in a mount) or an address names; of an address the mount made last.
pub fn serving(path: &Path) -> Result<Option<Client>> {
    let path = locate::in_whole_tree(path)?;
    if let Some(mount) = locate::mount_around(&path)? {
        return daemon_of(&mount);
    }
    if is_cluster(&path) {
        let mount = locate::mounts()?.into_iter().rev().find(|mount| mount.source == path);
        return mount.map_or(Ok(None), |mount| daemon_of(&mount));
    }
    check_directory(&path)?;
    if path.exists() { mounted(&path) } else { Ok(None) }
}

/// The daemon of a store; a command that has opened it is none.
fn mounted(store: &Path) -> Result<Option<Client>> {
    Ok(Client::connect(store)?.filter(|holder| holder.hello().is_mount()))
}
