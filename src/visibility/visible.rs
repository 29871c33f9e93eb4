//! What the matchers say of a stored cell: what a read sees of it, and where it reads on.

use crate::model::{StoredCell, Timestamp};

/// A cell that a read sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisibleCell {
    pub cell: StoredCell,
    /// `Some(T)`: a deleted version that is kept; T is the time of the tombstone that ended it.
    pub deleted_at: Option<Timestamp>,
    /// Of such a version: reads of a past that ends later do not see it.
    pub hidden_from: Option<Timestamp>,
}

impl VisibleCell {
    /// A version that was not deleted.
    pub fn live(cell: StoredCell) -> Self {
        Self { cell, deleted_at: None, hidden_from: None }
    }
}

/// Where to read on after a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    Next,
    NextColumn,
}
