//! What a power cut leaves of SQLite's files, which SQLite writes by itself.
//!
//! In its write-ahead log it syncs nothing at a commit, and everything at a checkpoint, after which its file is another
//! one. So what was there at the last checkpoint is on the disk, and of the log's later bytes any sectors are; frames
//! that do not follow whole ones count for nothing to SQLite.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::copy::copy_tree;
use super::{CrashMode, SimEnv, State, next_random};
use crate::env::IndexWritten;

const SECTOR: usize = 512;
const NAMES: [&str; 2] = ["index.db", "index.db-wal"];

/// The files of an index as they are on the disk for certain.
type Image = BTreeMap<&'static str, Vec<u8>>;

/// By the directory of the store.
#[derive(Clone, Default)]
pub(super) struct IndexImages(BTreeMap<PathBuf, Image>);

fn files(dir: &Path) -> Image {
    NAMES.iter().filter_map(|name| Some((*name, std::fs::read(dir.join(name)).ok()?))).collect()
}

/// Any sectors of what came after; the file has one of both lengths.
fn mixed(durable: &[u8], live: &[u8], random: &mut u64) -> Vec<u8> {
    let len = if next_random(random).is_multiple_of(2) { durable.len() } else { live.len() };
    let mut out = durable.to_vec();
    out.resize(len, 0);
    for (at, sector) in out.chunks_mut(SECTOR).enumerate() {
        if let Some(new) = live.get(at * SECTOR..at * SECTOR + sector.len())
            && !next_random(random).is_multiple_of(8)
        {
            sector.copy_from_slice(new);
        }
    }
    out
}

impl SimEnv {
    /// Looks at the index after SQLite has written.
    pub(super) fn note_index(&self, store: &Path, what: IndexWritten) {
        if self.state.lock().alive(self.life).is_err() {
            return;
        }
        let base = self.index.lock().as_ref().map(|dir| dir.path().to_owned());
        let Some(base) = base else { return };
        let now = files(&index_in(&base, store));
        let mut state = self.state.lock();
        let is_synced = match state.index.0.get(store) {
            Some(image) => what == IndexWritten::Synced || image.get(NAMES[0]) != now.get(NAMES[0]),
            None => true,
        };
        if is_synced {
            state.index.0.insert(store.to_owned(), now);
        }
    }

    /// Copies the index as it is to another directory.
    pub(super) fn move_index(&self) -> io::Result<()> {
        let mut index = self.index.lock();
        if let Some(old) = index.take() {
            let new = tempfile::tempdir_in(&*self.base)?;
            copy_tree(old.path(), new.path())?;
            *index = Some(new);
        }
        Ok(())
    }

    /// Puts a directory in the place of the index that has what a power cut leaves.
    pub(super) fn crash_index(&self, state: &mut State, mode: CrashMode) -> io::Result<()> {
        let mut index = self.index.lock();
        let Some(old) = index.take() else { return Ok(()) };
        let new = tempfile::tempdir_in(&*self.base)?;
        copy_tree(old.path(), new.path())?;
        let State { index: images, random, .. } = state;
        for (store, durable) in &images.0 {
            let dir = index_in(new.path(), store);
            let live = files(&dir);
            for name in NAMES {
                let empty = Vec::new();
                let (durable, live) = (durable.get(name).unwrap_or(&empty), live.get(name).unwrap_or(&empty));
                let left = match mode {
                    CrashMode::KeepSome { .. } if name != NAMES[0] => mixed(durable, live, random),
                    _ => durable.clone(),
                };
                std::fs::write(dir.join(name), left)?;
            }
        }
        *index = Some(new);
        Ok(())
    }
}

/// Where a store's index is below the directory of all.
pub(super) fn index_in(base: &Path, store: &Path) -> PathBuf {
    base.join(store.strip_prefix("/").unwrap_or(store)).join("index")
}
