//! What `stat` shows of a node, and how long the kernel may keep it.

use std::time::Duration;

use crate::fs::base::Fs;
use crate::fs::nodes::node::{Node, NodeState};
use crate::fs::shown::{access, expiry};
use crate::model::FileTime;
use crate::tree::found::Facts;
use crate::tree::place::{NodeKey, Place};
use crate::tree::view::View;

/// How long the kernel may keep what a walk through a generated tree looks up again and again.
const WALK_TTL: Duration = Duration::from_secs(1);
/// As [`WALK_TTL`], for versions in the history: changes of their columns are announced, but not that a compaction has
/// dropped what the family keeps no longer.
const VERSION_TTL: Duration = Duration::from_secs(30);
/// The latest time that other filesystems keep (ext4, 2446-05-10): a program that copies a later one would find another
/// there, and copy it again for ever.
const LATEST: FileTime = FileTime { seconds: (1 << 34) - (1 << 31) - 1, nanos: 0 };

/// A directory or a regular file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Directory,
    File,
}

/// What `stat` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attr {
    pub ino: u64,
    pub kind: Kind,
    /// Bytes.
    pub size: u64,
    /// Bytes that take room: less where a large file has holes.
    pub filled: u64,
    pub atime: FileTime,
    pub mtime: FileTime,
    pub ctime: FileTime,
    /// Permission bits.
    pub mode: u16,
    pub nlink: u32,
    pub uid: u32,
    pub gid: u32,
}

/// A node as a look-up answers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryReply {
    pub attr: Attr,
    /// How long the kernel may keep the name.
    pub entry_ttl: Duration,
    /// How long it may keep the attributes.
    pub attr_ttl: Duration,
}

pub fn attr_of(fs: &Fs, node: &Node, key: &NodeKey, state: &NodeState, facts: Option<&Facts>) -> Attr {
    let is_dir = key.place.is_dir();
    let times = state.times();
    let (size, mtime, changed) = match (facts, &state.session) {
        // The same at every mount: a second backup finds nothing changed.
        _ if is_dir && key.view == View::History => (0, times.mtime.unwrap_or_default(), fs.mounted_at),
        _ if is_dir => (0, times.mtime.unwrap_or(fs.mounted_at), fs.mounted_at),
        (_, Some(session)) => {
            (session.told_len(), session.file.mtime.unwrap_or(session.changed_at), session.changed_at)
        }
        (Some(Facts::Scratch { len, mtime, .. }), None) => (*len, *mtime, *mtime),
        (Some(Facts::Text { bytes, mtime, .. }), None) => (bytes.len() as u64, *mtime, *mtime),
        (_, None) => state
            .cell
            .as_ref()
            .map_or((0, fs.mounted_at, fs.mounted_at), |cell| (cell.len(), cell.mtime(), cell.ctime())),
    };
    let (access, mtime) = (access::access_of(fs, key, state, facts), mtime.min(LATEST));
    Attr {
        ino: node.ino,
        kind: if is_dir { Kind::Directory } else { Kind::File },
        size,
        filled: filled(fs, state, size),
        atime: times.atime.unwrap_or(mtime),
        mtime,
        ctime: times.ctime.map_or(changed, |ctime| ctime.max(changed)),
        mode: access.mode,
        nlink: u32::from(!state.unlinked),
        uid: access.uid,
        gid: access.gid,
    }
}

fn filled(fs: &Fs, state: &NodeState, size: u64) -> u64 {
    let filled = match (&state.session, &state.cell) {
        (Some(session), _) => session.content.filled(),
        (None, Some(cell)) if cell.len() == size => fs.tree.backend.filled(cell),
        _ => Ok(size),
    };
    // What cannot be read is told to who reads it.
    filled.unwrap_or(size).min(size)
}

/// How long the kernel may keep what it was told of a node: not past a cell's expiry, and not at all
/// what is generated or just being written.
pub fn ttl(fs: &Fs, key: &NodeKey, state: &NodeState) -> Duration {
    let cached = match &key.place {
        Place::Root | Place::Namespace(_) | Place::Table(_) | Place::Row(_) | Place::Family(_) => true,
        Place::Cell(_) => state.session.is_none(),
        _ => false,
    };
    let most = if !cached || !key.is_present() { ttl_of_generated(fs, key, state) } else { fs.options.cache_time };
    let expires = state.cell.as_ref().and_then(|cell| cell.expires_at);
    expires.map_or(most, |at| expiry::until(fs, at).min(most))
}

/// What is read-only stays for a while, the directories of the history for as long as nobody minds: programs
/// that walk there look each of them up for each file. A name that is a time has no time of its own.
fn ttl_of_generated(fs: &Fs, key: &NodeKey, state: &NodeState) -> Duration {
    let is_time = matches!(key.view, View::At(_)) && matches!(key.place, Place::Root | Place::Table(_) | Place::Row(_));
    let is_level =
        matches!(key.place, Place::Root | Place::Namespace(_) | Place::Table(_) | Place::Row(_) | Place::Family(_));
    let is_version = matches!(key.place, Place::Version(..) | Place::Ended(..));
    let is_view = key.view != View::Plain || key.asked.is_some();
    // The directory of a question is of one moment, which the next look may have a later one of. By the mode of a level
    // the kernel judges whether others may go on: it is that of the directory in the tree, of which alone a change is told.
    let is_kept = is_level && !is_time && !key.is_question() && is_view && !fs.options.lets_others_in;
    if is_kept || is_version && key.snapshot.is_some() {
        WALK_TTL.min(fs.options.cache_time)
    } else if is_version && key.view == View::History && state.session.is_none() && !state.unlinked {
        VERSION_TTL.min(fs.options.cache_time)
    } else {
        Duration::ZERO
    }
}
