//! The file `format`, kept twice: which release wrote the store, who the store is, and its secret.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::twofold::{self, Loaded};
use crate::env::Env;
use crate::format::StoreId;
use crate::{Error, ErrorKind, Result};

const FORMAT: u32 = 5;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub store: StoreId,
    pub hash_key: [u8; 16],
}

#[derive(Serialize, Deserialize)]
struct Stored {
    cellfs_store_format: u32,
    store: String,
    hash_key: String,
    /// CRC-32C of the three above.
    #[serde(default)]
    check: Option<String>,
}

impl Stored {
    fn expected(&self) -> String {
        let text = format!("{} {} {}", self.cellfs_store_format, self.store, self.hash_key);
        format!("{:08x}", crc32c::crc32c(text.as_bytes()))
    }
}

/// The file's path.
pub fn path(dir: &Path) -> PathBuf {
    dir.join("format")
}

fn unhex(text: &str) -> Option<[u8; 16]> {
    hex::decode(text).ok()?.try_into().ok()
}

/// Whether the file, or its copy, is in `dir`, or may be where we are not allowed to look.
pub fn is_present(dir: &Path) -> bool {
    let exists = |path: &Path| path.try_exists().unwrap_or_else(|e| e.kind() != std::io::ErrorKind::NotADirectory);
    exists(&path(dir)) || exists(&twofold::copy_of(&path(dir)))
}

/// Reads the file in `dir`, or makes one if the directory is empty.
pub fn load(env: &dyn Env, dir: &Path) -> Result<Identity> {
    let Some(found) = find(env, dir)? else { return create(env, dir) };
    twofold::mend(env, &found)?;
    Ok(found.value)
}

/// Reads the file in `dir` and changes nothing.
pub fn find(env: &dyn Env, dir: &Path) -> Result<Option<Loaded<Identity>>> {
    let path = path(dir);
    twofold::load(env, &path, &|bytes| parse(bytes, &path))
}

fn parse(bytes: &[u8], path: &Path) -> Result<Identity> {
    let corrupt = || {
        let dir = path.parent().unwrap_or(path).display();
        let text = format!("{} is damaged, or not cellfs's. Run: cellfs check --repair {dir}", path.display());
        Error::new(ErrorKind::Corrupt, text)
    };
    let stored: Stored = serde_json::from_slice(bytes).map_err(|_| corrupt())?;
    if stored.cellfs_store_format != FORMAT {
        let (dir, format) = (path.parent().unwrap_or(path).display(), stored.cellfs_store_format);
        let text = match format > FORMAT {
            true => format!("{dir} has format {format}; this release knows {FORMAT}. Use a newer release of cellfs"),
            false => format!(
                "{dir} is a store of an older release: format {format}; this release knows {FORMAT}. Copy it out with \
                 that release (backup.sh), and restore it into a new store"
            ),
        };
        return Err(Error::new(ErrorKind::NewerFormat, text));
    }
    if stored.check.as_ref().is_some_and(|check| !check.eq_ignore_ascii_case(&stored.expected())) {
        return Err(corrupt());
    }
    let (store, hash_key) = (unhex(&stored.store), unhex(&stored.hash_key));
    Ok(Identity { store: store.ok_or_else(corrupt)?, hash_key: hash_key.ok_or_else(corrupt)? })
}

/// Refuses a directory that is neither a store nor empty.
pub fn admit(env: &dyn Env, dir: &Path) -> Result<()> {
    let names = match env.list(dir) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) if e.kind() == std::io::ErrorKind::NotADirectory => {
            let text = format!("{} is not a directory. A store is one: choose another path", dir.display());
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        }
        names => names.map_err(|e| Error::io(format!("list {}", dir.display()), &e))?,
    };
    let ours = |name: &String| matches!(name.as_str(), "LOCK" | "boot" | "cellfs.log" | "format.new" | "lost+found");
    match names.iter().find(|name| !ours(name)) {
        Some(other) if !names.iter().any(|name| name == "format" || name == "format.copy") => {
            let (dir, other) = (dir.display(), other.escape_debug());
            let is_store = ["segments", "edits", "log"].iter().all(|name| names.iter().any(|n| n == name));
            let text = match is_store {
                true => format!(
                    "{dir} looks like a store, but its files format and format.copy are gone: bring one of \
                                 them back from a copy of the directory; without them nothing is opened or changed"
                ),
                false => format!("{dir} is neither a store nor empty: it has {other}. Choose another directory"),
            };
            Err(Error::new(ErrorKind::NotEmpty, text))
        }
        _ => Ok(()),
    }
}

fn create(env: &dyn Env, dir: &Path) -> Result<Identity> {
    admit(env, dir)?;
    let random = env.random().map_err(|e| Error::io("read random bytes", &e))?;
    let mut identity = Identity::default();
    identity.store.copy_from_slice(&random[..16]);
    identity.hash_key.copy_from_slice(&random[16..]);
    write(env, dir, &identity)?;
    Ok(identity)
}

/// Writes both files.
pub fn write(env: &dyn Env, dir: &Path, identity: &Identity) -> Result<()> {
    let (store, hash_key) = (hex::encode(identity.store), hex::encode(identity.hash_key));
    let mut stored = Stored { cellfs_store_format: FORMAT, store, hash_key, check: None };
    stored.check = Some(stored.expected());
    let text = serde_json::to_string_pretty(&stored).unwrap_or_default() + "\n";
    twofold::save(env, &path(dir), text.as_bytes())
}
