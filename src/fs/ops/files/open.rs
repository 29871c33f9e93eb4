//! open(2).

use std::sync::Arc;

use crate::fs::base::Fs;
use crate::fs::bytes::content::{Content, Session};
use crate::fs::handles::table::{FileHandle, FileState, Handle, OpenFlags, Opened};
use crate::fs::kinds::text;
use crate::fs::nodes::node::{Node, NodeState};
use crate::fs::nodes::running::Running;
use crate::fs::requests::writable;
use crate::fs::session::{told, write};
use crate::fs::shown::access;
use crate::model::FileChange;
use crate::tree::place::{NodeKey, Place};
use crate::{Error, ErrorKind, Result};

/// Opens an existing file.
pub fn open(fs: &Fs, ino: u64, flags: OpenFlags) -> Result<Opened> {
    let node = fs.node(ino)?;
    let key = node.key();
    let changes = flags.write || flags.truncate;
    if changes {
        writable::check_writable(fs, &key)?;
    }
    if !key.place.is_value() {
        return text::open_text(fs, node, &key, flags);
    }
    if changes {
        writable::check_family(fs, &key)?;
        node.check_not_running()?;
    }
    let exists = {
        let mut state = node.state();
        told::check_named(&state)?;
        match &key.place {
            // Its bytes are nowhere else.
            Place::Scratch(place) if state.session.is_none() => match fs.scratch.meta(place)? {
                Some(_) => write::session(fs, &node, &mut state).map(|_| true)?,
                None => false,
            },
            _ if state.session.is_some() => true,
            _ if changes => told::current(fs, &node, &mut state)?.is_some(),
            _ => told::told(fs, &node, &mut state)?.is_some() && !told::is_gone(fs, &node)?,
        }
    };
    if !exists {
        // The kernel looks the name up again, and makes a file where that was wanted.
        let kind = if node.state().unlinked { ErrorKind::NotFound } else { ErrorKind::Stale };
        return Err(Error::new(kind, "the cell is not there any more"));
    }
    open_cell(fs, node, &key, flags)
}

fn open_cell(fs: &Fs, node: Arc<Node>, key: &NodeKey, flags: OpenFlags) -> Result<Opened> {
    let plain = matches!(key.place, Place::Cell(_)) && key.is_present();
    let changes = flags.write || flags.truncate;
    let is_direct = plain && !changes && !flags.execute && told::is_read_past_pages(fs, &node);
    let _running = flags.execute.then(|| Running::begin(&node));
    let keep_cache = plain && !node.take_pages_old();
    let file = Arc::new(FileHandle { node, state: FileState::default().into(), is_direct, _running });
    // Order: where no more files can be open nothing is emptied.
    let handle = fs.handles.add(Handle::File(Arc::clone(&file)))?;
    if flags.truncate {
        let mut state = file.node.state();
        empty(fs, &mut state, &file, None);
    }
    keep_lost(fs, &file.node);
    Ok(Opened { handle, keep_cache, no_flush: !changes, direct: is_direct })
}

/// A file whose name went while it was opened keeps its bytes, as one that was open by then. What cannot be read is told to
/// who reads it.
fn keep_lost(fs: &Fs, node: &Arc<Node>) {
    let mut state = node.state();
    if state.unlinked
        && state.session.is_none()
        && let Err(e) = write::session(fs, node, &mut state)
    {
        log::debug!("keep the bytes of a file that lost its name: {}", e.message);
    }
}

/// Makes the file empty for everybody on the mount; committed at release if nothing is written.
pub fn empty(fs: &Fs, state: &mut NodeState, file: &FileHandle, appends: Option<u64>) {
    let mut own = file.state.lock();
    let was_dirty = own.written || own.emptied;
    let dirty = state.session.as_ref().map_or(0, |s| s.dirty_handles) + u32::from(!was_dirty);
    let before = state.session.as_ref().map(|s| s.changed_at).or_else(|| state.cell.as_ref().map(|cell| cell.mtime()));
    let mut session = Session::new(Content::empty(), before.unwrap_or_default());
    session.kept = state.kept().cloned().unwrap_or(session.kept);
    session.note_change(fs.time_of_change());
    session.file = state.session.as_ref().map(|s| FileChange { mtime: None, ..s.file }).unwrap_or_default();
    access::end_privileges(fs, file.node.ino, &mut session, state.cell.as_ref().and_then(|cell| cell.tags.file.mode()));
    (session.appends, session.dirty_handles) = (appends, dirty);
    if state.cell.is_some() {
        session.change_from(0);
    }
    state.session = Some(Box::new(session));
    own.emptied = true;
}

/// A handle that has done nothing yet.
pub fn new_file(node: &Arc<Node>) -> Arc<FileHandle> {
    Arc::new(FileHandle {
        node: Arc::clone(node),
        state: FileState::default().into(),
        is_direct: false,
        _running: None,
    })
}
