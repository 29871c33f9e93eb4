//! The new name of what was moved, in the mount.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::backend::Backend;
use crate::daemon::mounts::locate;
use crate::tree::base::Tree;
use crate::tree::path::{name_of, parent_of};
use crate::tree::place::{NodeKey, Place};

/// Programs that are in a directory which has moved have its new name once somebody has looked that up.
pub fn look_up(store: &Path, backend: Arc<dyn Backend>, place: Place) {
    let tree = Tree::new(backend, &std::env::temp_dir());
    let (mut names, mut key) = (Vec::new(), NodeKey::plain(place));
    while let Some(parent) = parent_of(&key) {
        names.push(OsString::from_vec(name_of(&tree, &key)));
        key = parent;
    }
    let mounts = locate::store_directory(store).and_then(|store| locate::mount_points_of(&store));
    for mount in mounts.unwrap_or_default() {
        let path: PathBuf = std::iter::once(mount.into_os_string()).chain(names.iter().rev().cloned()).collect();
        if let Err(e) = std::fs::symlink_metadata(&path) {
            log::debug!("look at {}: {e}", path.display());
        }
    }
}
