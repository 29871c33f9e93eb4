//! The catalogue: namespaces, tables, families, and changes to them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::model::{
    Durability, FamilyId, FamilySchema, FileTime, IndexSchema, Settings, TableId, TableName, Timestamp,
};

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

/// What becomes of a family that a table lacks when a directory of its name is made in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum NewFamilies {
    /// That is refused: families are declared.
    #[default]
    Declared,
    /// It is declared so. Of a table that `mkdir` made, until one is declared in another way.
    AsTheyCome,
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
    #[serde(default)]
    pub new_families: NewFamilies,
    /// By name.
    #[serde(default)]
    pub indexes: BTreeMap<String, IndexSchema>,
}

impl TableSchema {
    /// A table that is not declared yet: the store gives it its number.
    pub fn new(name: TableName, families: impl IntoIterator<Item = FamilySchema>) -> Self {
        Self {
            name,
            id: TableId(0),
            state: TableState::Enabled,
            attributes: BTreeMap::new(),
            metadata: BTreeMap::new(),
            configuration: BTreeMap::new(),
            families: families.into_iter().map(|family| (family.name.clone(), family)).collect(),
            new_families: NewFamilies::Declared,
            indexes: BTreeMap::new(),
        }
    }

    /// All families whose cells are kept: the declared ones, and those that hold the entries of indexes.
    pub fn stored_families(&self) -> impl Iterator<Item = &FamilySchema> {
        self.families.values().chain(self.indexes.values().map(|index| &index.entries))
    }

    /// As [`TableSchema::stored_families`].
    pub fn stored_families_mut(&mut self) -> impl Iterator<Item = &mut FamilySchema> {
        self.families.values_mut().chain(self.indexes.values_mut().map(|index| &mut index.entries))
    }

    /// Adds a family, or takes it in place of the one of its name; from now on families are declared.
    pub fn declare(&mut self, family: FamilySchema) {
        self.families.insert(family.name.clone(), family);
        self.new_families = NewFamilies::Declared;
    }

    /// When it was made: when the oldest of its families was. Zero of one without a family.
    pub fn made_at(&self) -> Timestamp {
        self.families.values().map(|family| family.made_at).min().unwrap_or_default()
    }

    /// READONLY.
    pub fn read_only(&self) -> bool {
        self.attributes.get("READONLY").is_some_and(|v| v == "true")
    }

    /// COMPACTION_ENABLED: whether its families are compacted by themselves.
    pub fn compaction_enabled(&self) -> bool {
        self.attributes.get("COMPACTION_ENABLED").is_none_or(|v| v == "true")
    }

    /// DURABILITY, if it is set and not USE_DEFAULT.
    pub fn durability(&self) -> Option<Durability> {
        self.attributes.get("DURABILITY").and_then(|name| Durability::parse(name))
    }
}

/// Whose attribute it is; ids, so that it follows a rename.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AttributeOwner {
    Namespace(String),
    Table(TableId),
    Family(FamilyId),
    /// A constraint of a family, by its name.
    Constraint(FamilyId, String),
}

/// The maps of texts that an owner has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AttributeMap {
    /// Attributes; of a namespace its properties.
    Attributes,
    Metadata,
    Configuration,
}

/// One attribute that can be set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AttributeKey {
    pub owner: AttributeOwner,
    pub map: AttributeMap,
    pub name: String,
}

/// What was dropped and can be brought back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DroppedThing {
    Table(TableSchema),
    /// A family, and the table that it is of.
    Family(TableId, FamilySchema),
}

/// A table or family that `rmdir` dropped: its cells stay until its time has passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dropped {
    pub what: DroppedThing,
    /// When it was dropped.
    pub at: Timestamp,
    /// When it goes for good; `None` = never by itself.
    pub until: Option<Timestamp>,
}

impl Dropped {
    /// Whether it was there at a time.
    pub fn was_there(&self, at: Timestamp) -> bool {
        match &self.what {
            DroppedThing::Table(table) => {
                let mut families = table.families.values();
                table.families.is_empty() && at < self.at || families.any(|family| family.was_there(at, self.at))
            }
            DroppedThing::Family(_, family) => family.was_there(at, self.at),
        }
    }

    /// Its families.
    pub fn families(&self) -> Vec<&FamilySchema> {
        match &self.what {
            DroppedThing::Table(table) => table.stored_families().collect(),
            DroppedThing::Family(_, family) => vec![family],
        }
    }

