//! What an import asks of the table that it goes to.

use std::collections::BTreeMap;

use crate::backend::Backend;
use crate::model::{FileTime, TableName, Timestamp};
use crate::{Error, ErrorKind, Result};

/// How far ahead of the clock a timestamp may be to be waited for.
const WAITED_MS: u64 = 20;

/// The timestamp of an import that begins now: the clock's, but later than all that is stored, so that what is
/// imported is what is read. Waits until the clock has come to it where that is soon, as it is where something has just been
/// written: what runs ahead of the clock has the clock's time beside it, with each cell.
pub fn import_time(backend: &dyn Backend, table: &TableName) -> Result<Timestamp> {
    families_of(backend, table)?;
    let time = Timestamp(backend.moment(table)?.0.saturating_add(1).min(Timestamp::MAX.0));
    let ahead_ms = u64::try_from(time.0.saturating_sub(backend.now().0)).unwrap_or(0);
    if ahead_ms <= WAITED_MS {
        std::thread::sleep(std::time::Duration::from_millis(ahead_ms));
    }
    Ok(time)
}

/// What the files of an import have for their mtime whose timestamp runs ahead of the clock: the clock's time.
pub fn import_mtime(backend: &dyn Backend, time: Timestamp) -> Option<FileTime> {
    let now = backend.now();
    (time > now).then(|| now.into())
}

/// The families of a table that takes what is imported; of each whether its tombstones hide by their timestamps alone.
pub(super) fn families_of(backend: &dyn Backend, name: &TableName) -> Result<BTreeMap<String, bool>> {
    let catalogue = backend.catalogue()?;
    let table = catalogue.tables.get(name).ok_or_else(|| {
        let text = format!("table {name} does not exist; make it: cellfs create STORE {name} FAMILY...");
        Error::new(ErrorKind::NoSuchTable, text)
    })?;
    if table.read_only() {
        let text = format!("table {name} is READONLY; alter it to import into it");
        return Err(Error::new(ErrorKind::ReadOnlyTable, text));
    }
    Ok(table.families.iter().map(|(name, family)| (name.clone(), !family.rules.new_version_behavior)).collect())
}
