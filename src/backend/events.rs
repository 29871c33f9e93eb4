//! What subscribers are told.

use std::sync::Arc;

use crate::model::{ColumnKey, Origin, RowKey, TableName};

/// A change that was committed; told to every subscriber, after the commit, outside all locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// One column has other versions than before.
    Column { column: Arc<ColumnKey>, origin: Origin },
    /// Many columns of a row, or of one family of it, have.
    Row { table: TableName, row: RowKey, family: Option<String>, origin: Origin },
    /// A table, or what its families show, is other than before (schema, drop, truncation).
    Table { table: TableName, origin: Origin },
    /// A table's cells are others, all at once: truncated, or brought back from a snapshot.
    Replaced { table: TableName },
    /// A namespace came, went or changed.
    Namespace { name: String, origin: Origin },
    /// A snapshot came or went.
    Snapshot { name: String },
    /// Something that no request is refused for and that whoever looks at the mount is to know, in words.
    Noted { about: String, sentence: String },
}

/// Told of every committed change.
pub type Subscriber = Arc<dyn Fn(&Event) + Send + Sync>;
