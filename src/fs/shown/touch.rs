//! Times of directories and of names, when something in them or of them has changed.

use crate::fs::base::Fs;
use crate::tree::place::NodeKey;
use crate::tree::view::View;

/// A name in this directory came, went or changed.
pub fn touch_directory(fs: &Fs, ino: u64) {
    // Directories of the history have the same time at every mount, unless a program sets another.
    if let Some(node) = fs.nodes.get(ino).filter(|node| node.key().view != View::History) {
        let now = Some(fs.now());
        let mut state = node.state();
        let times = state.times_mut();
        (times.mtime, times.ctime) = (now, now);
    }
}

/// An attribute of what has this identity, its name for one, changed.
pub fn touch(fs: &Fs, key: &NodeKey) {
    if let Some(node) = fs.nodes.find(key) {
        node.state().times_mut().ctime = Some(fs.now());
    }
}
