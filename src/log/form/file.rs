//! Files of the log: `log/NNNNNNNN.log`.
//!
//! Header, 56 bytes, little-endian: magic `CELLFLOG`; u32 version; u64 number of the file; store id 16; u64 number of
//! the last record before this file; u64 number of the last edit when it was begun; u32 check of the 52 bytes before.

use std::path::{Path, PathBuf};

use super::words::{u32_at, u64_at};
use crate::env::Env;
use crate::format::{StoreId, agree};
use crate::model::SeqNo;
use crate::{Error, ErrorKind, Result};

/// Bytes of a header.
pub const HEADER: u64 = 56;
const MAGIC: &[u8; 8] = b"CELLFLOG";
const VERSION: u32 = 1;

/// What a file says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHeader {
    pub number: u64,
    /// The last record that is not in this file, nor in later ones: what older files have beyond it does not count.
    pub before: SeqNo,
    /// The last edit when it was begun.
    pub edit: u64,
}

/// Where a file of the log is.
pub fn path_of(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:08}.log"))
}

/// Numbers of the log's files, ascending.
pub fn list(env: &dyn Env, dir: &Path) -> Result<Vec<u64>> {
    let names = match env.list(dir) {
        Ok(names) => names,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(Error::io(format!("list {}", dir.display()), &e)),
    };
    let number = |name: &String| name.strip_suffix(".log")?.parse().ok();
    let mut found: Vec<u64> = names.iter().filter_map(number).collect();
    found.sort_unstable();
    Ok(found)
}

impl FileHeader {
    /// Its bytes.
    pub fn encode(&self, store: &StoreId) -> [u8; HEADER as usize] {
        let mut out = [0; HEADER as usize];
        out[..8].copy_from_slice(MAGIC);
        out[8..12].copy_from_slice(&VERSION.to_le_bytes());
        out[12..20].copy_from_slice(&self.number.to_le_bytes());
        out[20..36].copy_from_slice(store);
        out[36..44].copy_from_slice(&self.before.0.to_le_bytes());
        out[44..52].copy_from_slice(&self.edit.to_le_bytes());
        let check = crc32c::crc32c(&out[..52]);
        out[52..].copy_from_slice(&check.to_le_bytes());
        out
    }

    /// The header at the front of a file; `None`: it has none that was written whole, or is of another file or store.
    pub fn decode(bytes: &[u8], number: u64, store: &StoreId) -> Result<Option<Self>> {
        let Some(bytes) = bytes.first_chunk::<{ HEADER as usize }>() else { return Ok(None) };
        if &bytes[..8] != MAGIC || !agree(u32_at(bytes, 52), crc32c::crc32c(&bytes[..52])) {
            return Ok(None);
        }
        let version = u32_at(bytes, 8);
        if version > VERSION {
            let text = format!("log file {number} has format {version}, this release knows {VERSION}; use a newer one");
            return Err(Error::new(ErrorKind::NewerFormat, text));
        }
        let is_this = u64_at(bytes, 12) == number && bytes[20..36] == store[..];
        Ok(is_this.then(|| Self { number, before: SeqNo(u64_at(bytes, 36)), edit: u64_at(bytes, 44) }))
    }
}
