//! close(2), fsync(2) and the last use of a handle: when what was written is committed.

use std::sync::Arc;

use crate::Result;
use crate::fs::base::Fs;
use crate::fs::counts::subject;
use crate::fs::handles::table::{FileHandle, Handle};
use crate::fs::kinds::{history, judge, text};
use crate::fs::ops::removing;
use crate::fs::session::commit;
use crate::fs::session::commit::not_stored;
use crate::model::Timestamp;

/// A close(2): commits if the handle has written since its last commit.
///
/// A handle that only created or truncated commits at release: shells send FLUSH before WRITE. Answered when
/// the kernel knows of what this has changed elsewhere (`.json`, a version of a cell): the next look at a size or a page of
/// it is no old one. As an fsync(2) is.
pub fn flush(fs: &Fs, number: u64) -> Result<()> {
    let handle = fs.handles.get(number)?;
    subject::is(handle.node());
    match handle {
        Handle::File(file) => {
            let mut state = file.node.state();
            let (written, emptied, refused) = {
                let own = file.state.lock();
                (own.written, own.emptied, own.refused)
            };
            if !written {
                let key = file.node.key();
                let Some(column) = key.place.column().filter(|_| emptied && !state.unlinked) else {
                    drop(state);
                    // An fsync has committed it.
                    return history::key_arrived(fs, &key.place);
                };
                fs.closing.flushed(number, Arc::clone(column));
                let is_empty = state.session.as_ref().is_some_and(|session| session.content.is_empty());
                // Order: a line is for the release, as most go on: a shell closes a copy of a file that it has emptied first.
                let judged = if is_empty { judge::judge_emptied(fs, column) } else { Ok(()) };
                return judged.inspect_err(|_| subject::is_early());
            }
            // Another close of the same open file, of a copy that a child has dropped for example, is told the same:
            // only a write or an fsync tries again.
            if let Some(kind) = refused {
                return Err(not_stored(kind));
            }
            let done = commit::commit(fs, &file, &mut state);
            file.state.lock().refused = done.as_ref().err().map(|e| e.kind);
            done?;
            drop(state);
            history::key_arrived(fs, &file.node.key().place)
        }
        Handle::Text(text) => {
            // Of a long write(2) the kernel tells how much was taken before, and not all look at the next one.
            let refused = *text.refused.lock();
            refused.map_or_else(|| text::flush_text(fs, &text), |kind| Err(not_stored(kind)))
        }
        Handle::Dir(_) => Ok(()),
    }
}

/// fsync(2): commits, and returns when everything committed is on the disk.
pub fn fsync(fs: &Fs, number: u64) -> Result<()> {
    match fs.handles.get(number)? {
        Handle::File(file) => {
            let mut state = file.node.state();
            commit::commit(fs, &file, &mut state)?;
        }
        Handle::Text(text) => text::apply_text(fs, &text)?,
        Handle::Dir(_) => {}
    }
    fs.tree.backend.sync()
}

/// The last use of a handle: what is left is committed.
pub fn release(fs: &Fs, number: u64) -> Result<()> {
    let Some(handle) = fs.handles.remove(number) else { return Ok(()) };
    subject::is(handle.node());
    let done = match &handle {
        Handle::File(file) => release_file(fs, file),
        Handle::Text(text) => text::release_text(fs, text),
        Handle::Dir(dir) => {
            fs.held.forget(&mut dir.cursor.lock().turn);
            Ok(())
        }
    };
    fs.nodes.closed(handle.node());
    fs.closing.ended(number);
    done
}

fn release_file(fs: &Fs, file: &Arc<FileHandle>) -> Result<()> {
    let was_dirty = file.is_dirty();
    let mut state = file.node.state();
    let refused = file.state.lock().refused;
    let done = match refused {
        // That stays so, though there is room by now.
        Some(kind) => {
            commit::give_up(fs, &file.node, &mut state);
            Err(not_stored(kind))
        }
        None => commit::commit_last(fs, file, &mut state),
    };
    drop(state);
    if let Err(e) = &done {
        commit::show_what_is_stored(fs, &file.node, e.kind);
    }
    // What a flush refused was reported then.
    if was_dirty { done.and_then(|()| history::key_arrived(fs, &file.node.key().place)) } else { done }
}

/// Commits what every open handle has left; called when the mount ends.
pub fn commit_all(fs: &Fs) -> Result<()> {
    let mut first = removing::end_removals(fs, Timestamp::MAX);
    for file in fs.handles.files() {
        let mut state = file.node.state();
        first = first.and(commit::commit(fs, &file, &mut state));
    }
    first.and(fs.tree.backend.sync())
}
