//! Which held node has which identity, and which versions of a column are held: a change of the column alters them all.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use crate::model::ColumnKey;
use crate::tree::place::{NodeKey, Place, View};

/// See the module.
#[derive(Default)]
pub(super) struct Identities {
    by_key: FxHashMap<NodeKey, u64>,
    /// Numbers of nodes of the history by the hash of their column.
    versions: FxHashMap<u64, Vec<u64>>,
}

impl Identities {
    /// The number of the node that has an identity.
    pub fn get(&self, key: &NodeKey) -> Option<u64> {
        self.by_key.get(key).copied()
    }

    /// Gives an identity to a node; the number of the node that had it.
    pub fn insert(&mut self, key: NodeKey, ino: u64) -> Option<u64> {
        let slot = slot(&key);
        let before = self.by_key.insert(key, ino);
        if let Some(slot) = slot {
            let inos = self.versions.entry(slot).or_default();
            inos.retain(|other| Some(*other) != before);
            inos.push(ino);
        }
        before
    }

    /// Takes an identity away from a node that has it.
    pub fn remove(&mut self, key: &NodeKey, ino: u64) {
        if self.by_key.get(key) != Some(&ino) {
            return;
        }
        self.by_key.remove(key);
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
        self.by_key.shrink_to(count);
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
