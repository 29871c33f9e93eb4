//! Times of nodes, and modes and owners of generated directories, that the store does not keep: they live as long as the
//! kernel holds the node. [`super::modes`] has those of other directories.

use crate::fs::Fs;
use crate::model::{FileChange, FileTime};
use crate::tree::place::NodeKey;
use crate::tree::view::View;

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

impl Fs {
    /// A name in this directory came, went or changed.
    pub(in crate::fs) fn touch_directory(&self, ino: u64) {
        // Directories of the history have the same time at every mount, unless a program sets another.
        if let Some(node) = self.nodes.get(ino).filter(|node| node.key().view != View::History) {
            let now = Some(self.now());
            let mut state = node.state();
            let times = state.times_mut();
            (times.mtime, times.ctime) = (now, now);
        }
    }

    /// An attribute of what has this identity, its name for one, changed.
    pub(in crate::fs) fn touch(&self, key: &NodeKey) {
        if let Some(node) = self.nodes.find(key) {
            node.state().times_mut().ctime = Some(self.now());
        }
    }

    /// The time of a change, as precise as a version's timestamp: what is shown before the commit is shown
    /// after it.
    pub(in crate::fs) fn time_of_change(&self) -> FileTime {
        self.tree.backend.now().into()
    }
}
