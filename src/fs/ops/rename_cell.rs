//! rename(2) of a cell, and of what is being written to it: a file moves, whoever has it open.

use std::sync::Arc;

use crate::backend::{Event, Leaves, RenameCell, RenameMode};
use crate::env::sync::MutexGuard;
use crate::fs::base::Fs;
use crate::fs::bytes::content::Session;
use crate::fs::cache::invalidations::Message;
use crate::fs::handles::table::{FileHandle, FileState};
use crate::fs::nodes::node::{Node, NodeState};
use crate::fs::session::moving::follow;
use crate::fs::session::{commit, expired, moving, write};
use crate::fs::shown::{access, kernel};
use crate::fs::views::dated;
use crate::model::{CellInfo, ColumnKey, FileAttributes, FileChange, Origin, PutCell, Time, Timestamp};
use crate::tree::facts;
use crate::tree::place::{NodeKey, Place};
use crate::tree::view::View;
use crate::{Error, ErrorKind, Result};

/// A cell's name: its column, and the version if the name has one.
pub(in crate::fs) type CellName = (Arc<ColumnKey>, Option<Timestamp>);

pub fn rename_cell(
    fs: &Fs,
    from: &NodeKey,
    to: &NodeKey,
    source: CellName,
    target: CellName,
    mode: RenameMode,
) -> Result<()> {
    dated::check_masked(fs, to).map_err(no_such_target)?;
    let node = fs.nodes.find(from);
    if mode == RenameMode::Exchange {
        if source.1.is_some() || target.1.is_some() {
            let text = "only two cells, or two tables, can be exchanged: a version is one of a cell";
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        }
        return exchange_cells(fs, (from, to), node.as_ref(), (&source, &target));
    }
    let held_target = fs.nodes.find(to);
    let mut states = lock_both(node.as_ref(), held_target.as_ref());
    keep_target(fs, held_target.as_ref(), states.target.as_deref_mut(), mode)?;
    let done = match (&node, states.source) {
        (Some(node), Some(state)) => rename_held(fs, (node, state), to, (&source, &target), mode),
        _ => {
            let origin = Origin(fs.nodes.number(from));
            let rename = rename_of((&source, &target), mode, Leaves::Nothing, origin);
            fs.tree.backend.rename_cell(&rename).map(|moved| moving::take_name(fs, from, to, Some(moved)))
        }
    };
    let replaced = match done {
        Ok(replaced) => replaced,
        Err(e) => {
            states.target.iter_mut().for_each(|state| state.end_idle_session());
            return Err(e);
        }
    };
    match (replaced, states.target) {
        (Some(node), Some(mut state)) if held_target.as_ref().is_some_and(|held| held.ino == node.ino) => {
            state.unlinked = true
        }
        (Some(node), _) => node.state().unlinked = true,
        (None, _) => {}
    }
    for (column, _) in [&source, &target].into_iter().filter(|name| name.1.is_some()) {
        tell_of_newest(fs, column);
    }
    fs.tree.uncommitted.remove_cell(&source.0);
    fs.tree.uncommitted.remove_cell(&target.0);
    if from.view == View::Plain {
        fs.tree.uncommitted.dirs.add_family_of(&source.0)?;
    }
    Ok(())
}

/// Of a rename of or to a version's name the kernel knows that name alone: what the column's own leads to may be another.
fn tell_of_newest(fs: &Fs, column: &Arc<ColumnKey>) {
    if let Some(node) = fs.nodes.find(&NodeKey::plain(Place::Cell(Arc::clone(column)))) {
        node.mark_stale();
        node.note_change(fs.tree.backend.now());
    }
    let change = Event::Column { column: Arc::clone(column), origin: Origin::default() };
    fs.invalidations.send(Message::Changed(change));
    kernel::drop_attributes(fs, column);
}

