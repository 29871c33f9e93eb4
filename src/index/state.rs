//! The table `meta`: whose index it is, of which format, and its state; and whether all that can be believed.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension};

use super::connect::connect;
use super::db::{damaged_row, sql};
use super::{Meta, Witness};
use crate::wal::StoreId;
use crate::{Error, ErrorKind, Result};

pub(super) const FORMAT: u32 = 3;

/// The mark of an index that is to be thrown away.
pub(super) fn condemned_path(path: &Path) -> PathBuf {
    path.with_extension("damaged")
}

pub(super) fn open_existing(
    path: &Path,
    store: &StoreId,
    cache_bytes: u64,
    witness: &Witness,
) -> Result<(Connection, Meta)> {
    let writer = connect(path, cache_bytes)?;
    let meta = check_of(&writer, store, witness)?;
    Ok((writer, meta))
}

/// Whether it is the present index of this store; its state.
pub(super) fn check_of(connection: &Connection, store: &StoreId, witness: &Witness) -> Result<Meta> {
    let corrupt = |text: &str| Error::new(ErrorKind::Corrupt, text);
    if get_meta(connection, "format")?.as_deref() != Some(&FORMAT.to_le_bytes()) {
        return Err(corrupt("it has another format"));
    }
    if get_meta(connection, "store")?.is_none_or(|id| id != store) {
        return Err(corrupt("it is of another store"));
    }
    let meta = read_meta(connection)?;
    match witness.commits_seen() {
        None => Err(corrupt("whether it is the latest is not known")),
        Some(seen) if seen > meta.commits => Err(corrupt("it is an older copy")),
        Some(_) => Ok(meta),
    }
}

pub(super) fn read_meta(connection: &Connection) -> Result<Meta> {
    let corrupt = |text: String| Error::new(ErrorKind::Corrupt, text);
    let state = get_meta(connection, "state")?.ok_or_else(|| corrupt("it was never finished".to_owned()))?;
    postcard::from_bytes(&state).map_err(|e| corrupt(format!("its state: {e}")))
}

/// Values of `meta` end with a CRC-32C of name and value.
pub(super) fn put_meta(connection: &Connection, name: &str, value: &[u8]) -> Result<()> {
    let check = crc32c::crc32c_append(crc32c::crc32c(name.as_bytes()), value);
    let stored = [value, &check.to_le_bytes()].concat();
    let text = "INSERT OR REPLACE INTO meta(name, value) VALUES(?1, ?2)";
    connection.execute(text, (name, stored)).map_err(sql("write"))?;
    Ok(())
}

pub(super) fn get_meta(connection: &Connection, name: &str) -> Result<Option<Vec<u8>>> {
    let text = "SELECT value FROM meta WHERE name = ?1";
    let stored: Option<Vec<u8>> =
        connection.query_row(text, [name], |row| row.get(0)).optional().map_err(sql("read"))?;
    let Some(stored) = stored else { return Ok(None) };
    let good = stored.split_last_chunk::<4>().filter(|(value, check)| {
        crc32c::crc32c_append(crc32c::crc32c(name.as_bytes()), value) == u32::from_le_bytes(**check)
    });
    good.map(|(value, _)| Some(value.to_vec())).ok_or_else(damaged_row)
}

pub(super) fn encode_meta(meta: &Meta) -> Result<Vec<u8>> {
    postcard::to_stdvec(meta).map_err(|e| Error::new(ErrorKind::Io, format!("encode the state of the index: {e}")))
}
