//! Look-ups and attributes, and how long the kernel may keep them.

use std::sync::Arc;
use std::time::Duration;

use crate::env::sync::MutexGuard;
use crate::fs::bytes::content::Session;
use crate::fs::cache::changes::Moment;
use crate::fs::counts::subject;
use crate::fs::nodes::node::{Node, NodeState};
use crate::fs::nodes::numbers::ROOT_INO;
use crate::fs::views::snapshots::stale;
use crate::fs::{Caller, Fs};
use crate::model::{CellInfo, FileTime};
use crate::tree::found::Facts;
use crate::tree::place::{InfoPlace, NodeKey, Place};
use crate::tree::resolve;
use crate::tree::view::View;
use crate::{Error, ErrorKind, Result};

/// How long the kernel may keep what a walk through a generated tree looks up again and again.
const WALK_TTL: Duration = Duration::from_secs(1);
/// As [`WALK_TTL`], for versions in the history: changes of their columns are announced, but not that a compaction has
/// dropped what the family keeps no longer.
const VERSION_TTL: Duration = Duration::from_secs(30);
/// The latest time that other filesystems keep (ext4, 2446-05-10): a program that copies a later one would find another
/// there, and copy it again for ever.
const LATEST: FileTime = FileTime { seconds: (1 << 34) - (1 << 31) - 1, nanos: 0 };
/// How often the store is asked again about what changes meanwhile, before the kernel is told not to keep it.
const LOOKS: usize = 8;

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

/// Answer of a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    Found(EntryReply),
    /// Nothing there; the kernel may remember that for so long.
    Absent(Duration),
}

impl Fs {
    /// Looks a name up in a directory, counting it for the kernel.
    pub fn lookup(&self, parent: u64, name: &[u8], caller: Caller) -> Result<Lookup> {
        let dir = self.node(parent)?.key();
        subject::is_named(name);
        if name == b"." || name == b".." {
            return Err(Error::new(ErrorKind::IllegalArgument, "`.` and `..` are the kernel's"));
        }
        let key = match self.tree_of(&dir).and_then(|tree| resolve::target(&tree, &dir, name)) {
            Ok(key) => self.at_moment(&dir, name, caller, key)?,
            Err(e) if is_absence(e.kind) => {
                if e.kind == ErrorKind::IllegalArgument {
                    self.record_refusal(caller, "lookup", &e);
                }
                return Ok(Lookup::Absent(Duration::ZERO));
            }
            Err(e) => return Err(e),
        };
        if self.is_yet_to_come(&key, caller.pid)? {
            return Ok(Lookup::Absent(Duration::ZERO));
        }
        let seen = self.changes.now();
        match self.known(&key)? {
            Some(reply) => {
                self.absent.remove(parent, name);
                Ok(Lookup::Found(reply))
            }
            None => {
                self.tell_of_lack(&key, "lookup");
                Ok(Lookup::Absent(self.keep_absent(&key, (parent, name), seen)))
            }
        }
    }

    /// How long the kernel may keep a name as absent: remembered first, so that whoever brings it finds it.
    fn keep_absent(&self, key: &NodeKey, (parent, name): (u64, &[u8]), seen: Moment) -> Duration {
        let ttl = self.absent_ttl(key);
        if ttl.is_zero() {
            return ttl;
        }
        if let Some((parent, name)) = self.absent.add(parent, name) {
            self.drop_name(parent, name.into_vec());
        }
        if self.changes.since(seen, key) { Duration::ZERO } else { ttl }
    }

