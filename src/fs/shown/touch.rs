//! Times of directories and of names, when something in them or of them has changed.

use crate::fs::base::Fs;
use crate::tree::place::NodeKey;
use crate::tree::view::View;

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
}
