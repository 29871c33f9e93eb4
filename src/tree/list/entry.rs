//! What a listing has of one name in a directory.

use crate::model::CellInfo;
use crate::tree::place::{NodeKey, Place};

/// One entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its identity; `None`: what the directory has by the key that is the cursor, see [`Place::below_by_key`].
    node: Option<Box<NodeKey>>,
    /// `None`: its cursor is its name.
    name: Option<Vec<u8>>,
    /// Resumes the listing after this entry.
    pub cursor: Vec<u8>,
    /// The newest version, for a cell that is committed.
    pub cell: Option<Box<CellInfo>>,
}

/// The same, lent. A listing of very many rows makes nothing here that only some ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed<'e> {
    node: Option<&'e NodeKey>,
    name: Option<&'e [u8]>,
    pub cursor: &'e [u8],
    pub cell: Option<&'e CellInfo>,
}

impl Entry {
    /// An entry with this name and identity.
    pub(in crate::tree) fn new(name: Vec<u8>, key: NodeKey, cursor: Vec<u8>) -> Self {
        Self { node: Some(Box::new(key)), name: Some(name), cursor, cell: None }
    }

    /// A cell in its family; without a name its key is its name.
    pub fn below(name: Option<Vec<u8>>, key: Vec<u8>) -> Self {
        Self { node: None, name, cursor: key, cell: None }
    }

    /// The same of a cell that is committed.
    pub(in crate::tree) fn with_cell(self, cell: impl Into<Option<CellInfo>>) -> Self {
        Self { cell: cell.into().map(Box::new), ..self }
    }

    /// Bytes that it takes, about.
    pub(in crate::tree) fn held(&self) -> usize {
        let cell = self.cell.as_ref().map_or(0, |cell| cell.held());
        let node = self.node.as_ref().map_or(0, |node| size_of_val(&**node));
        size_of_val(self) + self.cursor.capacity() + self.name.as_ref().map_or(0, Vec::capacity) + cell + node
    }

    #[inline]
    pub fn listed(&self) -> Listed<'_> {
        let (node, name, cell) = (self.node.as_deref(), self.name.as_deref(), self.cell.as_deref());
        Listed { node, name, cursor: &self.cursor, cell }
    }
}

impl<'e> Listed<'e> {
    /// A row in its table; without a name its key is its name.
    #[inline]
    pub(in crate::tree) fn below(name: Option<&'e [u8]>, key: &'e [u8]) -> Self {
        Self { node: None, name, cursor: key, cell: None }
    }

    /// Its name in the directory.
    #[inline]
    pub fn name(&self) -> &'e [u8] {
        self.name.unwrap_or(self.cursor)
    }

    /// The key by which its directory has it; `None`: it is there for another reason.
    #[inline]
    pub fn key_below(&self) -> Option<&'e [u8]> {
        self.node.is_none().then_some(self.cursor)
    }

    /// Its identity, in a listing of this directory.
    pub fn key(&self, dir: &NodeKey) -> NodeKey {
        self.node.cloned().unwrap_or_else(|| dir.sibling(dir.place.below_by_key(self.cursor)))
    }

    /// Whether it is a directory, in a listing of this one.
    #[inline]
    pub fn is_dir(&self, dir: &NodeKey) -> bool {
        self.node.map_or_else(|| matches!(dir.place, Place::Table(_)), |key| key.place.is_dir())
    }

    /// Whether it belongs to the schema.
    pub fn is_schema(&self) -> bool {
        self.node.is_some_and(|key| matches!(key.place, Place::Schema(_)))
    }
}