    /// The node of an identity if it exists, with one look-up counted.
    pub(in crate::fs) fn known(&self, key: &NodeKey) -> Result<Option<EntryReply>> {
        self.await_closing(key);
        for _ in 0..LOOKS {
            if let Some(node) = self.nodes.find(key) {
                let state = node.state();
                if state.session.is_some() && !state.unlinked {
                    drop(state);
                    return Ok(Some(self.entry(key, None)));
                }
            }
            if let Some(text) = self.own_facts(key)? {
                return Ok(Some(self.entry(key, Some(text))));
            }
            let seen = self.changes.now();
            let Some(facts) = self.facts(key)? else { return Ok(None) };
            if let Some(reply) = self.entry_since(seen, key, facts) {
                return self.bounded(key, reply).map(Some);
            }
        }
        let facts = self.facts(key)?;
        Ok(facts.map(|facts| EntryReply {
            entry_ttl: Duration::ZERO,
            attr_ttl: Duration::ZERO,
            ..self.entry(key, Some(facts))
        }))
    }

    /// As [`Fs::entry`], of what was read at a moment; `None` if it may have changed since.
    pub(in crate::fs) fn entry_since(&self, seen: Moment, key: &NodeKey, facts: Facts) -> Option<EntryReply> {
        let node = self.nodes.look_up(key);
        let state = node.state();
        // Order: under the node's lock, which a commit holds until its version is noted there.
        if self.changes.since(seen, key) {
            drop(state);
            self.forget(node.ino, 1);
            return None;
        }
        let reply = self.reply(&node, key, state, Some(facts));
        self.trim_nodes();
        Some(reply)
    }

    /// Counts a look-up of `key` and answers it with what is known.
    pub(in crate::fs) fn entry(&self, key: &NodeKey, facts: Option<Facts>) -> EntryReply {
        let node = self.nodes.look_up(key);
        let reply = self.reply(&node, key, node.state(), facts);
        self.trim_nodes();
        reply
    }

    fn reply(
        &self,
        node: &Node,
        key: &NodeKey,
        mut state: MutexGuard<'_, NodeState>,
        facts: Option<Facts>,
    ) -> EntryReply {
        let facts = self.note_facts(node, &mut state, facts);
        let attr = self.attr_of(node, key, &state, facts.as_ref());
        let ttl = self.ttl(key, &state);
        EntryReply { attr, entry_ttl: ttl, attr_ttl: ttl }
    }

    /// Attributes of a held node, and how long they may be kept.
    pub fn getattr(&self, ino: u64) -> Result<(Attr, Duration)> {
        for _ in 0..LOOKS {
            if let Some(answer) = self.attr_since(self.changes.now(), ino)? {
                return Ok(answer);
            }
        }
        let answer = self.attr_since(Moment::LAST, ino)?;
        answer
            .map(|(attr, _)| (attr, Duration::ZERO))
            .ok_or_else(|| Error::new(ErrorKind::Busy, "it changes all the time"))
    }

    /// `None` if the store may have changed since.
    fn attr_since(&self, seen: Moment, ino: u64) -> Result<Option<(Attr, Duration)>> {
        let node = self.node(ino)?;
        let key = node.key();
        {
            let state = node.state();
            if state.session.is_some() || state.unlinked {
                return Ok(Some((self.attr_of(&node, &key, &state, None), Duration::ZERO)));
            }
            if let Some(left) = self.believed(&node, &key, &state) {
                return Ok(Some((self.attr_of(&node, &key, &state, None), left)));
            }
        }
        let facts = match self.own_facts(&key)? {
            Some(own) => Some(own),
            None => self.facts(&key)?,
        };
        let facts = match facts {
            Some(facts) => facts,
            None if ino == ROOT_INO => Facts::Dir,
            None if node.state().created_text => Facts::text(Vec::new(), self.now()),
            None => return self.attr_of_open(&node, &key),
        };
        let mut state = node.state();
        if self.changes.since(seen, &key) {
            return Ok(None);
        }
        let facts = self.note_facts(&node, &mut state, Some(facts));
        Ok(Some((self.attr_of(&node, &key, &state, facts.as_ref()), self.ttl(&key, &state))))
    }

    /// Of a file whose cell is gone: what is open outlives it.
    fn attr_of_open(&self, node: &Arc<Node>, key: &NodeKey) -> Result<Option<(Attr, Duration)>> {
        let mut state = node.state();
        node.mark_stale();
        self.current(node, &mut state)?;
        match state.session {
            Some(_) => Ok(Some((self.attr_of(node, key, &state, None), Duration::ZERO))),
            None => Err(stale(key, Error::new(ErrorKind::NotFound, "it is not there any more"))),
        }
    }

