//! Look-ups and attributes, and how long the kernel may keep them.

use std::sync::Arc;
use std::time::Duration;

use crate::fs::base::Fs;
use crate::fs::cache::changes::Moment;
use crate::fs::caller::Caller;
use crate::fs::counts::subject;
use crate::fs::nodes::node::{Node, NodeState};
use crate::fs::nodes::numbers::ROOT_INO;
use crate::fs::requests::refused;
use crate::fs::session::told;
use crate::fs::shown::attr::{Attr, EntryReply};
use crate::fs::shown::entry::LOOKS;
use crate::fs::shown::known::stale;
use crate::fs::shown::{attr, entry, kernel, known};
use crate::fs::views::{copied, lack, moments};
use crate::tree::found::Facts;
use crate::tree::place::{NodeKey, Place};
use crate::tree::resolve;
use crate::{Error, ErrorKind, Result};

/// Answer of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    Found(EntryReply),
    /// Nothing there; the kernel may remember that for so long.
    Absent(Duration),
}

/// Looks a name up in a directory, counting it for the kernel.
pub fn lookup(fs: &Fs, parent: u64, name: &[u8], caller: Caller) -> Result<Lookup> {
    let dir = fs.node(parent)?.key();
    subject::is_named(name);
    if name == b"." || name == b".." {
        return Err(Error::new(ErrorKind::IllegalArgument, "`.` and `..` are the kernel's"));
    }
    let key = match known::tree_of(fs, &dir).and_then(|tree| resolve::target(&tree, &dir, name)) {
        Ok(key) => moments::at_moment(fs, &dir, name, caller, key)?,
        Err(e) if is_absence(e.kind) => {
            if e.kind == ErrorKind::IllegalArgument {
                refused::record_refusal(fs, caller, "lookup", &e);
            }
            return Ok(Lookup::Absent(Duration::ZERO));
        }
        Err(e) => return Err(e),
    };
    if copied::is_yet_to_come(fs, &key, caller.pid)? {
        return Ok(Lookup::Absent(Duration::ZERO));
    }
    let seen = fs.changes.now();
    match entry::known(fs, &key)? {
        Some(reply) => {
            fs.absent.remove(parent, name);
            Ok(Lookup::Found(reply))
        }
        None => {
            lack::tell_of_lack(fs, &key, "lookup");
            Ok(Lookup::Absent(keep_absent(fs, &key, (parent, name), seen)))
        }
    }
}

/// How long the kernel may keep a name as absent: remembered first, so that whoever brings it finds it.
fn keep_absent(fs: &Fs, key: &NodeKey, (parent, name): (u64, &[u8]), seen: Moment) -> Duration {
    let ttl = absent_ttl(fs, key);
    if ttl.is_zero() {
        return ttl;
    }
    kernel::remember_absent(fs, parent, name);
    if fs.changes.since(seen, key) { Duration::ZERO } else { ttl }
}

/// What attributes are wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// To be shown.
    ToShow,
    /// The kernel is about to read the bytes of an open file.
    ToRead,
}

/// Attributes of a held node, and how long they may be kept.
pub fn getattr(fs: &Fs, ino: u64) -> Result<(Attr, Duration)> {
    getattr_wanted(fs, ino, Wanted::ToShow)
}

/// As [`getattr`], for one of both.
pub fn getattr_wanted(fs: &Fs, ino: u64, wanted: Wanted) -> Result<(Attr, Duration)> {
    for _ in 0..LOOKS {
        if let Some(answer) = attr_since(fs, fs.changes.now(), ino, wanted)? {
            return Ok(answer);
        }
    }
    let answer = attr_since(fs, Moment::LAST, ino, wanted)?;
    answer.map(|(attr, _)| (attr, Duration::ZERO)).ok_or_else(|| Error::new(ErrorKind::Busy, "it changes all the time"))
}

/// Whether access(2) is granted to root, who may do all but execute a file that nobody may. A directory that is gone is
/// one as long as somebody is in it.
pub fn may_access(fs: &Fs, ino: u64, execute: bool) -> Result<bool> {
    if fs.node(ino)?.key().place.is_dir() {
        return Ok(true);
    }
    let (attr, _) = getattr(fs, ino)?;
    Ok(!execute || attr.mode & 0o111 != 0)
}

/// `None` if the store may have changed since.
fn attr_since(fs: &Fs, seen: Moment, ino: u64, wanted: Wanted) -> Result<Option<(Attr, Duration)>> {
    let node = fs.node(ino)?;
    let key = node.key();
    {
        let state = node.state();
        if state.session.is_some() || state.unlinked {
            let attr = attr::attr_of(fs, &node, &key, &state, None);
            return Ok(Some(tell(fs, &state, (attr, Duration::ZERO), wanted)));
        }
        if let Some(left) = told::believed(fs, &node, &key, &state) {
            let attr = attr::attr_of(fs, &node, &key, &state, None);
            return Ok(Some(tell(fs, &state, (attr, left), wanted)));
        }
    }
    let facts = match known::own_facts(fs, &key)? {
        Some(own) => Some(own),
        None => known::facts(fs, &key)?,
    };
    let facts = match facts {
        Some(facts) => facts,
        None if ino == ROOT_INO => Facts::Dir,
        None if node.state().created_text => Facts::text(Vec::new(), fs.now()),
        None => return attr_of_open(fs, &node, &key),
    };
    let mut state = node.state();
    if fs.changes.since(seen, &key) {
        return Ok(None);
    }
    let facts = entry::note_facts(fs, &node, &mut state, Some(facts));
    let attr = attr::attr_of(fs, &node, &key, &state, facts.as_ref());
    Ok(Some(tell(fs, &state, (attr, attr::ttl(fs, &key, &state)), wanted)))
}

/// What the kernel is told is noted, and it asks again where that is not the true mtime.
fn tell(fs: &Fs, state: &NodeState, (attr, ttl): (Attr, Duration), wanted: Wanted) -> (Attr, Duration) {
    let now = || fs.tree.backend.now();
    let mtime = match wanted {
        Wanted::ToShow => state.tell(attr.mtime, now),
        Wanted::ToRead => state.tell_reader(attr.mtime, now),
    };
    (Attr { mtime, ..attr }, if mtime == attr.mtime { ttl } else { Duration::ZERO })
}

/// Of a file whose cell is gone: what is open outlives it.
fn attr_of_open(fs: &Fs, node: &Arc<Node>, key: &NodeKey) -> Result<Option<(Attr, Duration)>> {
    let mut state = node.state();
    node.mark_stale();
    told::current(fs, node, &mut state)?;
    match state.session {
        Some(_) => Ok(Some((attr::attr_of(fs, node, key, &state, None), Duration::ZERO))),
        None => Err(stale(key, Error::new(ErrorKind::NotFound, "it is not there any more"))),
    }
}

fn absent_ttl(fs: &Fs, key: &NodeKey) -> Duration {
    let cached = matches!(key.place, Place::Cell(_) | Place::Row(_) | Place::Family(_) | Place::Table(_));
    // What has expired is there again when its TTL is raised.
    let table = key.place.table().filter(|_| cached);
    let expires = table.is_some_and(|table| fs.tree.backend.may_expire(table).unwrap_or(true));
    if cached && !expires && key.is_present() { fs.options.cache_time } else { Duration::ZERO }
}

/// Kinds of refusal of a name that a look-up answers with "nothing there".
fn is_absence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::IllegalArgument | ErrorKind::NotFound | ErrorKind::NotPermitted)
}
