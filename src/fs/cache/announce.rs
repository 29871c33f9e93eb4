//! Changes that the kernel does not know of: which cached names and inodes they touch.
//!
//! Events are queued by whoever commits; one notifier thread turns them into notices, holding no lock.

use std::sync::Arc;

use crate::backend::{Directory, Event};
use crate::fs::Fs;
use crate::fs::cache::invalidations::Invalidation;
use crate::fs::cache::invalidations::Message;
use crate::fs::nodes::node::Node;
use crate::model::{Catalogue, ColumnKey, Origin, TableName};
use crate::tree::facts;
use crate::tree::path::{name_of, parent_of};
use crate::tree::place::{NodeKey, Place, RowPlace, family_of};

impl Fs {
    /// Queues every committed change that a request of this mount did not name itself.
    pub(in crate::fs) fn listen(self: &Arc<Self>) {
        let fs = Arc::downgrade(self);
        self.tree.backend.subscribe(Arc::new(move |event| {
            if let Some(fs) = fs.upgrade() {
                fs.changed(event);
            }
        }));
    }

    fn changed(&self, event: &Event) {
        match event {
            Event::Snapshot { name } => return self.snapshots.forget(name),
            Event::Noted { about, sentence } => {
                let at = self.tree.backend.now();
                return self.refusals.record(at, crate::fs::Caller::default(), about, sentence);
            }
            Event::Replaced { table } => {
                self.forgot(table, self.modes.forget_rows(table));
                return self.forgot(table, self.forget_made(table));
            }
            Event::Left { directory } => {
                let table = &directory.table;
                self.forgot(table, self.modes.forget_directory(directory));
                self.forgot(table, self.tree.uncommitted.dirs.remove(directory));
            }
            Event::Namespace { name, .. } if !self.knows(|catalogue| catalogue.namespaces.contains_key(name)) => {
                let key = NodeKey::plain(Place::Namespace(name.as_str().into()));
                if let Err(e) = self.modes.forget(&key) {
                    log::warn!("forget the mode of {name}: {e}");
                }
            }
            _ => {}
        }
        self.changes.note(event);
        self.end_walks(event);
        self.tree.judged.changed(event);
        if let Event::Table { table, .. } = event
            && !self.knows(|catalogue| catalogue.tables.contains_key(table))
        {
            self.forgot(table, self.modes.forget_table(table));
            self.forgot(table, self.forget_made(table));
        }
        if let Event::Column { column, origin } = event {
            self.drop_versions(column, *origin);
            if self.nodes.is_of_cell(origin.0, column) {
                return;
            }
            let node = self.nodes.find(&cell_key(column));
            if let Some(node) = &node {
                node.mark_stale();
            }
            // A request for a cell alters another column only by renaming it there, which the kernel knows;
            // dropping the name then would cost the moved file its number.
            let by_cell = self.nodes.get(origin.0).is_some_and(|node| matches!(node.key().place, Place::Cell(_)));
            if by_cell {
                return;
            }
            self.note_changed(node.iter());
        }
        self.invalidations.send(Message::Changed(event.clone()));
    }

    /// What the kernel keeps of a column's versions in the history is old, but for the one that the request named.
    fn drop_versions(&self, column: &ColumnKey, origin: Origin) {
        for node in self.nodes.versions_of(column).iter().filter(|node| node.ino != origin.0) {
            node.mark_stale();
            self.invalidate_inode(node.ino);
            self.invalidate_name(&node.key());
        }
    }

    /// Whether something is declared; also where that cannot be asked.
    fn knows(&self, is_declared: impl Fn(&Catalogue) -> bool) -> bool {
        self.tree.backend.catalogue().map_or(true, |catalogue| is_declared(&catalogue))
    }

    fn forgot(&self, table: &TableName, done: crate::Result<()>) {
        if let Err(e) = done {
            log::warn!("forget what was made in {table}: {e}");
        }
    }

    /// Asks the kernel to drop a file's pages and attributes.
    pub(in crate::fs) fn invalidate_inode(&self, ino: u64) {
        self.invalidations.send(Message::Send(Invalidation::Inode(ino)));
    }

    /// Asks the kernel to drop a name.
    pub(in crate::fs) fn invalidate_name(&self, key: &NodeKey) {
        if let Some(notice) = self.entry_notice(key) {
            self.invalidations.send(Message::Send(notice));
        }
    }

