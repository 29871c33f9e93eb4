//! What the kernel is asked to drop: an inode, or a name.

use crate::fs::base::Fs;
use crate::fs::cache::invalidations::{Invalidation, Message};
use crate::tree::path::{name_of, parent_of};
use crate::tree::place::NodeKey;

impl Fs {
    /// Asks the kernel to drop a file's pages and attributes.
    pub(in crate::fs) fn invalidate_inode(&self, ino: u64) {
        self.invalidations.send(Message::Send(Invalidation::Inode(ino)));
    }

    /// Asks the kernel to drop a name.
    pub(in crate::fs) fn invalidate_name(&self, key: &NodeKey) {
        if let Some(notice) = self.entry_notice(key) {
            self.invalidations.send(Message::Send(notice));
        }
    }

    /// Asks the kernel to drop a name of a directory.
    pub(in crate::fs) fn drop_name(&self, parent: u64, name: Vec<u8>) {
        self.invalidations.send(Message::Send(Invalidation::Entry { parent, name }));
    }

    pub(in crate::fs) fn entry_notice(&self, key: &NodeKey) -> Option<Invalidation> {
        let parent = self.nodes.find(&parent_of(key)?)?;
        Some(Invalidation::Entry { parent: parent.ino, name: name_of(&self.tree, key) })
    }
}
