//! What a listing has of one name in a directory.

use super::place::{NodeKey, Place};
use crate::model::CellInfo;

/// One entry of a directory. A listing of very many rows costs one allocation each: nothing is made here that only some ask
/// for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    what: What,
    /// `None`: its cursor is its name.
    name: Option<Vec<u8>>,
    /// Resumes the listing after this entry.
    pub cursor: Vec<u8>,
    /// The newest version, for a cell that is committed.
    pub cell: Option<Box<CellInfo>>,
}

/// What an entry stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    Node(Box<NodeKey>),
    /// What the directory has by the key that is the cursor, see [`Place::below_by_key`].
    Below,
}

impl Entry {
    /// An entry with this name and identity.
    pub(super) fn new(name: Vec<u8>, key: NodeKey, cursor: Vec<u8>) -> Self {
        Self { what: What::Node(Box::new(key)), name: Some(name), cursor, cell: None }
    }

    /// A row in its table, a cell in its family; without a name its key is its name.
    pub fn below(name: Option<Vec<u8>>, key: Vec<u8>) -> Self {
        Self { what: What::Below, name, cursor: key, cell: None }
    }

    /// The same of a cell that is committed.
    pub(super) fn with_cell(self, cell: impl Into<Option<CellInfo>>) -> Self {
        Self { cell: cell.into().map(Box::new), ..self }
    }

    /// Its name in the directory.
    pub fn name(&self) -> &[u8] {
        self.name.as_deref().unwrap_or(&self.cursor)
    }

    /// The key by which its directory has it; `None`: it is there for another reason.
    pub fn key_below(&self) -> Option<&[u8]> {
        matches!(self.what, What::Below).then_some(&self.cursor)
    }

    /// Its identity, in a listing of this directory.
    pub fn key(&self, dir: &NodeKey) -> NodeKey {
        match &self.what {
            What::Node(key) => key.as_ref().clone(),
            What::Below => dir.sibling(dir.place.below_by_key(&self.cursor)),
        }
    }

    /// Whether it is a directory, in a listing of this one.
    pub fn is_dir(&self, dir: &NodeKey) -> bool {
        match &self.what {
            What::Node(key) => key.place.is_dir(),
            What::Below => matches!(dir.place, Place::Table(_)),
        }
    }

    /// Whether it belongs to the schema.
    pub fn is_schema(&self) -> bool {
        matches!(&self.what, What::Node(key) if matches!(key.place, Place::Schema(_)))
    }
}
