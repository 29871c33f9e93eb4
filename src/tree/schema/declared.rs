//! What is declared, for those who change it.

use crate::model::{Catalogue, TableName, TableSchema};
use crate::{Error, ErrorKind, Result};

pub fn table_schema(catalogue: &Catalogue, table: &TableName) -> Result<TableSchema> {
    catalogue.tables.get(table).cloned().ok_or_else(|| gone(ErrorKind::NoSuchTable, table))
}

pub fn gone(kind: ErrorKind, name: impl std::fmt::Display) -> Error {
    Error::new(kind, format!("{name} does not exist any more"))
}
