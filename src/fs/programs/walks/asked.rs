//! Directories of answers, and which lie below which.

use std::sync::Arc;

use crate::model::TableName;
use crate::tree::asking::question::Step;
use crate::tree::place::{FamilyPlace, NodeKey, Place};

/// The directory that steps of a scan path lead to, of whichever moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::fs) struct AskedDir {
    table: TableName,
    rows: Vec<Step>,
    /// The family of a row in which there are more steps, and these.
    cells: Option<(Arc<FamilyPlace>, Vec<Step>)>,
}

impl AskedDir {
    /// `None`: a node is none.
    pub(in crate::fs) fn of(key: &NodeKey) -> Option<Self> {
        let asked = key.asked.as_ref().filter(|_| key.is_question())?;
        let cells = match &key.place {
            Place::Family(family) => Some((Arc::clone(family), asked.cells.clone())),
            _ => None,
        };
        Some(Self { table: key.place.table()?.clone(), rows: asked.rows.clone(), cells })
    }

    pub(super) fn table(&self) -> &TableName {
        &self.table
    }

    /// Whether it is a directory or lies below it.
    pub(super) fn is_within(&self, root: &Self) -> bool {
        if self.table != root.table || !self.rows.starts_with(&root.rows) {
            return false;
        }
        match (&self.cells, &root.cells) {
            (_, None) => true,
            (Some((family, cells)), Some((of, begin))) => {
                self.rows == root.rows && family == of && cells.starts_with(begin)
            }
            (None, Some(_)) => false,
        }
    }
}
