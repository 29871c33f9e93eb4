//! Listings of open directories, with bounded memory.

use std::sync::Arc;

use crate::Result;
use crate::fs::base::{Fs, not_permitted};
use crate::fs::cache::changes::Moment;
use crate::fs::caller::Caller;
use crate::fs::handles::cursor::{Cursor, DOTS, Next};
use crate::fs::handles::held::Turn;
use crate::fs::handles::table::{DirHandle, Handle};
use crate::fs::nodes::numbers::ROOT_INO;
use crate::fs::ops::{list_ahead, removing};
use crate::fs::shown::attr::{Attr, EntryReply, Kind};
use crate::fs::shown::{attr, entry, expiry};
use crate::fs::views::{lack, walks};
use crate::tree::found::Facts;
use crate::tree::list::listing::Listed;
use crate::tree::path::parent_of;
use crate::tree::place::NodeKey;

/// One entry as the kernel gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirEntry<'e> {
    pub ino: u64,
    pub kind: Kind,
    pub name: &'e [u8],
    /// Cookie that resumes after this entry.
    pub offset: u64,
}

/// Opens a directory.
pub fn opendir(fs: &Fs, ino: u64, caller: Caller) -> Result<u64> {
    let node = fs.node(ino)?;
    if !node.key().place.is_dir() {
        return Err(not_permitted("not a directory"));
    }
    fs.copies.lists(caller.pid, &node.key());
    walks::begin_walk(fs, &node.key(), caller)?;
    entry::await_closing(fs, &node.key());
    lack::tell_of_lack(fs, &node.key(), "opendir");
    removing::end_removals(fs, fs.tree.backend.now())?;
    let cursor = Cursor::default();
    fs.handles.add(Handle::Dir(Arc::new(DirHandle {
        node,
        pid: caller.pid,
        cursor: cursor.into(),
        ahead: Arc::default(),
    })))
}

/// Feeds entries after cookie `offset` to `add` until it has no room (returns true).
pub fn readdir(fs: &Fs, number: u64, offset: u64, mut add: impl FnMut(&DirEntry) -> bool) -> Result<()> {
    let dir = fs.handles.dir(number)?;
    if add_dots(fs, &dir, offset, |entry, _| add(entry)) {
        return Ok(());
    }
    let of = dir.node.key();
    walk(fs, &dir, &of, offset, |Next { entry, own, cookie, .. }| {
        let kind = if entry.is_dir(&of) { Kind::Directory } else { Kind::File };
        let ino = match own {
            Some(number) => fs.nodes.told_as(number, || entry.key(&of)),
            None => fs.nodes.told(&entry.key(&of)),
        };
        Ok(add(&DirEntry { ino, kind, name: entry.name(), offset: cookie }))
    })
}

/// As [`readdir`], with attributes; each entry counts as a look-up unless `add` had no room for it.
pub fn readdirplus(
    fs: &Fs,
    number: u64,
    offset: u64,
    mut add: impl FnMut(&DirEntry, &EntryReply) -> bool,
) -> Result<()> {
    let dir = fs.handles.dir(number)?;
    if add_dots(fs, &dir, offset, |entry, reply| add(entry, reply)) {
        return Ok(());
    }
    let of = dir.node.key();
    walk(fs, &dir, &of, offset, |Next { entry, seen, cookie, .. }| {
        let key = entry.key(&of);
        // What is gone by now is left out.
        let Some(mut reply) = listed(fs, entry, &key, seen)? else { return Ok(false) };
        if expiry::may_expire(fs, &key)? || key.place.is_dir() && fs.changes.now() != seen {
            // When that is would cost a search for each; and a directory may be gone by now.
            reply.entry_ttl = std::time::Duration::ZERO;
        }
        let Attr { ino, kind, .. } = reply.attr;
        let full = add(&DirEntry { ino, kind, name: entry.name(), offset: cookie }, &reply);
        if full {
            fs.nodes.forget(ino, 1);
        }
        Ok(full)
    })
}

/// Bytes of entries that open directories keep, about.
pub fn held_by_directories(fs: &Fs) -> usize {
    fs.handles.dirs().iter().map(|dir| dir.cursor.lock().held()).sum()
}

fn listed(fs: &Fs, entry: Listed<'_>, key: &NodeKey, seen: Moment) -> Result<Option<EntryReply>> {
    let reply = match entry.cell {
        Some(cell) => entry::entry_since(fs, seen, key, Facts::Cell(cell.clone())),
        None if key.place.is_dir() => Some(entry::entry(fs, key, Some(Facts::Dir))),
        None => None,
    };
    if reply.is_some() { Ok(reply) } else { entry::known(fs, key) }
}

/// `.` and `..`; true when there was no room.
fn add_dots(fs: &Fs, dir: &DirHandle, offset: u64, mut add: impl FnMut(&DirEntry, &EntryReply) -> bool) -> bool {
    if offset >= DOTS {
        return false;
    }
    let key = dir.node.key();
    let parent = parent_of(&key).map_or(ROOT_INO, |parent| fs.nodes.told(&parent));
    let state = dir.node.state();
    let attr = attr::attr_of(fs, &dir.node, &key, &state, Some(&Facts::Dir));
    drop(state);
    for (cookie, name, ino) in [(1, &b"."[..], dir.node.ino), (DOTS, b"..", parent)] {
        let entry = DirEntry { ino, kind: Kind::Directory, name, offset: cookie };
        let ttl = std::time::Duration::ZERO;
        let reply = EntryReply { attr: Attr { ino, ..attr }, entry_ttl: ttl, attr_ttl: ttl };
        if offset < cookie && add(&entry, &reply) {
            return true;
        }
    }
    false
}

/// Passes entries to `visit` until it answers true, or the directory ends; `key`: its identity.
fn walk(
    fs: &Fs,
    dir: &Arc<DirHandle>,
    key: &NodeKey,
    offset: u64,
    visit: impl FnMut(Next<'_>) -> Result<bool>,
) -> Result<()> {
    let mut cursor = dir.cursor.lock();
    cursor.seek(offset.max(DOTS));
    let done = walk_on(fs, dir, key, &mut cursor, visit);
    let bytes = cursor.held();
    let over = fs.held.note(&mut cursor.turn, dir, bytes);
    drop(cursor);
    for (turn, other) in over {
        // One that is read right now tells anew what it keeps.
        if let Some(mut cursor) = other.cursor.try_lock()
            && cursor.turn == turn
        {
            cursor.give_back();
            cursor.turn = Turn::default();
        }
    }
    done
}

fn walk_on(
    fs: &Fs,
    dir: &DirHandle,
    key: &NodeKey,
    cursor: &mut Cursor,
    mut visit: impl FnMut(Next<'_>) -> Result<bool>,
) -> Result<()> {
    loop {
        match cursor.next() {
            Some(next) => {
                if visit(next)? {
                    return Ok(());
                }
                cursor.pass();
            }
            None if cursor.ended => return Ok(()),
            None => {
                let page = list_ahead::next_page(fs, dir, key, cursor.fetched.as_deref())?;
                cursor.go_on_with(page);
            }
        }
    }
}
