//! Nodes as a look-up answers them, each counted for the kernel.

use std::time::Duration;

use crate::Result;
use crate::env::sync::MutexGuard;
use crate::fs::base::Fs;
use crate::fs::cache::changes::Moment;
use crate::fs::nodes::node::{Node, NodeState};
use crate::fs::nodes::numbers::ROOT_INO;
use crate::fs::shown::attr::EntryReply;
use crate::tree::found::Facts;
use crate::tree::place::{NodeKey, Place};
use crate::tree::view::View;

/// How often the store is asked again about what changes meanwhile, before the kernel is told not to keep it.
pub(in crate::fs) const LOOKS: usize = 8;

impl Fs {
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

    /// The kernel forgets `count` look-ups.
    pub fn forget(&self, ino: u64, count: u64) {
        self.nodes.forget(ino, count);
    }

    /// Notes the version that was told of; what else is known of the node is answered.
    pub(in crate::fs) fn note_facts(&self, node: &Node, state: &mut NodeState, facts: Option<Facts>) -> Option<Facts> {
        match facts {
            Some(Facts::Cell(cell)) => {
                node.note_told(state, cell, self.tree.backend.now());
                None
            }
            other => other,
        }
    }

    /// What shows history waits for files of it that are just being closed.
    pub(in crate::fs) fn await_closing(&self, key: &NodeKey) {
        let place = &key.place;
        if matches!(place, Place::Versions(_) | Place::Version(..)) || key.view == View::History {
            self.closing.wait(|column| place.column().is_none_or(|of| **of == *column));
        }
    }

    /// An answer to a look-up: a directory's name is not kept past the expiry of the cell that makes it exist.
    fn bounded(&self, key: &NodeKey, mut reply: EntryReply) -> Result<EntryReply> {
        if self.may_expire(key)?
            && let Some(at) = self.first_expiry(key)?
        {
            reply.entry_ttl = reply.entry_ttl.min(self.until(at));
        }
        Ok(reply)
    }
}
