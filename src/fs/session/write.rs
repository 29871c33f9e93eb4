//! Write sessions: how a file's bytes come into one.

use std::sync::Arc;

use crate::fs::Fs;
use crate::fs::bytes::content::{Beyond, Content, MEMORY_MAX, Session};
use crate::fs::nodes::node::{Node, NodeState};
use crate::model::CellInfo;
use crate::tree::place::Place;
use crate::{Error, ErrorKind, Result};

/// Bytes copied at once from a stored value into a write session.
const COPY_PIECE: usize = 1 << 20;
/// Of a longer version a session begins as a draft, if the backend makes one.
const DRAFTED: u64 = 16 << 10;

impl Fs {
    /// The node's write session, begun with the bytes of the current version.
    pub(in crate::fs) fn session<'a>(&self, node: &Arc<Node>, state: &'a mut NodeState) -> Result<&'a mut Session> {
        if let (Place::Scratch(place), None) = (&node.key().place, &state.session)
            && let Some((meta, content)) = self.scratch.read(place)?
        {
            let ttl_ms = Some(meta.ttl_ms);
            let session = Session { file: meta.file, ttl_ms, ..Session::new(content, meta.mtime()) };
            state.session = Some(Box::new(session));
        }
        if state.session.is_none() {
            let (cell, refused) = (self.current(node, state)?, state.refused);
            if state.session.is_none() {
                let mut cell = cell.ok_or_else(|| refused.map_or_else(gone, never_stored))?;
                let place = node.key().place;
                let mut loaded = self.load(&place, &cell);
                if loaded.as_ref().is_err_and(|e| e.kind == ErrorKind::NotFound) {
                    cell = self.look_again(node, state)?;
                    loaded = self.load(&place, &cell);
                }
                let (content, changed_at) = (loaded?, cell.mtime());
                let (appends, base) = (Some(content.len()), Some((cell.timestamp, cell.seq)));
                let session = Session { appends, base, ..Session::new(content, changed_at) };
                state.session = Some(Box::new(session));
            }
        }
        state.session.as_deref_mut().ok_or_else(|| Error::new(ErrorKind::Io, "the write session vanished"))
    }

    /// A cell that was looked up long ago, whose value has moved since to where nobody remembers.
    pub(in crate::fs) fn look_again(&self, node: &Arc<Node>, state: &mut NodeState) -> Result<CellInfo> {
        node.mark_stale();
        self.current(node, state)?.ok_or_else(gone)
    }

    /// The bytes of a version, to be changed: a large one stays where it is.
    pub(in crate::fs) fn load(&self, place: &Place, cell: &CellInfo) -> Result<Content> {
        if cell.len() > DRAFTED
            && let Some(column) = place.column()
            && let Some(draft) = self.tree.backend.draft(&column.table, &column.family, Some(cell))?
        {
            return Ok(Content::Drafted(draft));
        }
        if cell.len() <= MEMORY_MAX {
            return Ok(Content::of(self.tree.backend.read_value(cell, 0, cell.len() as usize)?));
        }
        let beyond = Beyond::spilled(&self.options.spill_dir);
        let (mut content, mut offset) = (Content::of_len(cell.len(), &beyond)?, 0);
        while offset < cell.len() {
            let piece = self.tree.backend.read_value(cell, offset, COPY_PIECE)?;
            if piece.is_empty() {
                return Err(Error::new(ErrorKind::Corrupt, "a stored value ends too early"));
            }
            content.write(offset, &piece, &beyond)?;
            offset += piece.len() as u64;
        }
        Ok(content)
    }

    /// Tells `write` where bytes of a file go that are too many for memory.
    pub(in crate::fs) fn beyond<T>(&self, place: &Place, write: impl FnOnce(&Beyond<'_>) -> Result<T>) -> Result<T> {
        let draft = || match place.column() {
            Some(column) => self.tree.backend.draft(&column.table, &column.family, None),
            None => Ok(None),
        };
        write(&Beyond { draft: &draft, spill_dir: &self.options.spill_dir })
    }
}

/// What a handle is told whose cell somebody has removed.
pub(in crate::fs) fn gone() -> Error {
    Error::new(ErrorKind::NotFound, "the cell is not there any more; open it again")
}

/// Who else has a file open whose maker was refused.
fn never_stored(refused: ErrorKind) -> Error {
    Error::new(refused, "what made this file was refused, and nothing of it is stored; open it again")
}
