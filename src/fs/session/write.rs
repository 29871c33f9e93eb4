//! Write sessions: how a file's bytes come into one.

use std::sync::Arc;

use crate::fs::base::Fs;
use crate::fs::bytes::content::Session;
use crate::fs::handles::table::FileHandle;
use crate::fs::nodes::node::{Node, NodeState};
use crate::fs::session::told::gone;
use crate::fs::session::{load, told};
use crate::model::{FileTime, Time};
use crate::tree::place::{NodeKey, Place};
use crate::{Error, ErrorKind, Result};

/// The node's write session, begun with the bytes of the current version.
pub fn session<'a>(fs: &Fs, node: &Arc<Node>, state: &'a mut NodeState) -> Result<&'a mut Session> {
    if let (Place::Scratch(place), None) = (&node.key().place, &state.session)
        && let Some((meta, content)) = fs.scratch.read(place)?
    {
        let ttl_ms = Some(meta.ttl_ms);
        let mut session = Session::new(content, meta.mtime());
        (session.file, session.ttl_ms) = (meta.file, ttl_ms);
        state.session = Some(Box::new(session));
    }
    if state.session.is_none() {
        let (cell, refused) = (told::current(fs, node, state)?, state.refused);
        if state.session.is_none() {
            let mut cell = cell.ok_or_else(|| refused.map_or_else(gone, never_stored))?;
            let place = node.key().place;
            let mut loaded = load::load(fs, &place, &cell);
            if loaded.as_ref().is_err_and(|e| e.kind == ErrorKind::NotFound) {
                cell = told::look_again(fs, node, state)?;
                loaded = load::load(fs, &place, &cell);
            }
            let (content, changed_at) = (loaded?, cell.mtime());
            let (appends, base) = (Some(content.len()), Some((cell.timestamp, cell.seq)));
            let mut session = Session::new(content, changed_at);
            (session.appends, session.base) = (appends, base);
            session.kept = state.kept().cloned().unwrap_or(session.kept);
            state.session = Some(Box::new(session));
        }
    }
    state.session.as_deref_mut().ok_or_else(|| Error::new(ErrorKind::Io, "the write session vanished"))
}

/// Who has a file open reads it on when its name goes by `go`; one that is not stored any more is as it is.
pub fn holding<T>(fs: &Fs, key: &NodeKey, go: impl FnOnce() -> Result<T>) -> Result<T> {
    let Some(node) = fs.nodes.find(key).filter(|node| node.opens() > 0) else { return go() };
    match session(fs, &node, &mut node.state()) {
        Err(e) if e.kind != ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    go().inspect_err(|_| node.state().end_idle_session())
}

/// The handle has something to commit from now on.
pub fn mark_written(session: &mut Session, file: &FileHandle) {
    let mut own = file.state.lock();
    if !own.written && !own.emptied {
        session.dirty_handles += 1;
    }
    own.written = true;
    own.refused = None;
}

/// Who else has a file open whose maker was refused.
fn never_stored(refused: ErrorKind) -> Error {
    Error::new(refused, "what made this file was refused, and nothing of it is stored; open it again")
}

/// The mtime of a commit that keeps the timestamp of the one before, or where it is more precise than a timestamp.
pub fn time_beside(time: Time, session: &Session) -> Option<FileTime> {
    let own = session.changed_at;
    let is_told_by_timestamp = match time {
        Time::Replacing { timestamp, .. } => FileTime::from(timestamp) == own,
        Time::AfterNewestSince(since) => FileTime::from(since) == own,
        _ => true,
    };
    (!is_told_by_timestamp).then_some(own)
}
