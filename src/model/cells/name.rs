//! Names and keys: tables, rows, families, qualifiers.

use std::sync::Arc;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Result};

/// Longest row key in bytes (HBase: HConstants.MAX_ROW_LENGTH).
pub const MAX_ROW_BYTES: usize = 32_767;

/// Longest name of a namespace or table in bytes.
const DIRECTORY_NAME_MAX: usize = 255;

/// A row key: 1 to 32,767 arbitrary bytes.
pub type RowKey = Vec<u8>;
/// A qualifier: any bytes, may be empty.
pub type Qualifier = Vec<u8>;

/// Number of a table, unique in a store for ever; a new table of an old name has a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TableId(pub u32);

/// Number of a family, unique in a store for ever. Cells are keyed by it, so dropping is O(1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct FamilyId(pub u32);

/// `namespace:table`; the namespace `default` is left out when printed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TableName {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl TableName {
    /// The name of the namespace that is left out when printed.
    pub const DEFAULT_NAMESPACE: &'static str = "default";

    /// The namespace of the tables that describe the others.
    pub const SYSTEM_NAMESPACE: &'static str = "hbase";

    /// Whether it is one of the tables that describe the others.
    pub fn is_system(&self) -> bool {
        *self.namespace == *Self::SYSTEM_NAMESPACE
    }

    /// Whether it is hbase:meta.
    pub fn is_meta(&self) -> bool {
        self.is_system() && &*self.name == "meta"
    }

    /// Checks both parts by HBase's rules (TableName.java).
    pub fn new(namespace: &str, name: &str) -> Result<Self> {
        check_namespace(namespace)?;
        check_table_part(name)?;
        Ok(Self { namespace: namespace.into(), name: name.into() })
    }

    /// Parses `table` or `namespace:table`.
    pub fn parse(text: &str) -> Result<Self> {
        match text.split_once(':') {
            Some((namespace, name)) => Self::new(namespace, name),
            None => Self::new(Self::DEFAULT_NAMESPACE, text),
        }
    }
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self.namespace == *Self::DEFAULT_NAMESPACE {
            f.write_str(&self.name)
        } else {
            write!(f, "{}:{}", self.namespace, self.name)
        }
    }
}

/// Both are names of directories: HBase cannot make one that is longer, and the tree has none.
fn check_len(what: &str, name: &str) -> Result<()> {
    if name.len() > DIRECTORY_NAME_MAX {
        let text = format!("{what} has {} bytes, and may have {DIRECTORY_NAME_MAX} at most: {name}", name.len());
        return Err(illegal(text));
    }
    Ok(())
}

/// Refuses what HBase refuses as a namespace name.
pub fn check_namespace(name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(illegal("Namespace name must not be empty".into()));
    }
    check_len("Namespace name", name)?;
    for (at, c) in name.chars().enumerate() {
        if !c.is_alphanumeric() && c != '_' {
            return Err(illegal(format!(
                "Illegal character <{c}> at {at}. Namespaces may only contain 'alphanumeric characters' from any \
                 language and digits: {name}"
            )));
        }
    }
    Ok(())
}

fn check_table_part(name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(illegal("Table qualifier must not be empty".into()));
    }
    check_len("Table qualifier", name)?;
    if name.starts_with(['-', '.']) {
        return Err(illegal(format!(
            "Illegal first character <{}> at 0. User-space table qualifiers can only start with 'alphanumeric \
             characters' from any language: {name}",
            name.as_bytes()[0]
        )));
    }
    for (at, c) in name.chars().enumerate() {
        if !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.') {
            return Err(illegal(format!(
                "Illegal character code:{}, <{c}> at {at}. User-space table qualifiers may only contain 'alphanumeric \
                 characters' and digits: {name}",
                c as u32
            )));
        }
    }
    Ok(())
}

/// Refuses what HBase refuses as a family name (ColumnFamilyDescriptorBuilder.isLegalColumnFamilyName).
pub fn check_family(name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(illegal("Column Family name can not be empty".into()));
    }
    if name.starts_with('.') {
        return Err(illegal(format!("Column Family names cannot start with a period: {name}")));
    }
    if let Some(c) = name.chars().find(|c| c.is_control() || matches!(c, ':' | '\\' | '/')) {
        return Err(illegal(format!(
            "Illegal character <{}>. Column Family names cannot contain control characters or colons: {}",
            u32::from(c),
            name.escape_default()
        )));
    }
    if name == "recovered.edits" {
        return Err(illegal("Column Family name cannot be: recovered.edits".into()));
    }
    if name.len() > 127 {
        return Err(illegal(format!("Column Family name is {} bytes long; 127 is the limit", name.len())));
    }
    Ok(())
}

/// Refuses an empty or overlong row key (HBase: Mutation.checkRow).
pub fn check_row(row: &[u8]) -> Result<()> {
    if row.is_empty() {
        return Err(illegal("Row length 0: a row key has at least one byte".into()));
    }
    if row.len() > MAX_ROW_BYTES {
        return Err(illegal(format!("Row length {} is > {MAX_ROW_BYTES}", row.len())));
    }
    Ok(())
}

fn illegal(message: String) -> Error {
    Error::new(ErrorKind::IllegalArgument, message)
}

/// One column of one row: what a file of the tree stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ColumnKey {
    pub table: TableName,
    pub row: RowKey,
    pub family: String,
    pub qualifier: Qualifier,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_directories_have_at_most_255_bytes() {
        let (most, longer) = ("a".repeat(255), "a".repeat(256));
        assert!(TableName::new(&most, &most).is_ok());
        for (namespace, name) in [("n", &*longer), (&*longer, "t"), ("n", &*"\u{e9}".repeat(128))] {
            assert!(TableName::new(namespace, name).unwrap_err().message.contains("255 at most"));
        }
    }
}
