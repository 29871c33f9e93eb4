//! Which node has an identity whose number is not its own, as after a rename, and which versions of a column are held: a
//! change of the column alters them all.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::model::ColumnKey;
use crate::tree::place::{NodeKey, Place};
use crate::tree::view::View;

/// See the module.
#[derive(Default)]
pub(in crate::fs) struct Identities {
    elsewhere: FxHashMap<NodeKey, u64>,
    /// Numbers of nodes of the history by the hash of their column.
    versions: FxHashMap<u64, Vec<u64>>,
}

impl Identities {
    /// The number of the node that has an identity, if that is not the identity's own.
    pub fn elsewhere(&self, key: &NodeKey) -> Option<u64> {
        if self.elsewhere.is_empty() { None } else { self.elsewhere.get(key).copied() }
    }

    /// A node has an identity now, whose number is `number`.
    pub fn note(&mut self, key: &NodeKey, number: u64, ino: u64) {
        if number != ino {
            self.elsewhere.insert(key.clone(), ino);
        }
        if let Some(slot) = slot(key) {
            self.versions.entry(slot).or_default().push(ino);
        }
    }

    /// A node does not have its identity any more.
    pub fn forget(&mut self, key: &NodeKey, ino: u64) {
        if self.elsewhere(key) == Some(ino) {
            self.elsewhere.remove(key);
        }
        if let Some(slot) = slot(key)
            && let Some(inos) = self.versions.get_mut(&slot)
        {
            inos.retain(|other| *other != ino);
            if inos.is_empty() {
                self.versions.remove(&slot);
            }
        }
    }

    /// Numbers of the nodes that are versions of a column in the history; with its hash, some of another may be there.
    pub fn versions_of(&self, column: &ColumnKey) -> &[u64] {
        if self.versions.is_empty() {
            return &[];
        }
        self.versions.get(&hash(column)).map_or(&[], Vec::as_slice)
    }

    /// Gives back what very many names have needed.
    pub fn shrink_to(&mut self, count: usize) {
        self.elsewhere.shrink_to(count);
        self.versions.shrink_to(count);
    }
}

fn slot(key: &NodeKey) -> Option<u64> {
    match &key.place {
        Place::Version(column, _) | Place::Ended(column, ..) if key.view == View::History && key.snapshot.is_none() => {
            Some(hash(column))
        }
        _ => None,
    }
}

fn hash(column: &ColumnKey) -> u64 {
    let mut hasher = FxHasher::default();
    column.hash(&mut hasher);
    hasher.finish()
}
