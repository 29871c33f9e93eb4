//! Ends of the log that were on the disk once and are gone, and damaged chunks of large values: remembered, with whether
//! somebody has said that he knows.
//!
//! The file `lost`, JSON: which numbers were lost, when that was found, whether it is acknowledged; and the chunks, by blob
//! and number, that a repair has told of.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::env::Env;
use crate::model::SeqNo;
use crate::{Error, Result};

/// How many are kept.
const KEPT: usize = 100;

/// The numbers behind `after` up to `upto`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    pub after: u64,
    pub upto: u64,
    /// When it was found, ms since 1970.
    pub at_ms: i64,
    pub acknowledged: bool,
    /// Whether it is known which columns it was about: their newest versions are marked as damaged.
    #[serde(default)]
    pub is_named: bool,
}

/// The file's contents.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Stored {
    cellfs_lost_format: u32,
    lost: Vec<Lost>,
    #[serde(default)]
    chunks: BTreeSet<(u64, u32)>,
}

impl Lost {
    /// For people.
    pub fn sentence(&self) -> String {
        format!(
            "the log ended with number {}, though up to {} it was on the disk once. Restore what is missing from a backup",
            self.after, self.upto
        )
    }

    /// Whether it says of all numbers behind `after` up to `upto` that they are known to be lost.
    pub fn explains(&self, after: SeqNo, upto: SeqNo) -> bool {
        self.acknowledged && self.after <= after.0 && upto.0 <= self.upto
    }
}

/// The file in a store's directory.
pub fn path(store: &Path) -> PathBuf {
    store.join("lost")
}

/// What is noted; `Err`: it cannot be read.
pub fn read(env: &dyn Env, store: &Path) -> Result<Vec<Lost>> {
    Ok(stored(env, store)?.lost)
}

/// Damaged chunks that are known to be lost.
pub fn chunks(env: &dyn Env, store: &Path) -> Result<BTreeSet<(u64, u32)>> {
    Ok(stored(env, store)?.chunks)
}

fn stored(env: &dyn Env, store: &Path) -> Result<Stored> {
    let path = path(store);
    let bytes = match env.read_file(&path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(e) => return Err(Error::io(format!("read {}", path.display()), &e)),
    };
    // It is nothing that a store could not be opened without.
    Ok(serde_json::from_slice(&bytes).unwrap_or_default())
}

fn write(env: &dyn Env, store: &Path, stored: Stored) -> Result<()> {
    let path = path(store);
    let text = serde_json::to_string_pretty(&Stored { cellfs_lost_format: 1, ..stored }).unwrap_or_default() + "\n";
    env.replace_file(&path, text.as_bytes()).map_err(|e| Error::io(format!("write {}", path.display()), &e))
}

/// Up to which number any column may have lost a version that nobody has acknowledged; `None`: none has.
pub fn in_doubt(env: &dyn Env, store: &Path) -> Result<Option<SeqNo>> {
    let lost = read(env, store)?;
    Ok(lost.iter().filter(|one| !one.acknowledged && !one.is_named).map(|one| SeqNo(one.upto)).max())
}

/// Remembers that numbers were lost, those behind the first up to the second; the last of it is on the disk when this
/// returns.
pub fn note(env: &dyn Env, store: &Path, (after, upto): (SeqNo, SeqNo), is_named: bool) -> Result<()> {
    let mut stored = stored(env, store)?;
    let lost = &mut stored.lost;
    if lost.iter().any(|one| one.after <= after.0 && upto.0 <= one.upto) {
        return Ok(());
    }
    lost.push(Lost { after: after.0, upto: upto.0, at_ms: env.now().0, acknowledged: false, is_named });
    lost.drain(..lost.len().saturating_sub(KEPT));
    write(env, store, stored)
}

/// Somebody knows; what he did not know of before.
pub fn acknowledge(env: &dyn Env, store: &Path) -> Result<Vec<Lost>> {
    let mut stored = stored(env, store)?;
    let new: Vec<Lost> = stored.lost.iter().filter(|one| !one.acknowledged).cloned().collect();
    if !new.is_empty() {
        stored.lost.iter_mut().for_each(|one| one.acknowledged = true);
        write(env, store, stored)?;
    }
    Ok(new)
}

/// As [`acknowledge`], of chunks; no others are remembered, as each repair finds all of them again.
pub fn acknowledge_chunks(env: &dyn Env, store: &Path, chunks: BTreeSet<(u64, u32)>) -> Result<()> {
    let stored = stored(env, store)?;
    if stored.chunks == chunks { Ok(()) } else { write(env, store, Stored { chunks, ..stored }) }
}
