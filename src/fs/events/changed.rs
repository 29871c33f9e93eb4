//! Changes that the kernel does not know of: what the mount itself forgets of them, before they are queued.

use std::sync::Arc;

use crate::backend::{Backend, Event};
use crate::fs::base::Fs;
use crate::fs::cache::invalidations::{Invalidations, Message};
use crate::fs::caller::Caller;
use crate::fs::events::notices;
use crate::fs::kinds::declare;
use crate::fs::options::Options;
use crate::fs::shown::kernel;
use crate::fs::views::walks;
use crate::model::{Catalogue, ColumnKey, Origin, TableName};
use crate::tree::place::{NodeKey, Place};

/// A mount over `backend`: what must be told to the kernel, most of all each committed change that a request of this
/// mount did not name itself, is put into `invalidations`.
pub fn begin(backend: Arc<dyn Backend>, options: Options, invalidations: Invalidations) -> Arc<Fs> {
    let fs = Arc::new(Fs::new(backend, options, invalidations));
    let listener = Arc::downgrade(&fs);
    fs.tree.backend.subscribe(Arc::new(move |event| {
        if let Some(fs) = listener.upgrade() {
            changed(&fs, event);
        }
    }));
    fs
}

fn changed(fs: &Fs, event: &Event) {
    match event {
        Event::Snapshot { name } => return fs.snapshots.forget(name),
        Event::Noted { about, sentence } => {
            let at = fs.tree.backend.now();
            return fs.refusals.record(at, Caller::default(), about, sentence);
        }
        Event::Replaced { table } => {
            forgot(table, fs.modes.forget_rows(table));
            return forgot(table, declare::forget_made(fs, table));
        }
        Event::Namespace { name, .. } if !knows(fs, |catalogue| catalogue.namespaces.contains_key(name)) => {
            let key = NodeKey::plain(Place::Namespace(name.as_str().into()));
            if let Err(e) = fs.modes.forget(&key) {
                log::warn!("forget the mode of {name}: {e}");
            }
        }
        _ => {}
    }
    fs.changes.note(event);
    walks::end_walks(fs, event);
    fs.tree.judged.changed(event);
    if let Event::Table { table, .. } = event
        && !knows(fs, |catalogue| catalogue.tables.contains_key(table))
    {
        forgot(table, fs.modes.forget_table(table));
        forgot(table, declare::forget_made(fs, table));
    }
    if let Event::Column { column, origin } = event {
        drop_versions(fs, column, *origin);
        if fs.nodes.is_of_cell(origin.0, column) {
            return;
        }
        let node = fs.nodes.find(&notices::cell_key(column));
        if let Some(node) = &node {
            node.mark_stale();
        }
        // A request for a cell alters another column only by renaming it there, which the kernel knows;
        // dropping the name then would cost the moved file its number.
        let by_cell = fs.nodes.get(origin.0).is_some_and(|node| matches!(node.key().place, Place::Cell(_)));
        if by_cell {
            return;
        }
        notices::note_changed(fs, node.iter());
    }
    fs.invalidations.send(Message::Changed(event.clone()));
}

/// What the kernel keeps of a column's versions in the history is old, but for the one that the request named.
fn drop_versions(fs: &Fs, column: &ColumnKey, origin: Origin) {
    for node in fs.nodes.versions_of(column).iter().filter(|node| node.ino != origin.0) {
        node.mark_stale();
        kernel::invalidate_inode(fs, node.ino);
        kernel::invalidate_name(fs, &node.key());
    }
}

/// Whether something is declared; also where that cannot be asked.
fn knows(fs: &Fs, is_declared: impl Fn(&Catalogue) -> bool) -> bool {
    fs.tree.backend.catalogue().map_or(true, |catalogue| is_declared(&catalogue))
}

fn forgot(table: &TableName, done: crate::Result<()>) {
    if let Err(e) = done {
        log::warn!("forget what was made in {table}: {e}");
    }
}
