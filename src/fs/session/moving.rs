//! What is open, and what the kernel holds, goes on where a name has moved.

use std::sync::Arc;

use crate::Result;
use crate::fs::base::Fs;
use crate::fs::handles::table::FileHandle;
use crate::fs::nodes::node::Node;
use crate::model::{CellInfo, ColumnKey, SeqNo, TimeRange, Timestamp};
use crate::tree::place::NodeKey;

impl Fs {
    /// Commits what handles of a node have left, so that the rename moves it.
    pub(in crate::fs) fn commit_open(&self, node: &Arc<Node>) -> Result<()> {
        if node.state().session.is_none() {
            return Ok(());
        }
        for file in self.handles.files().into_iter().filter(|file: &Arc<FileHandle>| file.node.ino == node.ino) {
            self.commit(&file, &mut node.state())?;
        }
        Ok(())
    }

    /// Commits what handles of cells that are `below` have left; those that made the newest version of theirs.
    pub(in crate::fs) fn commit_below(&self, below: impl Fn(&ColumnKey) -> bool) -> Result<Vec<Arc<FileHandle>>> {
        let mut newest = Vec::new();
        for file in self.handles.files() {
            let Some(column) = file.node.key().place.column().filter(|column| below(column)).cloned() else { continue };
            self.commit(&file, &mut file.node.state())?;
            let committed = file.state.lock().committed;
            if committed.is_some() && committed == self.newest_version(&column)? {
                newest.push(file);
            }
        }
        Ok(newest)
    }

    /// A later commit of such a handle replaces what it made, wherever that is now.
    pub(in crate::fs) fn follow_newest(&self, files: Vec<Arc<FileHandle>>) -> Result<()> {
        for file in files {
            if let Some(column) = file.node.key().place.column() {
                file.state.lock().committed = self.newest_version(column)?;
            }
        }
        Ok(())
    }

    pub(in crate::fs) fn newest_version(&self, column: &ColumnKey) -> Result<Option<(Timestamp, SeqNo)>> {
        Ok(self.tree.backend.newest(column, TimeRange::ALL)?.map(|cell| (cell.timestamp, cell.seq)))
    }

    /// The node goes on under its new name; the node that had the name loses it.
    pub(in crate::fs) fn move_node(&self, from: &NodeKey, to: &NodeKey, cell: Option<CellInfo>) {
        let replaced = match self.nodes.find(from) {
            Some(node) => {
                let replaced = self.nodes.rename(&node, to.clone());
                if let Some(cell) = cell {
                    let mut state = node.state();
                    let moved = (cell.timestamp, cell.seq);
                    state.cell = Some(Box::new(cell));
                    drop(state);
                    self.handles_follow(&node, moved);
                }
                replaced
            }
            None => {
                let replaced = self.nodes.find(to);
                if let Some(node) = &replaced {
                    self.nodes.detach(node);
                }
                replaced
            }
        };
        if let Some(node) = replaced {
            node.state().unlinked = true;
        }
    }

    /// A later commit of a handle that wrote the moved version replaces it at the new name.
    fn handles_follow(&self, node: &Arc<Node>, moved: (Timestamp, SeqNo)) {
        follow(&self.files_of(node), &[], moved);
    }

    /// The open files of a cell: mostly none.
    pub(in crate::fs) fn files_of(&self, node: &Node) -> Vec<Arc<FileHandle>> {
        if node.opens() == 0 {
            return Vec::new();
        }
        self.handles.files().into_iter().filter(|file| file.node.ino == node.ino).collect()
    }
}

/// The next commit of a handle that wrote the version that moved, or has yet to write what goes on from it, replaces it.
pub(in crate::fs) fn follow(files: &[Arc<FileHandle>], dirty: &[Arc<FileHandle>], moved: (Timestamp, SeqNo)) {
    for file in files {
        let is_dirty = dirty.iter().any(|other| Arc::ptr_eq(other, file));
        let mut own = file.state.lock();
        if own.committed.is_some() || is_dirty {
            own.committed = Some(moved);
        }
    }
}
