//! Changes that the kernel does not know of: what the mount itself forgets of them, before they are queued.

use std::sync::Arc;

use crate::backend::Event;
use crate::fs::base::Fs;
use crate::fs::cache::invalidations::Message;
use crate::fs::events::notices::cell_key;
use crate::model::{Catalogue, ColumnKey, Origin, TableName};
use crate::tree::place::{NodeKey, Place};

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

    pub(in crate::fs) fn changed(&self, event: &Event) {
        match event {
            Event::Snapshot { name } => return self.snapshots.forget(name),
            Event::Noted { about, sentence } => {
                let at = self.tree.backend.now();
                return self.refusals.record(at, crate::fs::caller::Caller::default(), about, sentence);
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
}
