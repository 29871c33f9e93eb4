//! Times of nodes, and modes and owners of generated directories, that the store does not keep: they live as long as the
//! kernel holds the node. [`super::modes`] has those of other directories.

use crate::model::{FileChange, FileTime};

/// See the module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// As it was set; reading a file changes nothing.
    pub atime: Option<FileTime>,
    /// Of a directory: set, or when a name in it came or went.
    pub mtime: Option<FileTime>,
    /// When attributes were changed last.
    pub ctime: Option<FileTime>,
    /// Of a generated directory: mode and owner that were set.
    pub access: FileChange,
}
