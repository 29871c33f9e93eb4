//! The trees of snapshots, each over its own backend, opened when something below `.snapshot/NAME` is used.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use super::{Fs, Options};
use crate::backend::Backend;
use crate::tree::place::NodeKey;
use crate::tree::resolve::{Facts, Tree};
use crate::{ErrorKind, Result};

/// Trees that are kept; each holds an open snapshot.
const KEPT: NonZeroUsize = NonZeroUsize::MIN.saturating_add(3);

/// See the module.
pub(super) struct SnapshotTrees(Mutex<LruCache<Arc<str>, Arc<Tree>>>);

impl Default for SnapshotTrees {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(KEPT)))
    }
}

impl SnapshotTrees {
    /// A snapshot of that name came or went.
    pub fn forget(&self, name: &str) {
        self.0.lock().pop(name);
    }
}

/// A tree as the mount's options say.
pub(super) fn tree_over(backend: Arc<dyn Backend>, options: &Options) -> Arc<Tree> {
    Arc::new(Tree { inline_history: options.inline_history, ..Tree::new(backend, &options.spill_dir) })
}

impl Fs {
    /// The tree that a node is in. `NotFound` if its snapshot was deleted.
    pub(super) fn tree_of(&self, key: &NodeKey) -> Result<Arc<Tree>> {
        let Some(name) = &key.snapshot else { return Ok(Arc::clone(&self.tree)) };
        let mut kept = self.snapshots.0.lock();
        if let Some(tree) = kept.get(name) {
            return Ok(Arc::clone(tree));
        }
        let tree = tree_over(self.tree.backend.snapshot(name)?, &self.options);
        kept.put(Arc::clone(name), Arc::clone(&tree));
        Ok(tree)
    }

    /// What is at a place; `None` when nothing is.
    pub(super) fn facts(&self, key: &NodeKey) -> Result<Option<Facts>> {
        match self.tree_of(key) {
            Err(e) if e.kind == ErrorKind::NotFound => Ok(None),
            tree => tree?.facts(key),
        }
    }
}
