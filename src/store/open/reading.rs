//! A store that is read where nothing can be changed: its filesystem is read-only, or has no room left.

use std::path::Path;
use std::sync::Arc;

use crate::env::Env;
use crate::{Error, ErrorKind, Result};

/// Why a store takes no changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoChanges {
    /// Its filesystem is read-only, or its directory write-protected.
    ReadOnly,
    /// The disk has not even room for what opening it writes.
    FullDisk,
}

impl NoChanges {
    /// What the store does, as `status` tells it.
    pub fn activity(self) -> &'static str {
        match self {
            Self::ReadOnly => "reading alone: its filesystem is read-only, or its directory write-protected",
            Self::FullDisk => "reading alone: the disk was full when the store was opened",
        }
    }

    /// What whoever mounts the store is told.
    pub fn of_mount(self, directory: &Path) -> String {
        let shown = directory.display();
        match self {
            Self::ReadOnly => {
                format!("the filesystem of {shown} is read-only: the mount shows the store and changes nothing")
            }
            Self::FullDisk => format!(
                "the disk under {shown} is full: the mount shows the store as it is and changes nothing. Free some MiB \
                 there, unmount it and mount it again to write"
            ),
        }
    }

    /// The refusal of a change.
    pub fn refusal(self, directory: &Path) -> Error {
        match self {
            Self::ReadOnly => Error::new(ErrorKind::ReadOnlyStore, why_read_only(directory)),
            Self::FullDisk => Error::new(ErrorKind::NoSpace, no_room_at(directory)),
        }
    }
}

fn why_read_only(directory: &Path) -> String {
    format!(
        "the filesystem of the store {} is read-only, or its directory is write-protected: the store is read as it is and \
         takes no changes. Make it writable, or copy the store to where it is",
        directory.display()
    )
}

/// The files of a store whose filesystem takes no changes, all changes in memory.
pub fn over_read_only(env: &Arc<dyn Env>, directory: &Path) -> Result<Option<Arc<dyn Env>>> {
    env.over_read_only(directory).map_err(|e| Error::io(format!("look at {}", directory.display()), &e))
}

/// What is said where a store cannot be opened for want of room.
pub fn no_room(source: &Error, directory: &Path) -> Error {
    Error::new(ErrorKind::NoSpace, format!("{}. {}", source.message, no_room_at(directory)))
}

fn no_room_at(directory: &Path) -> String {
    format!(
        "The disk under {} has no room left, not even for opening the store to write: free some MiB there. Until then it is \
         read as it is, by commands that change nothing and by a mount with the option ro",
        directory.display()
    )
}
