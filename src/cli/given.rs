//! What is given on the command line: names of tables, keys and values, paths of a mount.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use super::path::{is_inside, resolve};
use crate::backend::Backend;
use crate::daemon::{Absent, open_backend};
use crate::model::{RowKey, TableName, TimeRange, Timestamp, to_bytes_binary};
use crate::tree::place::Place;
use crate::{Error, ErrorKind, Result};

/// `TABLE`, `NAMESPACE:TABLE` or `NAMESPACE/TABLE`.
pub(super) fn table(text: &str) -> Result<TableName> {
    match text.split_once('/') {
        Some((namespace, name)) if !text.contains(':') => TableName::new(namespace, name),
        _ => TableName::parse(text),
    }
}

/// Opens the store and checks the table's name.
pub(super) fn open(store: &Path, table: &str) -> Result<(Arc<dyn Backend>, TableName)> {
    let table = self::table(table)?;
    Ok((open_backend(store, Absent::Refuse)?, table))
}

/// There is no such table.
pub(super) fn no_table(name: &TableName) -> Error {
    Error::new(ErrorKind::NoSuchTable, format!("there is no table {name}; `cellfs list` shows what there is"))
}

/// A key or a value, `\xNN` standing for a byte.
pub(super) fn bytes(text: &OsStr) -> Vec<u8> {
    to_bytes_binary(text.as_bytes())
}

/// What a command that reads is about.
pub(super) struct Subject {
    pub backend: Arc<dyn Backend>,
    pub table: TableName,
    pub row: Option<RowKey>,
    /// FAMILY or FAMILY:QUALIFIER, as bytes.
    pub columns: Vec<(String, Option<Vec<u8>>)>,
    /// Of the version that a path names.
    pub version: Option<Timestamp>,
}

impl Subject {
    /// The times that the path names, if it does.
    pub(super) fn time_range(&self) -> Option<TimeRange> {
        self.version.map(TimeRange::at)
    }

    /// Of `PATH` in a mount, or `STORE TABLE`; the arguments that are left are columns or a row and columns.
    pub(super) fn of(path: &Path, rest: &[OsString]) -> Result<(Self, Vec<OsString>)> {
        if is_inside(path)? {
            let (backend, place) = resolve(path)?;
            return Ok((Self::at(backend, &place)?, rest.to_vec()));
        }
        let (name, rest) =
            rest.split_first().ok_or_else(|| wrong("a table is missing: STORE TABLE, or a path in a mount"))?;
        let name = name.to_str().ok_or_else(|| wrong("a table's name is text"))?;
        let (table, backend) = (table(name)?, open_backend(path, Absent::Refuse)?);
        Ok((Self { backend, table, row: None, columns: Vec::new(), version: None }, rest.to_vec()))
    }

    fn at(backend: Arc<dyn Backend>, place: &Place) -> Result<Self> {
        let of = |table: &TableName, row: Option<&RowKey>, columns, version| Self {
            backend,
            table: table.clone(),
            row: row.cloned(),
            columns,
            version,
        };
        Ok(match place {
            Place::Table(table) => of(table, None, Vec::new(), None),
            Place::Row(row) => of(&row.table, Some(&row.row), Vec::new(), None),
            Place::Family(family) => of(&family.table, Some(&family.row), vec![(family.family.clone(), None)], None),
            Place::Cell(column) | Place::Versions(column) => {
                let one = (column.family.clone(), Some(column.qualifier.clone()));
                of(&column.table, Some(&column.row), vec![one], None)
            }
            Place::Version(column, time) => {
                let one = (column.family.clone(), Some(column.qualifier.clone()));
                of(&column.table, Some(&column.row), vec![one], Some(*time))
            }
            _ => return Err(wrong("give the path of a table, a row, a family of a row, a cell or a version")),
        })
    }
}

/// The table that a path in a mount is, where no name of one follows.
pub(super) fn table_at(path: &Path) -> Result<(Arc<dyn Backend>, TableName)> {
    match Subject::of(path, &[])?.0 {
        Subject { backend, table, row: None, .. } => Ok((backend, table)),
        _ => Err(wrong(
            "give the path of a table, whose rows are counted: in a mount the file .count in a row's directory has the \
             number of its cells",
        )),
    }
}

pub(super) fn wrong(text: &str) -> Error {
    Error::new(ErrorKind::IllegalArgument, text)
}
