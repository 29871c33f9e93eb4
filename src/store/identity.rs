//! The file `format`: which release wrote the store, who the store is, and its secret.

use serde::{Deserialize, Serialize};

use crate::env::Env;
use crate::wal::StoreId;
use crate::{Error, ErrorKind, Result};

const FORMAT: u32 = 1;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub store: StoreId,
    pub hash_key: [u8; 16],
}

#[derive(Serialize, Deserialize)]
struct Stored {
    cellfs_store_format: u32,
    store: String,
    hash_key: String,
}

fn unhex(text: &str) -> Option<[u8; 16]> {
    hex::decode(text).ok()?.try_into().ok()
}

/// Whether the file is in `dir`.
pub fn is_present(dir: &std::path::Path) -> bool {
    dir.join("format").exists()
}

/// Reads the file in `dir`, or makes one if `make` allows it.
pub fn load(env: &dyn Env, dir: &std::path::Path) -> Result<Identity> {
    let path = dir.join("format");
    let bytes = match env.read_file(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return create(env, dir, &path),
        Err(e) => return Err(Error::io(format!("read {}", path.display()), &e)),
    };
    let corrupt = || Error::new(ErrorKind::Corrupt, format!("{} is damaged: it is not cellfs's", path.display()));
    let stored: Stored = serde_json::from_slice(&bytes).map_err(|_| corrupt())?;
    if stored.cellfs_store_format > FORMAT {
        let text = format!(
            "{} has format {}; this release knows {FORMAT}. Use a newer release of cellfs",
            dir.display(),
            stored.cellfs_store_format
        );
        return Err(Error::new(ErrorKind::NewerFormat, text));
    }
    let (store, hash_key) = (unhex(&stored.store), unhex(&stored.hash_key));
    Ok(Identity { store: store.ok_or_else(corrupt)?, hash_key: hash_key.ok_or_else(corrupt)? })
}

fn create(env: &dyn Env, dir: &std::path::Path, path: &std::path::Path) -> Result<Identity> {
    let names = env.list(dir).map_err(|e| Error::io(format!("list {}", dir.display()), &e))?;
    if let Some(other) =
        names.iter().find(|name| !matches!(name.as_str(), "LOCK" | "cellfs.log" | "format.new" | "lost+found"))
    {
        let text = format!("{} is neither a store nor empty: it has {other}. Choose another directory", dir.display());
        return Err(Error::new(ErrorKind::NotEmpty, text));
    }
    let random = env.random().map_err(|e| Error::io("read random bytes", &e))?;
    let (store, hash_key) = (hex::encode(&random[..16]), hex::encode(&random[16..]));
    let stored = Stored { cellfs_store_format: FORMAT, store, hash_key };
    let text = serde_json::to_string_pretty(&stored).unwrap_or_default() + "\n";
    env.replace_file(path, text.as_bytes()).map_err(|e| Error::io(format!("write {}", path.display()), &e))?;
    load(env, dir)
}