fn exchange_cells(
    fs: &Fs,
    (from, to): (&NodeKey, &NodeKey),
    node: Option<&Arc<Node>>,
    names: (&CellName, &CellName),
) -> Result<()> {
    let (source, target) = names;
    let origin = Origin(node.map_or_else(|| fs.nodes.number(from), |node| node.ino));
    let either = |column: &ColumnKey| *column == *source.0 || *column == *target.0;
    moving::move_below(fs, either, || {
        fs.tree.backend.rename_cell(&rename_of(names, RenameMode::Exchange, Leaves::Nothing, origin))?;
        fs.tree.uncommitted.remove_cell(&source.0);
        fs.tree.uncommitted.remove_cell(&target.0);
        swap_nodes(fs, from, to);
        Ok(())
    })
}

/// Renames a cell that the kernel holds; the node that had the name before. What nobody has committed is committed at the
/// new name alone.
fn rename_held(
    fs: &Fs,
    (node, mut state): (&Arc<Node>, MutexGuard<'_, NodeState>),
    to: &NodeKey,
    (source, target): (&CellName, &CellName),
    mode: RenameMode,
) -> Result<Option<Arc<Node>>> {
    let files = moving::files_of(fs, node);
    let mut dirty: Vec<_> = files.iter().filter(|file| file.is_dirty()).cloned().collect();
    if source.1.is_some() {
        dirty.drain(..).try_for_each(|file| commit::commit(fs, &file, &mut state))?;
    }
    let before = match source.1 {
        _ if files.is_empty() => None,
        Some(_) => state.cell.as_ref().map(|cell| (cell.timestamp, cell.seq)),
        None => moving::newest_version(fs, &source.0)?,
    };
    // Nothing is stored yet, or any more.
    let is_new = state.session.is_some() && (state.cell.is_none() || before.is_none() && !dirty.is_empty());
    let moved = if is_new {
        dirty.clear();
        let NodeState { session, cell, .. } = &mut *state;
        if let (Some(session), Some(last)) = (session, cell.as_deref()) {
            expired::carry(session, last);
        }
        commit_elsewhere(fs, (node, &files), &mut state, target, mode)?
    } else {
        let goes_on = |file: &Arc<FileHandle>| file.state.lock().committed == before;
        // What was there before another program wrote over it is history, and belongs to the name.
        let leaves = if dirty.iter().all(goes_on) { Leaves::Nothing } else { Leaves::History };
        let rename = rename_of((source, target), mode, leaves, Origin(node.ino));
        let moved = fs.tree.backend.rename_cell(&rename)?;
        let version = (moved.timestamp, moved.seq);
        follow(&files, &dirty, (before, version));
        if let Some(session) = state.session.as_mut().filter(|session| session.base == before) {
            session.base = Some(version);
        }
        moved
    };
    let replaced = fs.nodes.rename(node, to.clone());
    state.cell = Some(Box::new(moved));
    for file in &dirty {
        if let Err(e) = commit::commit(fs, file, &mut state) {
            // It stays to be committed, and its close tells.
            log::debug!("commit of a renamed file: {e}");
        }
    }
    Ok(replaced)
}

/// The states of the nodes of a rename, as far as the kernel holds them. Of the source nothing is committed between the look
/// and the new identity, or it would go to the old name; of the target nobody looks what has its name between the change in
/// the store and the loss of that name, or an open file would have the bytes of what took its place.
struct States<'a> {
    source: Option<MutexGuard<'a, NodeState>>,
    target: Option<MutexGuard<'a, NodeState>>,
}

/// Order: by number, as all who lock more than one.
fn lock_both<'a>(source: Option<&'a Arc<Node>>, target: Option<&'a Arc<Node>>) -> States<'a> {
    let lock = |node: Option<&'a Arc<Node>>| node.map(|node| node.state());
    let ino = |node: Option<&Arc<Node>>| node.map(|node| node.ino);
    if ino(target) < ino(source) {
        let target = lock(target);
        States { source: lock(source), target }
    } else {
        let source_state = lock(source);
        States { target: lock(target.filter(|_| ino(target) != ino(source))), source: source_state }
    }
}

