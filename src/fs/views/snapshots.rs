//! The trees of snapshots, each over its own backend, opened when something below `.snapshot/NAME` is used.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;

use crate::backend::Backend;
use crate::env::sync::Mutex;
use crate::fs::{Fs, Options};
use crate::tree::base::Tree;
use crate::tree::facts;
use crate::tree::found::Facts;
use crate::tree::place::{NodeKey, SnapshotId};
use crate::{Error, ErrorKind, Result};

/// Trees that are kept; each holds an open snapshot.
const KEPT: NonZeroUsize = NonZeroUsize::MIN.saturating_add(3);

/// See the module.
pub(in crate::fs) struct SnapshotTrees(Mutex<LruCache<Arc<SnapshotId>, Arc<Tree>>>);

impl Default for SnapshotTrees {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(KEPT)))
    }
}

impl SnapshotTrees {
    /// A snapshot of that name came or went.
    pub fn forget(&self, name: &str) {
        let mut kept = self.0.lock();
        let gone: Vec<Arc<SnapshotId>> = kept.iter().map(|(id, _)| id).filter(|id| id.name == name).cloned().collect();
        for id in gone {
            kept.pop(&id);
        }
    }
}

/// A tree as the mount's options say.
pub(in crate::fs) fn tree_over(backend: Arc<dyn Backend>, options: &Options) -> Arc<Tree> {
    let Options { inline_history, spelling, .. } = *options;
    Arc::new(Tree { inline_history, spelling, ..Tree::new(backend, &options.spill_dir) })
}

impl Fs {
    /// The tree that a node is in. `NotFound` if its snapshot was deleted.
    pub(in crate::fs) fn tree_of(&self, key: &NodeKey) -> Result<Arc<Tree>> {
        let Some(id) = &key.snapshot else { return Ok(Arc::clone(&self.tree)) };
        if let Some(tree) = self.snapshots.0.lock().get(id) {
            return Ok(Arc::clone(tree));
        }
        let backend = self.tree.backend.snapshot(&id.name)?;
        // The clock of a snapshot stands at the time when it was made.
        if backend.now() != id.made_at {
            return Err(Error::new(ErrorKind::NotFound, format!("snapshot {} is another one now", id.name)));
        }
        let tree = tree_over(backend, &self.options);
        self.snapshots.0.lock().put(Arc::clone(id), Arc::clone(&tree));
        Ok(tree)
    }

    /// As [`Fs::tree_of`], for a file or directory that is open: `Stale` if its snapshot was deleted.
    pub(in crate::fs) fn tree_of_open(&self, key: &NodeKey) -> Result<Arc<Tree>> {
        self.tree_of(key).map_err(|e| stale(key, e))
    }

    /// What is at a place; `None` when nothing is.
    pub(in crate::fs) fn facts(&self, key: &NodeKey) -> Result<Option<Facts>> {
        match self.tree_of(key) {
            _ if self.is_hidden(key) => Ok(None),
            Err(e) if e.kind == ErrorKind::NotFound => Ok(None),
            tree => facts::at(&*tree?, key),
        }
    }
}

/// What is gone of a snapshot is gone with all of it.
pub(in crate::fs) fn stale(key: &NodeKey, error: Error) -> Error {
    match &key.snapshot {
        Some(id) if error.kind == ErrorKind::NotFound => {
            Error::new(ErrorKind::Stale, format!("snapshot {} was deleted while this file was open", id.name))
        }
        _ => error,
    }
}