    /// Asks the kernel to drop a name of a directory.
    pub(in crate::fs) fn drop_name(&self, parent: u64, name: Vec<u8>) {
        self.invalidations.send(Message::Send(Invalidation::Entry { parent, name }));
    }

    /// Names below directories that are `changed` may have come back.
    fn returned_notices(&self, changed: impl Fn(&Place) -> bool, notices: &mut Vec<Invalidation>) {
        let is_below = |ino| self.nodes.get(ino).is_some_and(|dir| changed(&dir.key().place));
        let names = self.absent.take(is_below).into_iter();
        notices.extend(names.map(|(parent, name)| Invalidation::Entry { parent, name: name.into_vec() }));
    }

    /// What the kernel must be told of a change.
    pub fn notices(&self, event: &Event) -> Vec<Invalidation> {
        let mut notices = Vec::new();
        match event {
            Event::Column { column, origin } => self.column_notices(column, *origin, &mut notices),
            Event::Row { table, row, family, .. } | Event::Left { directory: Directory { table, row, family } } => {
                let place = RowPlace { table: table.clone(), row: row.clone() };
                let nodes = self.nodes.select(|key| in_row(&key.place, &place, family.as_deref()));
                if matches!(event, Event::Row { .. }) {
                    self.note_changed(nodes.iter());
                }
                self.node_notices(&nodes, &mut notices);
                self.returned_notices(|dir| in_row(dir, &place, family.as_deref()), &mut notices);
                self.absent_notice(&NodeKey::plain(Place::Row(Arc::new(place))), &mut notices);
            }
            Event::Table { table, .. } => {
                let nodes = self.nodes.select(|key| key.place.table() == Some(table));
                self.node_notices(&nodes, &mut notices);
                self.returned_notices(|dir| dir.table() == Some(table), &mut notices);
                self.absent_notice(&NodeKey::plain(Place::Table(Arc::new(table.clone()))), &mut notices);
            }
            Event::Namespace { name, .. } => {
                let key = NodeKey::plain(Place::Namespace(name.as_str().into()));
                self.node_notices(&self.nodes.find(&key).into_iter().collect::<Vec<_>>(), &mut notices);
                self.absent_notice(&key, &mut notices);
            }
            // Nothing of the one is cached; the other comes with the change of its table.
            Event::Snapshot { .. } | Event::Replaced { .. } | Event::Noted { .. } => {}
        }
        notices
    }

    /// The file itself if the kernel holds it; else the highest name on the way that it may hold as absent.
    fn column_notices(&self, column: &ColumnKey, origin: Origin, notices: &mut Vec<Invalidation>) {
        let cell = cell_key(column);
        if let Some(node) = self.nodes.find(&cell) {
            // A rename has brought the node that its request named here meanwhile.
            if node.ino != origin.0 {
                self.node_notices(&[node], notices);
            }
            return;
        }
        let family = family_of(column);
        let row = RowPlace { table: column.table.clone(), row: column.row.clone() };
        let path = [cell, NodeKey::plain(Place::Family(Arc::new(family))), NodeKey::plain(Place::Row(Arc::new(row)))];
        for key in path {
            if self.nodes.find(&key).is_some() {
                return;
            }
            self.absent_notice(&key, notices);
        }
    }

    fn node_notices(&self, nodes: &[Arc<Node>], notices: &mut Vec<Invalidation>) {
        for node in nodes {
            let key = node.key();
            node.mark_stale();
            if !key.place.is_dir() {
                notices.push(Invalidation::Inode(node.ino));
            }
            let gone = matches!(facts::at(&self.tree, &key), Ok(None)) && node.state().session.is_none();
            // How long such a name may be kept may be less than it was.
            if gone || self.may_expire(&key).unwrap_or(true) {
                notices.extend(self.entry_notice(&key));
            }
        }
    }

    /// A name that is not held may be remembered as absent.
    fn absent_notice(&self, key: &NodeKey, notices: &mut Vec<Invalidation>) {
        if self.nodes.find(key).is_none() {
            notices.extend(self.entry_notice(key));
        }
    }

    fn entry_notice(&self, key: &NodeKey) -> Option<Invalidation> {
        let parent = self.nodes.find(&parent_of(key)?)?;
        Some(Invalidation::Entry { parent: parent.ino, name: name_of(&self.tree, key) })
    }
}

fn cell_key(column: &ColumnKey) -> NodeKey {
    NodeKey::plain(Place::Cell(Arc::new(column.clone())))
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
