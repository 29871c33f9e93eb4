//! Look-ups and attributes, and how long the kernel may keep them.

use std::sync::Arc;
use std::time::Duration;

use crate::fs::base::Fs;
use crate::fs::cache::changes::Moment;
use crate::fs::caller::Caller;
use crate::fs::counts::subject;
use crate::fs::nodes::node::Node;
use crate::fs::nodes::numbers::ROOT_INO;
use crate::fs::shown::attr::{Attr, EntryReply};
use crate::fs::shown::entry::LOOKS;
use crate::fs::shown::known::stale;
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

    fn absent_ttl(&self, key: &NodeKey) -> Duration {
        let cached = matches!(key.place, Place::Cell(_) | Place::Row(_) | Place::Family(_) | Place::Table(_));
        // What has expired is there again when its TTL is raised.
        let table = key.place.table().filter(|_| cached);
        let expires = table.is_some_and(|table| self.tree.backend.may_expire(table).unwrap_or(true));
        if cached && !expires && key.is_present() { self.options.cache_time } else { Duration::ZERO }
    }
}

/// Kinds of refusal of a name that a look-up answers with "nothing there".
pub(in crate::fs) fn is_absence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::IllegalArgument | ErrorKind::NotFound | ErrorKind::NotPermitted)
}
