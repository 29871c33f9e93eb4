//! States of the store that are kept, and bringing tables of them back.

use serde::{Deserialize, Serialize};

use crate::model::{TableName, Timestamp};

/// A state of the store that is kept as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotInfo {
    pub name: String,
    /// When it was made; what had expired by then is not in it.
    pub made_at: Timestamp,
    /// `Some`: of this table alone.
    pub table: Option<TableName>,
    /// Its tables, ascending.
    pub tables: Vec<TableName>,
    /// Stored cells, tombstones among them.
    pub cells: u64,
    /// Bytes of the segments and of the index that it keeps; the store shares most of the segments.
    pub bytes: u64,
    /// Why nothing else is known of it.
    pub damage: Option<String>,
}

/// What to do with a table that has the name of one that is brought back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Existing {
    /// Refuse ([`crate::ErrorKind::TableExists`]).
    Refuse,
    /// It goes for good.
    Replace,
}

/// Bringing tables of a snapshot back, all in one step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restoration {
    pub snapshot: String,
    /// Tables in the snapshot, each with what it is called then.
    pub tables: Vec<(TableName, TableName)>,
    pub existing: Existing,
}
