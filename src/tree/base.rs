//! The tree over one backend, as one mount sees it: what it remembers.

use std::path::Path;
use std::sync::Arc;

use super::asking::marks::Marks;
use super::history::judged::Judged;
use super::history::unmade::Unmade;
use super::made::{MadeDirs, Uncommitted};
use super::names::escape::Spelling;
use super::names::keys::KnownKeys;
use crate::backend::Backend;

/// The tree over one backend, as one mount sees it.
pub struct Tree {
    pub backend: Arc<dyn Backend>,
    pub uncommitted: Uncommitted,
    /// Directories that were made in the history.
    pub restored: MadeDirs,
    /// Directories that were made in the history below a row whose key is not known yet.
    pub waiting: MadeDirs,
    /// Directories of the schema that the history does not show until they are made.
    pub unmade: Unmade,
    pub keys: KnownKeys,
    pub judged: Judged,
    pub marks: Marks,
    /// Families list versions beside their cells.
    pub inline_history: bool,
    /// How names are spelt outside the history.
    pub spelling: Spelling,
}

impl Tree {
    /// `spill_dir` takes what would be too much for memory.
    pub fn new(backend: Arc<dyn Backend>, spill_dir: &Path) -> Self {
        Self {
            backend,
            uncommitted: Uncommitted::new(spill_dir),
            restored: MadeDirs::new(spill_dir),
            waiting: MadeDirs::new(spill_dir),
            unmade: Unmade::default(),
            keys: KnownKeys::new(spill_dir),
            judged: Judged::default(),
            marks: Marks::default(),
            inline_history: false,
            spelling: Spelling::default(),
        }
    }
}