/// Open handles of the target that is replaced keep its bytes.
fn keep_target(fs: &Fs, target: Option<&Arc<Node>>, state: Option<&mut NodeState>, mode: RenameMode) -> Result<()> {
    let (Some(node), Some(state)) = (target, state) else { return Ok(()) };
    match mode {
        RenameMode::NoReplace if state.session.is_some() => {
            Err(Error::new(ErrorKind::AlreadyExists, "the target exists"))
        }
        RenameMode::Replace if node.opens() > 0 => write::session(fs, node, state).map(|_| ()),
        RenameMode::Replace | RenameMode::NoReplace | RenameMode::Exchange => Ok(()),
    }
}

/// A file that was never committed is put at its new name at once; its handles go on there.
fn commit_elsewhere(
    fs: &Fs,
    (node, files): (&Arc<Node>, &[Arc<FileHandle>]),
    state: &mut NodeState,
    target: &CellName,
    mode: RenameMode,
) -> Result<CellInfo> {
    let (column, version) = target;
    if mode == RenameMode::NoReplace && facts::at(&fs.tree, &NodeKey::plain(place_of(target)))?.is_some() {
        return Err(Error::new(ErrorKind::AlreadyExists, "the target exists"));
    }
    files.iter().try_for_each(|file| file.state.lock().check_failed())?;
    let session: &mut Session =
        state.session.as_mut().ok_or_else(|| Error::new(ErrorKind::NotFound, "no such cell"))?;
    let time = version.map_or_else(|| commit::time_of_new(fs, column, session, None), |at| Ok(Time::At(at)))?;
    let mtime = session.file.mtime.or_else(|| write::time_beside(time, session));
    let file = access::next_attributes(fs, &node.key(), &FileAttributes::default(), session.file);
    let put = PutCell {
        family: column.family.clone(),
        qualifier: column.qualifier.clone(),
        time,
        value: session.content.value()?,
        ttl_ms: session.ttl_ms.flatten(),
        file: file.with(&FileChange::of_time(mtime)),
        ended_at: None,
    };
    let cell = commit::put(fs, column, put, Origin(node.ino))?;
    for file in files {
        let mut own = file.state.lock();
        *own = FileState { committed: Some((cell.timestamp, cell.seq)), ..FileState::default() };
    }
    state.session = None;
    Ok(cell)
}

fn swap_nodes(fs: &Fs, from: &NodeKey, to: &NodeKey) {
    let (one, other) = (fs.nodes.find(from), fs.nodes.find(to));
    if let Some(other) = &other {
        fs.nodes.detach(other);
    }
    if let Some(one) = &one {
        fs.nodes.rename(one, to.clone());
        one.mark_stale();
    }
    if let Some(other) = &other {
        fs.nodes.rename(other, from.clone());
        other.mark_stale();
    }
}

fn rename_of((source, target): (&CellName, &CellName), mode: RenameMode, leaves: Leaves, origin: Origin) -> RenameCell {
    RenameCell {
        from: Arc::clone(&source.0),
        from_version: source.1,
        to: Arc::clone(&target.0),
        to_version: target.1,
        mode,
        leaves,
        origin,
    }
}

/// The cell, or the version of one, that a place is.
pub fn cell_name(place: &Place) -> Option<CellName> {
    match place {
        Place::Cell(column) => Some((Arc::clone(column), None)),
        Place::Version(column, timestamp) => Some((Arc::clone(column), Some(*timestamp))),
        _ => None,
    }
}

fn place_of((column, version): &CellName) -> Place {
    match version {
        Some(timestamp) => Place::Version(Arc::clone(column), *timestamp),
        None => Place::Cell(Arc::clone(column)),
    }
}

/// EINVAL has a meaning of its own in rename(2): programs would say that a directory is to go into itself.
pub fn no_such_target(refused: Error) -> Error {
    match refused.kind {
        ErrorKind::IllegalArgument | ErrorKind::Refused | ErrorKind::Constraint => {
            Error { kind: ErrorKind::NotPermitted, ..refused }
        }
        _ => refused,
    }
}
