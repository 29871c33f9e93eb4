//! What an import asks of the table that it goes to.

use std::collections::BTreeSet;

use crate::backend::Backend;
use crate::model::{FileTime, TableName, Timestamp};
use crate::{Error, ErrorKind, Result};

/// The timestamp of an import that begins now: the clock's, but later than all that is stored, so that what is
/// imported is what is read.
pub fn import_time(backend: &dyn Backend, table: &TableName) -> Result<Timestamp> {
    families_of(backend, table)?;
    Ok(Timestamp(backend.moment(table)?.0.saturating_add(1).min(Timestamp::MAX.0)))
}

/// What the files of an import have for their mtime whose timestamp runs ahead of the clock: the clock's time.
pub fn import_mtime(backend: &dyn Backend, time: Timestamp) -> Option<FileTime> {
    let now = backend.now();
    (time > now).then(|| now.into())
}

/// The families of a table that takes what is imported.
pub(super) fn families_of(backend: &dyn Backend, name: &TableName) -> Result<BTreeSet<String>> {
    let catalogue = backend.catalogue()?;
    let table = catalogue.tables.get(name).ok_or_else(|| {
        let text = format!("table {name} does not exist; make it: cellfs create STORE {name} FAMILY...");
        Error::new(ErrorKind::NoSuchTable, text)
    })?;
    if table.read_only() {
        let text = format!("table {name} is READONLY; alter it to import into it");
        return Err(Error::new(ErrorKind::ReadOnlyTable, text));
    }
    Ok(table.families.keys().cloned().collect())
}
