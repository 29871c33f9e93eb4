//! The catalogue: namespaces, tables, families, and changes to them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Durability, FamilySchema, TableId, TableName};

/// A namespace and its properties (`hbase.namespace.quota.maxtables`, ...).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceSchema {
    pub name: String,
    pub properties: BTreeMap<String, String>,
}

/// Whether a table takes reads and writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TableState {
    #[default]
    Enabled,
    Disabled,
}

/// A table: attributes as set, and its families by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableSchema {
    pub name: TableName,
    pub id: TableId,
    pub state: TableState,
    pub attributes: BTreeMap<String, String>,
    pub metadata: BTreeMap<String, String>,
    pub configuration: BTreeMap<String, String>,
    pub families: BTreeMap<String, FamilySchema>,
}

impl TableSchema {
    /// READONLY.
    pub fn read_only(&self) -> bool {
        self.attributes.get("READONLY").is_some_and(|v| v == "true")
    }

    /// COMPACTION_ENABLED: whether its families are compacted by themselves.
    pub fn compaction_enabled(&self) -> bool {
        self.attributes.get("COMPACTION_ENABLED").is_none_or(|v| v == "true")
    }

    /// DURABILITY, SYNC_WAL where it is not set.
    pub fn durability(&self) -> Durability {
        match self.attributes.get("DURABILITY").map(String::as_str) {
            Some("SKIP_WAL") => Durability::SkipWal,
            Some("ASYNC_WAL") => Durability::AsyncWal,
            Some("FSYNC_WAL") => Durability::FsyncWal,
            _ => Durability::SyncWal,
        }
    }
}

/// Everything that is declared in a store. Bounded by the number of tables, which is small.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Catalogue {
    pub namespaces: BTreeMap<String, NamespaceSchema>,
    pub tables: BTreeMap<TableName, TableSchema>,
    /// Numbers that were never used.
    pub next_table_id: u32,
    pub next_family_id: u32,
    /// Grows with every change.
    pub version: u64,
}

/// A change of the catalogue; each is applied and made durable as a whole.
///
/// Ids in given schemas are ignored: the store assigns them, and keeps those of families that stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CatalogueChange {
    CreateNamespace(NamespaceSchema),
    /// Replaces the properties.
    AlterNamespace(NamespaceSchema),
    /// Refused while it has tables.
    DropNamespace {
        name: String,
    },
    CreateTable(TableSchema),
    /// Replaces attributes and families. A family that is no longer there is dropped with its cells.
    AlterTable(TableSchema),
    DropTable {
        name: TableName,
    },
    /// New, empty, same schema.
    TruncateTable {
        name: TableName,
    },
    RenameTable {
        from: TableName,
        to: TableName,
    },
    ExchangeTables {
        one: TableName,
        other: TableName,
    },
    SetTableState {
        name: TableName,
        state: TableState,
    },
}
