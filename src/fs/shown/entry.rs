//! Nodes as a look-up answers them, each counted for the kernel.

use std::time::Duration;

use crate::Result;
use crate::env::sync::MutexGuard;
use crate::fs::base::Fs;
use crate::fs::cache::changes::Moment;
use crate::fs::nodes::node::{Node, NodeState};
use crate::fs::shown::attr::{Attr, EntryReply};
use crate::fs::shown::{attr, expiry, kernel, known};
use crate::tree::found::Facts;
use crate::tree::place::{NodeKey, Place};
use crate::tree::view::View;

/// How often the store is asked again about what changes meanwhile, before the kernel is told not to keep it.
pub(in crate::fs) const LOOKS: usize = 8;

/// The node of an identity if it exists, with one look-up counted.
pub fn known(fs: &Fs, key: &NodeKey) -> Result<Option<EntryReply>> {
    await_closing(fs, key);
    for _ in 0..LOOKS {
        if let Some(written) = being_written(fs, key) {
            return Ok(Some(written));
        }
        if let Some(text) = known::own_facts(fs, key)? {
            return Ok(Some(entry(fs, key, Some(text))));
        }
        let seen = fs.changes.now();
        let Some(facts) = known::facts(fs, key)? else { return Ok(None) };
        if let Some(reply) = entry_since(fs, seen, key, facts) {
            return bounded(fs, key, reply).map(Some);
        }
    }
    let facts = known::facts(fs, key)?;
    Ok(facts.map(|facts| EntryReply {
        entry_ttl: Duration::ZERO,
        attr_ttl: Duration::ZERO,
        ..entry(fs, key, Some(facts))
    }))
}

/// A file that is being written: it is there unless that ends meanwhile, and nothing of it is stored.
fn being_written(fs: &Fs, key: &NodeKey) -> Option<EntryReply> {
    let is_written = |state: &NodeState| state.session.is_some() && !state.unlinked;
    if !is_written(&fs.nodes.find(key)?.state()) {
        return None;
    }
    let node = fs.nodes.look_up(key);
    let state = node.state();
    if !is_written(&state) {
        drop(state);
        fs.forget(node.ino, 1);
        return None;
    }
    let reply = reply(fs, &node, key, state, None);
    trim_nodes(fs);
    Some(reply)
}

/// As [`entry`], of what was read at a moment; `None` if it may have changed since.
pub fn entry_since(fs: &Fs, seen: Moment, key: &NodeKey, facts: Facts) -> Option<EntryReply> {
    let node = fs.nodes.look_up(key);
    let state = node.state();
    // Order: under the node's lock, which a commit holds until its version is noted there.
    if fs.changes.since(seen, key) {
        drop(state);
        fs.forget(node.ino, 1);
        return None;
    }
    let reply = reply(fs, &node, key, state, Some(facts));
    trim_nodes(fs);
    Some(reply)
}

/// Counts a look-up of `key` and answers it with what is known.
pub fn entry(fs: &Fs, key: &NodeKey, facts: Option<Facts>) -> EntryReply {
    let node = fs.nodes.look_up(key);
    let reply = reply(fs, &node, key, node.state(), facts);
    trim_nodes(fs);
    reply
}

fn reply(
    fs: &Fs,
    node: &Node,
    key: &NodeKey,
    mut state: MutexGuard<'_, NodeState>,
    facts: Option<Facts>,
) -> EntryReply {
    let facts = note_facts(fs, node, &mut state, facts);
    let attr = attr::attr_of(fs, node, key, &state, facts.as_ref());
    let ttl = attr::ttl(fs, key, &state);
    let mtime = state.tell(attr.mtime, || fs.tree.backend.now());
    let attr_ttl = if mtime == attr.mtime { ttl } else { Duration::ZERO };
    EntryReply { attr: Attr { mtime, ..attr }, entry_ttl: ttl, attr_ttl }
}

/// Past the limit, the oldest nodes without open handles are asked back from the kernel.
pub(in crate::fs) fn trim_nodes(fs: &Fs) {
    for node in fs.nodes.to_ask_back(fs.options.max_nodes) {
        kernel::invalidate_name(fs, &node.key());
    }
}

/// Notes the version that was told of; what else is known of the node is answered.
pub fn note_facts(fs: &Fs, node: &Node, state: &mut NodeState, facts: Option<Facts>) -> Option<Facts> {
    match facts {
        Some(Facts::Cell(cell)) => {
            expiry::drop_pages(fs, node, state.cell.as_deref(), &cell);
            node.note_told(state, cell, fs.tree.backend.now());
            None
        }
        other => other,
    }
}

/// What shows history waits for files of it that are just being closed.
pub fn await_closing(fs: &Fs, key: &NodeKey) {
    if shows_history(key) {
        let place = &key.place;
        fs.closing.wait(|column| match place.column() {
            Some(of) => **of == *column,
            None => place.table().is_none_or(|table| *table == column.table),
        });
    }
}

/// Whether more than the newest version is to be seen there.
pub fn shows_history(key: &NodeKey) -> bool {
    matches!(key.place, Place::Versions(_) | Place::Version(..)) || key.view == View::History
}

/// An answer to a look-up: a directory's name is not kept past the expiry of the cell that makes it exist.
fn bounded(fs: &Fs, key: &NodeKey, mut reply: EntryReply) -> Result<EntryReply> {
    if expiry::may_expire(fs, key)?
        && let Some(at) = expiry::first_expiry(fs, key)?
    {
        reply.entry_ttl = reply.entry_ttl.min(expiry::until(fs, at));
    }
    Ok(reply)
}
