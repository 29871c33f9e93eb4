//! What an import is told.

use crate::bulk::Format;
use crate::bulk::reached::Position;
use crate::bulk::read::delimited::{Columns, Empty};
use crate::model::row_key::Recipe;
use crate::model::{FileTime, TableName, Timestamp};

/// What is to be imported, and how it is read.
pub struct Plan {
    pub table: TableName,
    pub format: Format,
    /// Of `csv` and `tsv`; `None`: the first line names them.
    pub columns: Option<Columns>,
    pub empty: Empty,
    /// Of what says no timestamp itself.
    pub time: Timestamp,
    /// Of the same, where the timestamp is none that somebody has chosen: see [`crate::bulk::import_mtime`].
    pub mtime: Option<FileTime>,
    /// Rows are given by the fields of this recipe.
    pub recipe: Option<Recipe>,
    /// Longest record in bytes.
    pub record_max: usize,
    /// Where in the stream it goes on.
    pub from: Position,
}
