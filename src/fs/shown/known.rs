//! What is at a place: of the tree that it is in, or what only the mount knows.

use std::sync::Arc;

use crate::fs::base::Fs;
use crate::fs::trees::tree_over;
use crate::model::{FileAttributes, FileChange, TableName};
use crate::tree::base::Tree;
use crate::tree::facts;
use crate::tree::found::Facts;
use crate::tree::place::{InfoPlace, NodeKey, Place};
use crate::{Error, ErrorKind, Result};

/// Their owner's alone: names of files, and values, that others may not see stand in them.
const MODE: u16 = 0o400;

/// The tree that a node is in. `NotFound` if its snapshot was deleted.
pub fn tree_of(fs: &Fs, key: &NodeKey) -> Result<Arc<Tree>> {
    let Some(id) = &key.snapshot else { return Ok(Arc::clone(&fs.tree)) };
    if let Some(tree) = fs.snapshots.get(id) {
        return Ok(tree);
    }
    let backend = fs.tree.backend.snapshot(&id.name)?;
    // The clock of a snapshot stands at the time when it was made.
    if backend.now() != id.made_at {
        return Err(Error::new(ErrorKind::NotFound, format!("snapshot {} is another one now", id.name)));
    }
    let tree = tree_over(backend, &fs.options);
    fs.snapshots.keep(id, &tree);
    Ok(tree)
}

/// As [`tree_of`], for a file or directory that is open: `Stale` if its snapshot was deleted.
pub fn tree_of_open(fs: &Fs, key: &NodeKey) -> Result<Arc<Tree>> {
    tree_of(fs, key).map_err(|e| stale(key, e))
}

/// What is at a place; `None` when nothing is.
pub fn facts(fs: &Fs, key: &NodeKey) -> Result<Option<Facts>> {
    match tree_of(fs, key) {
        _ if is_hidden(fs, key) => Ok(None),
        Err(e) if e.kind == ErrorKind::NotFound => Ok(None),
        tree => facts::at(&*tree?, key),
    }
}

/// Whether a name was removed, and its family is about to be.
fn is_hidden(fs: &Fs, key: &NodeKey) -> bool {
    matches!(&key.place, Place::Schema(place) if key.is_present() && fs.removals.hides(place))
}

/// What only the mount knows: scratch files, `.info/errors`.
pub fn own_facts(fs: &Fs, key: &NodeKey) -> Result<Option<Facts>> {
    if key.snapshot.is_some() {
        return Ok(None);
    }
    Ok(match &key.place {
        Place::Scratch(place) => {
            let meta = fs.scratch.meta(place)?;
            meta.map(|meta| Facts::Scratch { len: meta.len, mtime: meta.mtime(), file: meta.file.into() })
        }
        Place::Info(InfoPlace::Errors) => Some(Facts::text(fs.refusals.text(), fs.tree.backend.now().into())),
        Place::Info(InfoPlace::Access) => Some(facts_of_accesses(fs)),
        Place::Changes(table) => match facts(fs, key)? {
            Some(_) => Some(facts_of_feed(fs, table)?),
            None => None,
        },
        Place::Info(InfoPlace::Requests) => Some(Facts::text(fs.counters.text(), fs.tree.backend.now().into())),
        Place::Schema(place) => {
            fs.texts.get(place).map(|(bytes, mtime)| Facts::text(bytes, mtime.unwrap_or(fs.mounted_at)))
        }
        _ => None,
    })
}

fn facts_of_accesses(fs: &Fs) -> Facts {
    let file: FileAttributes = FileChange { mode: Some(MODE), ..FileChange::default() }.into();
    Facts::Scratch { len: fs.accesses.end(), mtime: fs.tree.backend.now().into(), file }
}

/// As long as what was told to those who follow; always changed, so that they look.
fn facts_of_feed(fs: &Fs, table: &TableName) -> Result<Facts> {
    let file: FileAttributes = FileChange { mode: Some(MODE), ..FileChange::default() }.into();
    Ok(Facts::Scratch { len: fs.feeds.told(table)?, mtime: fs.tree.backend.now().into(), file })
}

/// What is gone of a snapshot is gone with all of it.
pub fn stale(key: &NodeKey, error: Error) -> Error {
    match &key.snapshot {
        Some(id) if error.kind == ErrorKind::NotFound => {
            Error::new(ErrorKind::Stale, format!("snapshot {} was deleted while this file was open", id.name))
        }
        _ => error,
    }
}
