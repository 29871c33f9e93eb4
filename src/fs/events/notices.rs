//! Which cached names and inodes a change touches: the notifier thread asks, and only what moves waits for it.

use std::sync::Arc;

use crate::backend::Event;
use crate::fs::base::Fs;
use crate::fs::cache::invalidations::Invalidation;
use crate::fs::nodes::node::Node;
use crate::fs::session::told;
use crate::fs::shown::{expiry, kernel};
use crate::model::{ColumnKey, Origin, TableName};
use crate::tree::facts;
use crate::tree::place::{NodeKey, Place, RowPlace, family_of};

/// What the kernel must be told of a change.
pub fn notices(fs: &Fs, event: &Event) -> Vec<Invalidation> {
    let mut notices = Vec::new();
    // What a move has taken away may have its node there still: its name would be dropped, and who is in it would be nowhere.
    let _stays = (!matches!(event, Event::Column { .. })).then(|| fs.moves.read_recursive());
    match event {
        Event::Column { column, origin } => column_notices(fs, column, *origin, &mut notices),
        Event::Row { table, row, family, .. } => {
            let place = RowPlace { table: table.clone(), row: row.clone() };
            let nodes = fs.nodes.select(|key| in_row(&key.place, &place, family.as_deref()));
            note_changed(fs, nodes.iter());
            node_notices(fs, &nodes, &mut notices);
            returned_notices(fs, |dir| in_row(dir, &place, family.as_deref()), &mut notices);
            absent_notice(fs, &NodeKey::plain(Place::Row(Arc::new(place))), &mut notices);
        }
        Event::Table { table, origin } => {
            let nodes = fs.nodes.select(|key| key.place.table() == Some(table));
            node_notices(fs, &nodes, &mut notices);
            returned_notices(fs, |dir| dir.table() == Some(table), &mut notices);
            made_notice(fs, &NodeKey::plain(Place::Table(Arc::new(table.clone()))), *origin, &mut notices);
        }
        Event::Namespace { name, origin } => {
            let key = NodeKey::plain(Place::Namespace(name.as_str().into()));
            node_notices(fs, &fs.nodes.find(&key).into_iter().collect::<Vec<_>>(), &mut notices);
            made_notice(fs, &key, *origin, &mut notices);
        }
        // Nothing of the one is cached; the other comes with the change of its table.
        Event::Snapshot { .. } | Event::Replaced { .. } | Event::Noted { .. } => {}
    }
    notices
}

/// Names below directories that are `changed` may have come back.
fn returned_notices(fs: &Fs, changed: impl Fn(&Place) -> bool, notices: &mut Vec<Invalidation>) {
    let is_below = |ino| fs.nodes.get(ino).is_some_and(|dir| changed(&dir.key().place));
    let names = fs.absent.take(is_below).into_iter();
    notices.extend(names.map(|(parent, name)| Invalidation::Entry { parent, name: name.into_vec() }));
}

/// The file itself if the kernel holds it, and the names on the way that it may have as absent.
fn column_notices(fs: &Fs, column: &Arc<ColumnKey>, origin: Origin, notices: &mut Vec<Invalidation>) {
    let cell = cell_key(column);
    if let Some(node) = fs.nodes.find(&cell) {
        // A rename has brought the node that its request named here meanwhile.
        if node.ino == origin.0 {
            return;
        }
        node_notices(fs, &[node], notices);
    }
    let family = family_of(column);
    let row = RowPlace { table: column.table.clone(), row: column.row.clone() };
    for key in [cell, NodeKey::plain(Place::Family(Arc::new(family))), NodeKey::plain(Place::Row(Arc::new(row)))] {
        absent_notice(fs, &key, notices);
    }
}

fn node_notices(fs: &Fs, nodes: &[Arc<Node>], notices: &mut Vec<Invalidation>) {
    for node in nodes {
        let key = node.key();
        node.mark_stale();
        if !key.place.is_dir() {
            notices.push(Invalidation::Inode(node.ino));
        }
        let is_gone = matches!(facts::at(&fs.tree, &key), Ok(None));
        // Of a server's it would have to be asked, which has none any more.
        if is_gone && node.opens() > 0 && fs.tree.backend.is_prompt() {
            keep_open(fs, node);
        }
        if is_gone && node.state().session.is_none() {
            notices.extend(kernel::entry_notice(fs, &key));
        } else if expiry::may_expire(fs, &key).unwrap_or(true) {
            notices.extend(kernel::expiry_notice(fs, &key));
        }
    }
}

/// Whoever has a file open that somebody else has removed keeps its bytes, which a compaction may drop.
fn keep_open(fs: &Fs, node: &Arc<Node>) {
    if let Err(e) = told::current(fs, node, &mut node.state()) {
        log::debug!("keep the bytes of a file that somebody has removed: {e}");
    }
}

/// As [`absent_notice`], unless it was asked for by the name: the kernel would drop the directory that it has just got,
/// in which somebody may be already.
fn made_notice(fs: &Fs, key: &NodeKey, origin: Origin, notices: &mut Vec<Invalidation>) {
    if origin.0 != fs.nodes.number(key) {
        absent_notice(fs, key, notices);
    }
}

/// A name may be remembered as absent: one that is not held, and one of what is held by who had it before it was gone.
fn absent_notice(fs: &Fs, key: &NodeKey, notices: &mut Vec<Invalidation>) {
    let Some(Invalidation::Entry { parent, name }) = kernel::entry_notice(fs, key) else { return };
    if fs.nodes.find(key).is_none() || fs.absent.has(parent, &name) {
        notices.push(Invalidation::Entry { parent, name });
    }
}

/// Somebody else has changed the cells of these nodes. Takes no lock.
pub fn note_changed<'n>(fs: &Fs, nodes: impl Iterator<Item = &'n Arc<Node>>) {
    let now = fs.tree.backend.now();
    nodes.for_each(|node| node.note_change(now));
}

pub fn cell_key(column: &Arc<ColumnKey>) -> NodeKey {
    NodeKey::plain(Place::Cell(Arc::clone(column)))
}

fn in_row(place: &Place, row: &RowPlace, family: Option<&str>) -> bool {
    let matches = |table: &TableName, key: &[u8], of: Option<&str>| {
        *table == row.table && *key == row.row && (family.is_none() || of.is_none() || family == of)
    };
    match place {
        Place::Row(other) => matches(&other.table, &other.row, None),
        Place::Family(other) => matches(&other.table, &other.row, Some(&other.family)),
        _ => place.column().is_some_and(|c| matches(&c.table, &c.row, Some(&c.family))),
    }
}
