//! The directory that a mount makes for a new store, and takes away again when nothing comes of the mount.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::store::Store;
use crate::{Error, Result};

/// Directories that were not there before, the store's first.
pub struct Made(Vec<PathBuf>);

impl Made {
    /// Makes the store's directory and its parents.
    pub fn new(store: &Path) -> Result<Self> {
        let absent = store.ancestors().take_while(|path| std::fs::symlink_metadata(path).is_err());
        let made = Self(absent.map(Path::to_owned).collect());
        let done = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(store);
        done.map_err(|e| Error::io(format!("make the store's directory {}", store.display()), &e))?;
        Ok(made)
    }

    /// Removes what was made. A store that someone has begun to use meanwhile stays.
    pub fn undo(self) {
        let Some(store) = self.0.first() else { return };
        if let Err(e) = Store::remove_unused(store) {
            return log::debug!("{} stays: {}", store.display(), e.message);
        }
        for directory in &self.0 {
            // Another program may have made something there.
            let _ = std::fs::remove_dir(directory);
        }
    }
}
