//! What a node below a `.schema` stands for.

use std::sync::Arc;

use crate::model::TableName;

/// What is below a `.schema`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SchemaPlace {
    /// `ns/.schema`.
    Namespace(String),
    /// `ns/.schema/NAME`: a property.
    NamespaceProperty(String, String),
    /// `ns/table/.schema`.
    Table(TableName),
    /// `.schema/.table`.
    TableAttributes(TableName),
    /// `.schema/FAMILY`.
    Family(TableName, String),
    /// `METADATA` or `CONFIGURATION` below one of the two.
    Free { table: TableName, family: Option<String>, map: FreeMap },
    /// An attribute file: of a family, or of the table (`None`).
    Attribute { table: TableName, family: Option<String>, name: String },
    /// A key of METADATA or CONFIGURATION.
    FreeKey { table: TableName, family: Option<String>, map: FreeMap, name: String },
    /// `.schema/.index`: the secondary indexes.
    Indexes(TableName),
    /// `.schema/.index/NAME`.
    Index(TableName, String),
    /// An attribute of one: `columns` and its like.
    IndexAttribute { table: TableName, index: String, name: String },
    /// `.schema/FAMILY/.check`: the constraints of a family.
    Constraints(TableName, String),
    /// `.check/NAME`: table, family, name.
    Constraint(TableName, String, String),
    /// An attribute of one: `type` and its like.
    ConstraintAttribute { table: TableName, family: String, constraint: String, name: String },
    /// `.schema/.key`: the recipe of the row keys.
    Recipe(TableName),
    /// `.schema/.table/SPLITS`: where regions begin.
    Splits(TableName),
    /// An unlisted scratch file in one of these directories.
    Scratch { parent: Arc<SchemaPlace>, name: String },
}

/// The two maps of free keys that HBase's descriptors have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FreeMap {
    Metadata,
    Configuration,
}

impl FreeMap {
    /// The directory's name.
    pub fn dir_name(self) -> &'static str {
        match self {
            FreeMap::Metadata => "METADATA",
            FreeMap::Configuration => "CONFIGURATION",
        }
    }
}

impl SchemaPlace {
    /// The table that it is of; `None`: it is a namespace's.
    pub fn table(&self) -> Option<&TableName> {
        match self {
            SchemaPlace::Namespace(_) | SchemaPlace::NamespaceProperty(..) => None,
            SchemaPlace::Table(table)
            | SchemaPlace::TableAttributes(table)
            | SchemaPlace::Family(table, _)
            | SchemaPlace::Free { table, .. }
            | SchemaPlace::Attribute { table, .. }
            | SchemaPlace::FreeKey { table, .. }
            | SchemaPlace::Indexes(table)
            | SchemaPlace::Index(table, _)
            | SchemaPlace::IndexAttribute { table, .. }
            | SchemaPlace::Constraints(table, _)
            | SchemaPlace::Constraint(table, ..)
            | SchemaPlace::ConstraintAttribute { table, .. }
            | SchemaPlace::Splits(table)
            | SchemaPlace::Recipe(table) => Some(table),
            SchemaPlace::Scratch { parent, .. } => parent.table(),
        }
    }

    /// Whether it is a directory.
    pub fn is_dir(&self) -> bool {
        !matches!(
            self,
            SchemaPlace::NamespaceProperty(..)
                | SchemaPlace::Attribute { .. }
                | SchemaPlace::FreeKey { .. }
                | SchemaPlace::IndexAttribute { .. }
                | SchemaPlace::ConstraintAttribute { .. }
                | SchemaPlace::Recipe(_)
                | SchemaPlace::Splits(_)
                | SchemaPlace::Scratch { .. }
        )
    }
}
