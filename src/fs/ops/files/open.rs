//! open(2).

use std::sync::Arc;

use crate::fs::base::Fs;
use crate::fs::bytes::content::{Content, Session};
use crate::fs::handles::table::{FileHandle, FileState, Handle, OpenFlags, Opened};
use crate::fs::nodes::node::{Node, NodeState};
use crate::fs::nodes::running::Running;
use crate::model::FileChange;
use crate::tree::place::{NodeKey, Place};
use crate::{Error, ErrorKind, Result};

impl Fs {
    /// Opens an existing file.
    pub fn open(&self, ino: u64, flags: OpenFlags) -> Result<Opened> {
        self.settle_for_open();
        let node = self.node(ino)?;
        let key = node.key();
        let changes = flags.write || flags.truncate;
        if changes {
            self.check_writable(&key)?;
        }
        if !key.place.is_value() {
            return self.open_text(node, &key, flags);
        }
        if changes {
            self.check_family(&key)?;
            node.check_not_running()?;
        }
        let exists = {
            let mut state = node.state();
            match &key.place {
                // Its bytes are nowhere else.
                Place::Scratch(place) if state.session.is_none() => match self.scratch.meta(place)? {
                    Some(_) => self.session(&node, &mut state).map(|_| true)?,
                    None => false,
                },
                _ if state.session.is_some() => true,
                _ if changes => self.current(&node, &mut state)?.is_some(),
                _ => self.told(&node, &mut state)?.is_some(),
            }
        };
        if !exists {
            return Err(Error::new(ErrorKind::NotFound, "the cell is not there any more"));
        }
        self.open_cell(node, &key, flags)
    }

    fn open_cell(&self, node: Arc<Node>, key: &NodeKey, flags: OpenFlags) -> Result<Opened> {
        let plain = matches!(key.place, Place::Cell(_)) && key.is_present();
        let changes = flags.write || flags.truncate;
        let is_direct = plain && !changes && !flags.execute && self.is_read_past_pages(&node);
        let _running = flags.execute.then(|| Running::begin(&node));
        let file = Arc::new(FileHandle { node, state: FileState::default().into(), is_direct, _running });
        if flags.truncate {
            let mut state = file.node.state();
            self.empty(&mut state, &file, None);
        }
        let handle = self.handles.add(Handle::File(Arc::clone(&file)))?;
        Ok(Opened { handle, keep_cache: plain, no_flush: !changes, direct: is_direct })
    }

    /// Makes the file empty for everybody on the mount; committed at release if nothing is written.
    pub(in crate::fs) fn empty(&self, state: &mut NodeState, file: &FileHandle, appends: Option<u64>) {
        let mut own = file.state.lock();
        let was_dirty = own.written || own.emptied;
        let dirty = state.session.as_ref().map_or(0, |s| s.dirty_handles) + u32::from(!was_dirty);
        let mut session = Session::new(Content::empty(), self.time_of_change());
        session.file = state.session.as_ref().map(|s| FileChange { mtime: None, ..s.file }).unwrap_or_default();
        self.end_privileges(&mut session, state.cell.as_ref().and_then(|cell| cell.tags.file.mode()));
        (session.appends, session.dirty_handles) = (appends, dirty);
        state.session = Some(Box::new(session));
        own.emptied = true;
    }
}

/// A handle that has done nothing yet.
pub(in crate::fs) fn new_file(node: &Arc<Node>) -> Arc<FileHandle> {
    Arc::new(FileHandle {
        node: Arc::clone(node),
        state: FileState::default().into(),
        is_direct: false,
        _running: None,
    })
}