    /// The kernel forgets `count` look-ups.
    pub fn forget(&self, ino: u64, count: u64) {
        self.nodes.forget(ino, count);
    }

    pub(in crate::fs) fn attr_of(&self, node: &Node, key: &NodeKey, state: &NodeState, facts: Option<&Facts>) -> Attr {
        let is_dir = key.place.is_dir();
        let times = state.times();
        let (size, mtime, changed) = match (facts, &state.session) {
            // The same at every mount: a second backup finds nothing changed.
            _ if is_dir && key.view == View::History => (0, times.mtime.unwrap_or_default(), self.mounted_at),
            _ if is_dir => (0, times.mtime.unwrap_or(self.mounted_at), self.mounted_at),
            (_, Some(session)) => {
                (session.content.len(), session.file.mtime.unwrap_or(session.changed_at), session.changed_at)
            }
            (Some(Facts::Scratch { len, mtime, .. }), None) => (*len, *mtime, *mtime),
            (Some(Facts::Text { bytes, mtime, .. }), None) => (bytes.len() as u64, *mtime, *mtime),
            (_, None) => state.cell.as_ref().map_or((0, self.mounted_at, self.mounted_at), |cell| {
                (cell.len(), cell.mtime(), cell.timestamp.into())
            }),
        };
        let (access, mtime) = (self.access_of(key, state, facts), mtime.min(LATEST));
        Attr {
            ino: node.ino,
            kind: if is_dir { Kind::Directory } else { Kind::File },
            size,
            filled: self.filled(state, size),
            atime: times.atime.unwrap_or(mtime),
            mtime,
            ctime: times.ctime.map_or(changed, |ctime| ctime.max(changed)),
            mode: access.mode,
            nlink: u32::from(!state.unlinked),
            uid: access.uid,
            gid: access.gid,
        }
    }

    fn filled(&self, state: &NodeState, size: u64) -> u64 {
        let filled = match (&state.session, &state.cell) {
            (Some(session), _) => session.content.filled(),
            (None, Some(cell)) if cell.len() == size => self.tree.backend.filled(cell),
            _ => Ok(size),
        };
        // What cannot be read is told to who reads it.
        filled.unwrap_or(size).min(size)
    }

    /// How long the kernel may keep what it was told of a node: not past a cell's expiry, and not at all
    /// what is generated or just being written.
    pub(in crate::fs) fn ttl(&self, key: &NodeKey, state: &NodeState) -> Duration {
        let cached = match &key.place {
            Place::Root | Place::Namespace(_) | Place::Table(_) | Place::Row(_) | Place::Family(_) => true,
            Place::Cell(_) => state.session.is_none(),
            _ => false,
        };
        let most =
            if !cached || !key.is_present() { self.ttl_of_generated(key, state) } else { self.options.cache_time };
        let expires = state.cell.as_ref().and_then(|cell| cell.expires_at);
        expires.map_or(most, |at| self.until(at).min(most))
    }

    /// What is read-only stays for a while, the directories of the history for as long as nobody minds: programs
    /// that walk there look each of them up for each file. A name that is a time has no time of its own.
    fn ttl_of_generated(&self, key: &NodeKey, state: &NodeState) -> Duration {
        let is_time =
            matches!(key.view, View::At(_)) && matches!(key.place, Place::Root | Place::Table(_) | Place::Row(_));
        let is_level =
            matches!(key.place, Place::Root | Place::Namespace(_) | Place::Table(_) | Place::Row(_) | Place::Family(_));
        let is_version = matches!(key.place, Place::Version(..) | Place::Ended(..));
        let is_view = key.view != View::Plain || key.asked.is_some();
        // The directory of a question is of one moment, which the next look may have a later one of.
        if is_level && !is_time && !key.is_question() && is_view || is_version && key.snapshot.is_some() {
            WALK_TTL.min(self.options.cache_time)
        } else if is_version && key.view == View::History && state.session.is_none() && !state.unlinked {
            VERSION_TTL.min(self.options.cache_time)
        } else {
            Duration::ZERO
        }
    }

