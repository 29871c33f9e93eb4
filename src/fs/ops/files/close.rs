//! close(2), fsync(2) and the last use of a handle: when what was written is committed.

use std::sync::Arc;

use crate::fs::base::Fs;
use crate::fs::handles::table::{FileHandle, Handle};
use crate::fs::nodes::node::NodeState;
use crate::fs::session::commit::{NOTICE_PATIENCE, not_stored};
use crate::model::Timestamp;
use crate::{ErrorKind, Result};

impl Fs {
    /// A close(2): commits if the handle has written since its last commit.
    ///
    /// A handle that only created or truncated commits at release: shells send FLUSH before WRITE.
    ///
    /// Returns when the kernel knows of what this has changed elsewhere (`.json`, a version of a cell): the next
    /// look at a size or a page of it is no old one.
    pub fn flush(&self, number: u64) -> Result<()> {
        let done = self.flush_handle(number);
        self.invalidations.settle(NOTICE_PATIENCE);
        done
    }

    fn flush_handle(&self, number: u64) -> Result<()> {
        let handle = self.handles.get(number)?;
        crate::fs::counts::subject::is(handle.node());
        match handle {
            Handle::File(file) => {
                let mut state = file.node.state();
                let (written, emptied, refused) = {
                    let own = file.state.lock();
                    (own.written, own.emptied, own.refused)
                };
                if !written {
                    let key = file.node.key();
                    let Some(column) = key.place.column().filter(|_| emptied && !state.unlinked) else { return Ok(()) };
                    self.closing.flushed(number, Arc::clone(column));
                    let is_empty = state.session.as_ref().is_some_and(|session| session.content.is_empty());
                    // Order: a line is for the release, as most go on: a shell closes a copy of a file that it has emptied first.
                    let judged = if is_empty { self.judge_emptied(column) } else { Ok(()) };
                    return judged.inspect_err(|_| crate::fs::counts::subject::is_early());
                }
                // Another close of the same open file, of a copy that a child has dropped for example, is told the same:
                // only a write or an fsync tries again.
                if let Some(kind) = refused {
                    return Err(not_stored(kind));
                }
                let done = self.commit(&file, &mut state);
                file.state.lock().refused = done.as_ref().err().map(|e| e.kind);
                done?;
                drop(state);
                self.key_arrived(&file.node.key().place)
            }
            Handle::Text(text) => {
                // Of a long write(2) the kernel tells how much was taken before, and not all look at the next one.
                let refused = *text.refused.lock();
                refused.map_or_else(|| self.apply_text(&text), |kind| Err(not_stored(kind)))
            }
            Handle::Dir(_) => Ok(()),
        }
    }

    /// fsync(2): commits, and returns when everything committed is on the disk.
    pub fn fsync(&self, number: u64) -> Result<()> {
        match self.handles.get(number)? {
            Handle::File(file) => {
                let mut state = file.node.state();
                self.commit(&file, &mut state)?;
            }
            Handle::Text(text) => self.apply_text(&text)?,
            Handle::Dir(_) => {}
        }
        self.invalidations.settle(NOTICE_PATIENCE);
        self.tree.backend.sync()
    }

    /// The last use of a handle: what is left is committed.
    pub fn release(&self, number: u64) -> Result<()> {
        let Some(handle) = self.handles.remove(number) else { return Ok(()) };
        crate::fs::counts::subject::is(handle.node());
        let done = match &handle {
            Handle::File(file) => self.release_file(file),
            Handle::Text(text) => self.release_text(text),
            Handle::Dir(dir) => {
                self.held.forget(&mut dir.cursor.lock().turn);
                Ok(())
            }
        };
        self.nodes.closed(handle.node());
        self.closing.ended(number);
        done
    }

    fn release_file(&self, file: &Arc<FileHandle>) -> Result<()> {
        let was_dirty = file.is_dirty();
        let mut state = file.node.state();
        let refused = file.state.lock().refused;
        let done = match refused {
            Some(kind) => give_up(&mut state, kind),
            None => self.commit_last(file, &mut state),
        };
        drop(state);
        if let Err(e) = &done {
            self.show_what_is_stored(&file.node, e.kind);
        }
        // What a flush refused was reported then.
        if was_dirty { done.and_then(|()| self.key_arrived(&file.node.key().place)) } else { done }
    }

    /// Commits what every open handle has left; called when the mount ends.
    pub fn commit_all(&self) -> Result<()> {
        let mut first = self.end_removals(Timestamp::MAX);
        for file in self.handles.files() {
            let mut state = file.node.state();
            first = first.and(self.commit(&file, &mut state));
        }
        first.and(self.tree.backend.sync())
    }
}

/// The last use of a handle whose close was told that nothing is stored: that stays so, though there is room by now.
fn give_up(state: &mut NodeState, refused: ErrorKind) -> Result<()> {
    if let Some(session) = &mut state.session {
        session.dirty_handles = session.dirty_handles.saturating_sub(1);
    }
    state.end_idle_session();
    Err(crate::fs::session::commit::not_stored(refused))
}
