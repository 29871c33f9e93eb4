//! What is open, and what the kernel holds, goes on where a name has moved.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Result;
use crate::env::sync::MutexGuard;
use crate::fs::base::Fs;
use crate::fs::handles::table::{FileHandle, TextHandle};
use crate::fs::nodes::node::{Node, NodeState};
use crate::fs::session::commit;
use crate::fs::shown::kernel;
use crate::model::{CellInfo, ColumnKey, SeqNo, TableName, TimeRange, Timestamp};
use crate::tree::place::{NodeKey, family_of};

/// Commits what handles of a node have left, so that the rename moves it.
pub fn commit_open(fs: &Fs, node: &Arc<Node>) -> Result<()> {
    if node.state().session.is_none() {
        return Ok(());
    }
    for file in fs.handles.files().into_iter().filter(|file: &Arc<FileHandle>| file.node.ino == node.ino) {
        commit::commit(fs, &file, &mut node.state())?;
    }
    Ok(())
}

/// Moves cells that are `below` by `shift`, in the store and in the table of nodes; nobody else moves any. What handles of
/// them have left is committed before. Meanwhile nobody comes to what is open there: what is written to it, from pages that
/// the kernel has mapped too, would go to the old place, and its cell would be taken for removed.
pub fn move_below(fs: &Fs, below: impl Fn(&ColumnKey) -> bool, shift: impl FnOnce() -> Result<()>) -> Result<()> {
    let files = files_below(fs, &below);
    let nodes: BTreeMap<u64, Arc<Node>> = files.iter().map(|file| (file.node.ino, Arc::clone(&file.node))).collect();
    // Order: who has locked one node waits for no other.
    let mut states: BTreeMap<u64, MutexGuard<'_, NodeState>> =
        nodes.values().map(|node| (node.ino, node.state())).collect();
    let mut newest = Vec::new();
    for file in files {
        // Its name may have moved on before it was locked.
        let Some(column) = column_below(&file, &below) else { continue };
        let Some(state) = states.get_mut(&file.node.ino) else { continue };
        if commit_to_move(fs, &file, &column, state)? {
            newest.push(file);
        }
    }
    let made = made_of(fs, nodes.values());
    shift()?;
    follow_made(fs, made);
    // What is known of them is of the old place.
    nodes.values().for_each(|node| node.mark_stale());
    follow_newest(fs, newest)
}

/// As [`move_below`], of tables; `moved` says what each is called then, if it has a name. Streams into them go on there.
pub fn move_tables(
    fs: &Fs,
    below: impl Fn(&TableName) -> bool,
    moved: impl Fn(&TableName) -> Option<TableName>,
    shift: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let table = |text: &TextHandle| text.node.key().place.table().filter(|table| below(table)).cloned();
    let open = fs.handles.intakes();
    let intakes = open.iter().filter_map(|text| {
        let table = table(text)?;
        Some((text.takes.as_ref()?.pause(), table))
    });
    let intakes: Vec<_> = intakes.collect();
    let is_moved = Cell::new(false);
    let done = move_below(fs, |column| below(&column.table), || shift().inspect(|()| is_moved.set(true)));
    // What fails behind the move leaves them at the new names.
    for (intake, table) in intakes.into_iter().filter(|_| is_moved.get()) {
        intake.go_on(moved(&table).as_ref());
    }
    done
}

/// The nodes of files that are shown and have nothing stored, each with its column.
fn made_of<'n>(fs: &Fs, nodes: impl Iterator<Item = &'n Arc<Node>>) -> Vec<(Arc<Node>, Arc<ColumnKey>)> {
    let column = |node: &Arc<Node>| node.key().place.column().cloned();
    let made = nodes.filter_map(|node| Some((Arc::clone(node), column(node)?)));
    made.filter(|(_, column)| fs.tree.uncommitted.has_cell(&family_of(column), &column.qualifier)).collect()
}

/// They are shown where their nodes are now, and not where they were.
fn follow_made(fs: &Fs, made: Vec<(Arc<Node>, Arc<ColumnKey>)>) {
    made.iter().for_each(|(_, column)| fs.tree.uncommitted.remove_cell(column));
    made.iter().filter_map(|(node, _)| node.key().place.column().cloned()).for_each(|column| {
        fs.tree.uncommitted.add_cell(&column);
    });
}

