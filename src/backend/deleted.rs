//! Deleted versions that can be brought back, as they are asked for and answered.

use serde::{Deserialize, Serialize};

use crate::model::{CellInfo, ColumnKey, RowKey, SeqNo, TableName, Timestamp};

/// In which columns of a table they are looked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedQuery {
    pub table: TableName,
    /// That row only.
    pub row: Option<RowKey>,
    /// That family only.
    pub family: Option<String>,
    /// What differs from this time; `None`: what has no newest version.
    pub at: Option<Timestamp>,
    /// Columns after this one; `None`: from the first one on.
    pub after: Option<ColumnKey>,
}

/// A version that comes back, and the newest one that reads saw in its column then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gone {
    pub cell: CellInfo,
    pub shown: Option<(Timestamp, SeqNo)>,
}

/// A part of the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletedPage {
    /// Of each column the version that comes back; ascending.
    pub cells: Vec<(ColumnKey, Gone)>,
    /// The column after which it goes on; `None` at the end.
    pub next: Option<ColumnKey>,
}