    fn families_mut(&mut self) -> Vec<&mut FamilySchema> {
        match &mut self.what {
            DroppedThing::Table(table) => table.families.values_mut().collect(),
            DroppedThing::Family(_, family) => vec![family],
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
    /// When attributes were set, or the mtime that a program has set.
    pub times: BTreeMap<AttributeKey, FileTime>,
    /// Families that a restore has declared: VERSIONS and KEEP_DELETED_CELLS keep everything while they are unset.
    pub restored: BTreeSet<FamilyId>,
    /// Oldest first.
    pub dropped: Vec<Dropped>,
    /// Namespaces that went, of which a table is kept that was dropped: it brings them back.
    #[serde(default)]
    pub dropped_namespaces: BTreeMap<String, NamespaceSchema>,
    /// Tables that are being filled and that nobody sees yet.
    pub staged: Vec<TableSchema>,
    pub settings: Settings,
}

impl Catalogue {
    /// The tables of users: those that describe them are left out.
    pub fn user_tables(&self) -> impl Iterator<Item = &TableSchema> {
        self.tables.values().filter(|table| !table.name.is_system())
    }

    /// All families whose cells are kept: the declared ones, and dropped ones that can be brought back.
    pub fn stored_families(&self) -> impl Iterator<Item = &FamilySchema> {
        let tables = self.tables.values().chain(&self.staged);
        let declared = tables.flat_map(TableSchema::stored_families);
        declared.chain(self.dropped.iter().flat_map(Dropped::families))
    }

    /// As [`Catalogue::stored_families`].
    pub fn stored_families_mut(&mut self) -> impl Iterator<Item = &mut FamilySchema> {
        let tables = self.tables.values_mut().chain(&mut self.staged);
        let declared = tables.flat_map(|table| table.families.values_mut());
        declared.chain(self.dropped.iter_mut().flat_map(Dropped::families_mut))
    }
}

impl Catalogue {
    /// The families that hold entries of secondary indexes.
    pub fn entry_families(&self) -> impl Iterator<Item = &FamilySchema> {
        let dropped = self.dropped.iter().filter_map(|dropped| match &dropped.what {
            DroppedThing::Table(table) => Some(table),
            DroppedThing::Family(..) => None,
        });
        let tables = self.tables.values().chain(&self.staged).chain(dropped);
        tables.flat_map(|table| table.indexes.values().map(|index| &index.entries))
    }
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
    /// At once and for good; where there is no such table, what `rmdir` dropped under that name.
    DropTable {
        name: TableName,
    },
    /// Drops a table so that it can be brought back for a while.
    SetTableAside {
        name: TableName,
    },
    /// Drops a family so that it can be brought back for a while.
    SetFamilyAside {
        table: TableName,
        family: String,
    },
    /// Brings back what was dropped last under that name.
    Undrop {
        table: TableName,
        family: Option<String>,
    },
    /// Brings back the table, or the family of it, that was there under that name at a time (`None`: that was dropped
    /// last); one that is there now is dropped so that it can be brought back.
    BringBack {
        table: TableName,
        family: Option<String>,
        at: Option<Timestamp>,
    },
    /// What was dropped and whose time has passed goes for good.
    ForgetDropped,
    /// What is kept of dropped tables of that name goes for good; the table that has it now stays.
    ForgetTable {
        name: TableName,
    },
    /// Declares a family as a restore does, see [`Catalogue::restored`].
    RestoreFamily {
        table: TableName,
        family: String,
    },
    /// Unsets VERSIONS or KEEP_DELETED_CELLS of a family that is restored: until they are set again it keeps all.
    UnsetForRestore {
        table: TableName,
        family: String,
        name: String,
    },
    /// Sets the mtime of an attribute that is set.
    SetAttributeTime {
        key: AttributeKey,
        time: FileTime,
    },
    /// An empty namespace of the new name is replaced.
    RenameNamespace {
        from: String,
        to: String,
    },
    /// New, empty, same schema.
    TruncateTable {
        name: TableName,
    },
    /// As [`CatalogueChange::TruncateTable`]; what it held is kept as a dropped table of that name.
    SetCellsAside {
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
    /// Of the store; `None` makes it what it is by default.
    Configure {
        setting: String,
        value: Option<String>,
    },
    /// Only while the catalogue has this version, else refused as overtaken: the change was made from what it said.
    At {
        version: u64,
        change: Box<CatalogueChange>,
    },
    /// Only while the table, or the family of it, shows no cell, else refused as not empty: judged where nobody writes.
    IfEmpty {
        table: TableName,
        family: Option<String>,
        change: Box<CatalogueChange>,
    },
}

impl CatalogueChange {
    /// See [`CatalogueChange::At`].
    pub fn at(self, version: u64) -> Self {
        Self::At { version, change: Box::new(self) }
    }

    /// See [`CatalogueChange::IfEmpty`].
    pub fn if_empty(self, table: &TableName, family: Option<&str>) -> Self {
        Self::IfEmpty { table: table.clone(), family: family.map(str::to_owned), change: Box::new(self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As it was stored before there were indexes.
    #[test]
    fn a_table_that_was_stored_without_indexes_is_read() {
        let mut table = TableSchema::new(TableName::parse("n:t").unwrap(), []);
        table.new_families = NewFamilies::AsTheyCome;
        let mut stored = serde_json::to_value(&table).unwrap();
        assert!(stored.as_object_mut().unwrap().remove("indexes").is_some());
        assert_eq!(serde_json::from_value::<TableSchema>(stored).unwrap(), table);
        table.indexes.insert("i".to_owned(), IndexSchema::new("i"));
        let bytes = rmp_serde::to_vec_named(&table).unwrap();
        assert_eq!(rmp_serde::from_slice::<TableSchema>(&bytes).unwrap(), table);
    }
}
