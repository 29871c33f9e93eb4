//! What the kernel is asked to drop: an inode, or a name.

use std::sync::Arc;

use crate::fs::base::Fs;
use crate::fs::cache::invalidations::{Invalidation, Message};
use crate::model::ColumnKey;
use crate::tree::path::{name_of, parent_of};
use crate::tree::place::{NodeKey, Place};

/// Asks the kernel to drop a file's pages and attributes.
pub fn invalidate_inode(fs: &Fs, ino: u64) {
    fs.invalidations.send(Message::Send(Invalidation::Inode(ino)));
}

/// Has the kernel drop what stat(2) tells of a column's newest version, before it is answered what has made that another:
/// it asks nobody where it believes to know.
pub fn drop_attributes(fs: &Fs, column: &Arc<ColumnKey>) {
    if let Some(node) = fs.nodes.find(&NodeKey::plain(Place::Cell(Arc::clone(column)))) {
        fs.invalidations.drop_attributes(node.ino);
    }
}

/// Asks the kernel to drop a name.
pub fn invalidate_name(fs: &Fs, key: &NodeKey) {
    if let Some(notice) = entry_notice(fs, key) {
        fs.invalidations.send(Message::Send(notice));
    }
}

/// Asks the kernel to drop a name of a directory.
pub fn drop_name(fs: &Fs, parent: u64, name: Vec<u8>) {
    fs.invalidations.send(Message::Send(Invalidation::Entry { parent, name }));
}

pub fn entry_notice(fs: &Fs, key: &NodeKey) -> Option<Invalidation> {
    let (parent, name) = named(fs, key)?;
    Some(Invalidation::Entry { parent, name })
}

/// That a name may be kept for less long than it was told of.
pub fn expiry_notice(fs: &Fs, key: &NodeKey) -> Option<Invalidation> {
    let (parent, name) = named(fs, key)?;
    Some(Invalidation::Expiry { parent, name })
}

fn named(fs: &Fs, key: &NodeKey) -> Option<(u64, Vec<u8>)> {
    let parent = fs.nodes.find(&parent_of(key)?)?;
    Some((parent.ino, name_of(&fs.tree, key)))
}

/// Remembers that the kernel may have a name as absent.
pub fn remember_absent(fs: &Fs, parent: u64, name: &[u8]) {
    if let Some((parent, name)) = fs.absent.add(parent, name) {
        drop_name(fs, parent, name.into_vec());
    }
}