fn files_below(fs: &Fs, below: &impl Fn(&ColumnKey) -> bool) -> Vec<Arc<FileHandle>> {
    fs.handles.files().into_iter().filter(|file| column_below(file, below).is_some()).collect()
}

fn column_below(file: &FileHandle, below: &impl Fn(&ColumnKey) -> bool) -> Option<Arc<ColumnKey>> {
    file.node.key().place.column().filter(|column| below(column)).cloned()
}

/// Commits what a handle has left; whether it made the newest version. Of what a write was refused nothing is stored,
/// wherever it is, and what a check refuses does not hold the directory: its close tells.
fn commit_to_move(fs: &Fs, file: &Arc<FileHandle>, column: &ColumnKey, state: &mut NodeState) -> Result<bool> {
    let is_refused = file.has_failed();
    if !is_refused {
        match commit::commit(fs, file, state) {
            Err(e) if e.kind.is_of_what_is_put() => {}
            done => done?,
        }
    }
    let committed = file.state.lock().committed;
    Ok(committed.is_some() && committed == newest_version(fs, column)?)
}

/// A later commit of such a handle replaces what it made, wherever that is now.
fn follow_newest(fs: &Fs, files: Vec<Arc<FileHandle>>) -> Result<()> {
    for file in files {
        if let Some(column) = file.node.key().place.column() {
            file.state.lock().committed = newest_version(fs, column)?;
        }
    }
    Ok(())
}

pub fn newest_version(fs: &Fs, column: &ColumnKey) -> Result<Option<(Timestamp, SeqNo)>> {
    Ok(fs.tree.backend.newest(column, TimeRange::ALL)?.map(|cell| (cell.timestamp, cell.seq)))
}

/// The node goes on under its new name; the node that had the name loses it.
pub fn move_node(fs: &Fs, from: &NodeKey, to: &NodeKey, cell: Option<CellInfo>) {
    if let Some(node) = take_name(fs, from, to, cell) {
        node.state().unlinked = true;
    }
}

/// As [`move_node`]; the node that had the name has yet to be told.
pub fn take_name(fs: &Fs, from: &NodeKey, to: &NodeKey, cell: Option<CellInfo>) -> Option<Arc<Node>> {
    let Some(node) = fs.nodes.find(from) else {
        let replaced = fs.nodes.find(to);
        if let Some(node) = &replaced {
            fs.nodes.detach(node);
        }
        return replaced;
    };
    let replaced = fs.nodes.rename(&node, to.clone());
    if let Some(cell) = cell {
        let (moved, files) = ((cell.timestamp, cell.seq), files_of(fs, &node));
        let before = node.state().cell.replace(Box::new(cell));
        follow(&files, &[], (before.map(|before| (before.timestamp, before.seq)), moved));
    }
    replaced
}

/// As [`move_node`], to a name that was there before the move was done: who has come to it goes on there as well. The
/// kernel drops the names that stand for another now.
pub fn join_node(fs: &Fs, from: &NodeKey, to: &NodeKey) {
    if let Some(node) = fs.nodes.find(from)
        && fs.nodes.rename(&node, to.clone()).is_some()
    {
        kernel::invalidate_name(fs, to);
    }
    kernel::invalidate_name(fs, from);
}

/// The open files of a cell: mostly none.
pub fn files_of(fs: &Fs, node: &Node) -> Vec<Arc<FileHandle>> {
    if node.opens() == 0 {
        return Vec::new();
    }
    fs.handles.files().into_iter().filter(|file| file.node.ino == node.ino).collect()
}

/// The next commit of a handle that wrote the version that moved, or has yet to write what goes on from it, replaces it.
/// What others wrote before is not there: they make a version of their own.
pub fn follow(
    files: &[Arc<FileHandle>],
    dirty: &[Arc<FileHandle>],
    (before, moved): (Option<(Timestamp, SeqNo)>, (Timestamp, SeqNo)),
) {
    for file in files {
        let is_dirty = dirty.iter().any(|other| Arc::ptr_eq(other, file));
        let mut own = file.state.lock();
        if own.committed.is_some() || is_dirty {
            own.committed = (is_dirty || own.committed == before).then_some(moved);
        }
    }
}

/// As [`follow`], where the version was put again with something else beside its bytes.
pub fn follow_change(fs: &Fs, node: &Arc<Node>, before: &CellInfo, changed: &CellInfo) {
    let version = |cell: &CellInfo| (cell.timestamp, cell.seq);
    follow(&files_of(fs, node), &[], (Some(version(before)), version(changed)));
}
