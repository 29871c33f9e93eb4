//! The trees of snapshots, each over its own backend, opened when something below `.snapshot/NAME` is used.

use std::sync::Arc;

use crate::backend::Backend;
use crate::fs::Fs;
use crate::fs::trees::tree_over;
use crate::tree::base::Tree;
use crate::tree::facts;
use crate::tree::found::Facts;
use crate::tree::place::NodeKey;
use crate::{Error, ErrorKind, Result};

impl Fs {
    /// The tree that a node is in. `NotFound` if its snapshot was deleted.
    pub(in crate::fs) fn tree_of(&self, key: &NodeKey) -> Result<Arc<Tree>> {
        let Some(id) = &key.snapshot else { return Ok(Arc::clone(&self.tree)) };
        if let Some(tree) = self.snapshots.get(id) {
            return Ok(tree);
        }
        let backend = self.tree.backend.snapshot(&id.name)?;
        // The clock of a snapshot stands at the time when it was made.
        if backend.now() != id.made_at {
            return Err(Error::new(ErrorKind::NotFound, format!("snapshot {} is another one now", id.name)));
        }
        let tree = tree_over(backend, &self.options);
        self.snapshots.keep(id, &tree);
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
