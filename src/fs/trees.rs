//! The trees of snapshots, each over its own backend, opened when something below `.snapshot/NAME` is used.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;

use crate::backend::Backend;
use crate::env::sync::Mutex;
use crate::fs::options::Options;
use crate::tree::base::Tree;
use crate::tree::place::SnapshotId;

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
    /// The tree of a snapshot, if it is kept.
    pub(in crate::fs) fn get(&self, id: &Arc<SnapshotId>) -> Option<Arc<Tree>> {
        self.0.lock().get(id).map(Arc::clone)
    }

    /// Keeps the tree of a snapshot.
    pub(in crate::fs) fn keep(&self, id: &Arc<SnapshotId>, tree: &Arc<Tree>) {
        self.0.lock().put(Arc::clone(id), Arc::clone(tree));
    }

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
