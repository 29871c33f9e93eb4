//! Which version a read gives while somebody else changes the cell.
//!
//! The kernel clips the bytes of a read to the size that it knows, or fills them up with zeros. So a read through its
//! pages gives the version whose size it was told of last; it hears of a change before that is acknowledged, and asks
//! for the attributes before it reads on. Where two programs read in the moment of a change that is not enough: the
//! answer to one and the bytes for the other may cross. What was changed elsewhere a moment ago is therefore read past
//! the pages, and one pass from the start to the end of the file gives one version; whoever reads on after the end
//! (`tail -f`) is given what has come. A file that was open before the first change keeps its pages: a read of it in the
//! moment of another change may end too early, as a read beside a write in place does on any filesystem.

use std::sync::Arc;
use std::time::Duration;

use crate::fs::base::Fs;
use crate::fs::bytes::content::{Content, Session};
use crate::fs::handles::table::FileHandle;
use crate::fs::nodes::node::{Node, NodeState};
use crate::fs::session::{expired, load};
use crate::fs::shown::{attr, expiry, kernel, known};
use crate::model::CellInfo;
use crate::tree::found::Facts;
use crate::tree::place::{NodeKey, Place};
use crate::{Error, ErrorKind, Result};

/// For how long after a change elsewhere files are opened without pages.
const RECENT_MS: u64 = 1000;

/// Whether a file that is only to be read is opened without pages.
pub fn is_read_past_pages(fs: &Fs, node: &Node) -> bool {
    let now = fs.tree.backend.now();
    node.changed_elsewhere().is_some_and(|at| now.0.abs_diff(at.0) < RECENT_MS)
}

/// The version that a read of this handle, of `len` bytes at `offset`, gives.
pub fn version_to_read(
    fs: &Fs,
    file: &FileHandle,
    (offset, len): (u64, usize),
    state: &mut NodeState,
) -> Result<Option<CellInfo>> {
    if !file.is_direct || state.unlinked {
        return told(fs, &file.node, state);
    }
    let mut own = file.state.lock();
    let goes_on = own.passes.take().filter(|(_, next)| offset != 0 && offset == *next);
    let cell = match goes_on {
        Some((cell, _)) => cell,
        // What the kernel was told of stays noted: others read through its pages.
        None => match known::facts(fs, &file.node.key())? {
            Some(Facts::Cell(cell)) => Box::new(cell),
            _ => return told(fs, &file.node, state),
        },
    };
    if offset < cell.len() {
        own.passes = Some((cell.clone(), cell.len().min(offset.saturating_add(len as u64))));
    }
    Ok(Some(*cell))
}

/// The version whose size the kernel was told of last, while it has not expired.
pub fn told(fs: &Fs, node: &Arc<Node>, state: &mut NodeState) -> Result<Option<CellInfo>> {
    match state.cell.as_deref() {
        Some(cell) if expiry::is_fresh(fs, cell) => Ok(Some(cell.clone())),
        _ => current(fs, node, state),
    }
}

/// Whether what the kernel was told of is not there any more, where something has changed since.
pub fn is_gone(fs: &Fs, node: &Node) -> Result<bool> {
    Ok(node.is_stale() && known::facts(fs, &node.key())?.is_none())
}

/// How long the last answer about a cell is to be believed still, where asking again means to ask a server: the kernel
/// asks after each read, for the sake of the access time.
pub fn believed(fs: &Fs, node: &Node, key: &NodeKey, state: &NodeState) -> Option<Duration> {
    let asks_server = !fs.tree.backend.is_prompt() && matches!(key.place, Place::Cell(_)) && key.is_present();
    let known = state.cell.as_deref().filter(|cell| asks_server && expiry::is_fresh(fs, cell));
    let age = known.and_then(|_| node.told_ms_ago(fs.tree.backend.now()))?;
    let left = fs.options.cache_time.checked_sub(Duration::from_millis(age)).filter(|left| !left.is_zero())?;
    Some(left.min(attr::ttl(fs, key, state)))
}

/// The version that is there now: the known one while it has not expired and nothing has changed, else the store's.
pub fn current(fs: &Fs, node: &Arc<Node>, state: &mut NodeState) -> Result<Option<CellInfo>> {
    let stale = node.take_stale();
    let known = !stale && state.cell.as_deref().is_some_and(|cell| expiry::is_fresh(fs, cell));
    if state.unlinked || known || state.cell.is_some() && node.key().snapshot.is_some() {
        return Ok(state.cell.as_deref().cloned());
    }
    // Whoever fails knows what it was, and asks again.
    look(fs, node, state).inspect_err(|_| node.mark_stale())?;
    Ok(state.cell.as_deref().cloned())
}

/// Notes the version that is there now.
fn look(fs: &Fs, node: &Arc<Node>, state: &mut NodeState) -> Result<()> {
    let now = match known::facts(fs, &node.key())? {
        Some(Facts::Cell(cell)) => Some(Box::new(cell)),
        _ => None,
    };
    match (&now, state.cell.clone()) {
        (None, Some(last)) => outlive(fs, node, state, &last)?,
        (Some(cell), last) => expiry::drop_pages(fs, node, last.as_deref(), cell),
        (None, None) => {}
    }
    state.cell = now;
    Ok(())
}

/// What is open stays as it was when its cell was deleted by somebody else or has expired, as after an unlink:
/// the bytes move into the session, and nothing is committed any more, but for what is written to one that has expired.
fn outlive(fs: &Fs, node: &Arc<Node>, state: &mut NodeState, last: &CellInfo) -> Result<()> {
    let key = node.key();
    let expired = match &key.place {
        Place::Cell(column) if key.is_present() && !expiry::is_fresh(fs, last) => Some(column),
        _ => None,
    };
    if let (Some(session), Some(_)) = (&mut state.session, expired) {
        expired::carry(session, last);
    }
    if node.opens() == 0 || state.session.is_some() {
        return Ok(());
    }
    let mut session = match load::load(fs, &key.place, last) {
        // A compaction was faster.
        Err(e) if e.kind == ErrorKind::NotFound && expired.is_some() => {
            Session { lost: Some(last.len()), ..Session::new(Content::empty(), last.mtime()) }
        }
        content => Session::new(content?, last.mtime()),
    };
    expired::carry(&mut session, last);
    if let Some(column) = expired
        && !expired::was_removed(fs, column, last)?
    {
        expired::note(state, &mut session);
    }
    state.session = Some(Box::new(session));
    lose_name(fs, node, state);
    Ok(())
}

/// What is open has no name any more: others may have removed its cell, or dropped its family or table.
pub fn lose_name(fs: &Fs, node: &Arc<Node>, state: &mut NodeState) {
    (state.unlinked, state.outlived) = (true, true);
    kernel::invalidate_name(fs, &node.key());
    fs.nodes.detach(node);
}

/// Refuses to whoever comes by its name what has outlived its cell: nothing of it is committed. The kernel looks the name
/// up again then.
pub fn check_named(state: &NodeState) -> Result<()> {
    if state.outlived {
        return Err(Error::new(ErrorKind::Stale, "the cell was removed while this file was open; open it again"));
    }
    Ok(())
}

/// A cell that was looked up long ago, whose value has moved since to where nobody remembers.
pub fn look_again(fs: &Fs, node: &Arc<Node>, state: &mut NodeState) -> Result<CellInfo> {
    node.mark_stale();
    current(fs, node, state)?.ok_or_else(gone)
}

/// What a handle is told whose cell somebody has removed.
pub fn gone() -> Error {
    Error::new(ErrorKind::NotFound, "the cell is not there any more; open it again")
}
