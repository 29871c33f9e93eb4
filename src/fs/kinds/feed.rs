//! `.changes` of a table: a line a change, from the first reader's opening on, as `tail -f` follows it.
//!
//! Memory: the last lines of each table that is followed, [`FOLLOWED`] tables at the most.

use std::sync::Arc;

use crate::Result;
use crate::backend::Backend;
use crate::fs::Fs;
use crate::fs::handles::table::Opened;
use crate::fs::nodes::node::Node;
use crate::model::{FileAttributes, FileChange, TableName};
use crate::tree::found::Facts;

/// Its owner's alone: values that others may not see stand in it.
const MODE: u16 = 0o400;

impl Fs {
    pub(in crate::fs) fn open_feed(&self, node: Arc<Node>, table: &TableName) -> Result<Opened> {
        let reader = self.feeds.follow(&self.tree.backend, table)?;
        self.add_stream(node, Box::new(reader))
    }

    /// As long as what was told to those who follow; always changed, so that they look.
    pub(in crate::fs) fn facts_of_feed(&self, table: &TableName) -> Result<Facts> {
        let file: FileAttributes = FileChange { mode: Some(MODE), ..FileChange::default() }.into();
        Ok(Facts::Scratch { len: self.feeds.told(table)?, mtime: self.tree.backend.now().into(), file })
    }
}