    fn absent_ttl(&self, key: &NodeKey) -> Duration {
        let cached = matches!(key.place, Place::Cell(_) | Place::Row(_) | Place::Family(_) | Place::Table(_));
        // What has expired is there again when its TTL is raised.
        let table = key.place.table().filter(|_| cached);
        let expires = table.is_some_and(|table| self.tree.backend.may_expire(table).unwrap_or(true));
        if cached && !expires && key.is_present() { self.options.cache_time } else { Duration::ZERO }
    }

    /// The version that is there now: the known one while it has not expired and nothing has changed, else the store's.
    pub(in crate::fs) fn current(&self, node: &Arc<Node>, state: &mut NodeState) -> Result<Option<CellInfo>> {
        let stale = node.take_stale();
        let known = !stale && state.cell.as_deref().is_some_and(|cell| self.is_fresh(cell));
        if state.unlinked || known || state.cell.is_some() && node.key().snapshot.is_some() {
            return Ok(state.cell.as_deref().cloned());
        }
        let last = state.cell.take();
        state.cell = match self.facts(&node.key())? {
            Some(Facts::Cell(cell)) => Some(Box::new(cell)),
            _ => None,
        };
        if let (None, Some(last)) = (&state.cell, last) {
            self.outlive(node, state, &last)?;
        }
        Ok(state.cell.as_deref().cloned())
    }

    /// What is open stays as it was when its cell was deleted by somebody else or has expired, as after an unlink:
    /// the bytes move into the session, and nothing is committed any more.
    fn outlive(&self, node: &Arc<Node>, state: &mut NodeState, last: &CellInfo) -> Result<()> {
        if node.opens() == 0 || state.session.is_some() {
            return Ok(());
        }
        state.session = Some(Box::new(Session::new(self.load(&node.key().place, last)?, last.mtime())));
        state.unlinked = true;
        self.nodes.detach(node);
        Ok(())
    }

    /// What only the mount knows: scratch files, `.info/errors`.
    pub(in crate::fs) fn own_facts(&self, key: &NodeKey) -> Result<Option<Facts>> {
        if key.snapshot.is_some() {
            return Ok(None);
        }
        Ok(match &key.place {
            Place::Scratch(place) => {
                let meta = self.scratch.meta(place)?;
                meta.map(|meta| Facts::Scratch { len: meta.len, mtime: meta.mtime(), file: meta.file.into() })
            }
            Place::Info(InfoPlace::Errors) => Some(Facts::text(self.refusals.text(), self.tree.backend.now().into())),
            Place::Info(InfoPlace::Access) => Some(self.facts_of_accesses()),
            Place::Changes(table) => match self.facts(key)? {
                Some(_) => Some(self.facts_of_feed(table)?),
                None => None,
            },
            Place::Info(InfoPlace::Requests) => Some(Facts::text(self.counters.text(), self.tree.backend.now().into())),
            Place::Schema(place) => {
                self.texts.get(place).map(|(bytes, mtime)| Facts::text(bytes, mtime.unwrap_or(self.mounted_at)))
            }
            _ => None,
        })
    }

    /// Past the limit, the oldest nodes without open handles are asked back from the kernel.
    fn trim_nodes(&self) {
        let held = self.nodes.len();
        if held > self.options.max_nodes && held.is_multiple_of(256) {
            for node in self.nodes.oldest_beyond(self.options.max_nodes, 512) {
                if node.ino != ROOT_INO && node.opens() == 0 {
                    self.invalidate_name(&node.key());
                }
            }
        }
    }
}

/// Kinds of refusal of a name that a look-up answers with "nothing there".
pub(in crate::fs) fn is_absence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::IllegalArgument | ErrorKind::NotFound | ErrorKind::NotPermitted)
}
