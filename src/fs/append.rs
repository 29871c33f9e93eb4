//! `>>`: what was only appended is committed as the store's Append, so that programs that append at once, on
//! the mount and elsewhere, all keep their bytes.

use std::sync::Arc;

use super::Fs;
use super::content::{Content, Session};
use super::handles::{FileHandle, FileState};
use super::nodes::NodeState;
use crate::model::{
    Append, CellInfo, ColumnDelta, ColumnKey, FileChange, Mutated, Mutation, Origin, RowMutations, Time, TimeRange,
};
use crate::{Error, ErrorKind, Result};

/// Bytes of a longer value that are compared at once; a shorter one is answered whole.
const PIECE: usize = 4 << 20;

impl Fs {
    /// Appends the session's bytes behind `from`; what the store had before them may be another's.
    pub(super) fn commit_append(
        &self,
        file: &Arc<FileHandle>,
        state: &mut NodeState,
        own: &mut FileState,
        (column, time, from): (&ColumnKey, Time, u64),
    ) -> Result<()> {
        let session =
            state.session.as_mut().ok_or_else(|| Error::new(ErrorKind::Io, "a written file has no session"))?;
        // Where another handle's commit took the bytes along, nothing is added: a close is a version all the same.
        let done = self.tree.backend.mutate(append(file, column, time, session, from)?, None)?;
        let unanswered = || Error::new(ErrorKind::Io, "an append was answered without its version");
        let version = done.written.first().cloned().ok_or_else(unanswered)?;
        if !self.is_content(&done, &version, &session.content)? {
            session.content = self.load(&version)?;
            self.invalidate_inode(file.node.ino);
        }
        session.appends = Some(session.content.len());
        own.committed = Some((version.timestamp, version.seq));
        state.cell = Some(Box::new(version));
        self.tree.uncommitted.remove_cell(column);
        Ok(())
    }

    /// Whether the store has what the mount shows.
    fn is_content(&self, done: &Mutated, version: &CellInfo, content: &Content) -> Result<bool> {
        if version.len() != content.len() {
            return Ok(false);
        }
        if let Some(stored) = done.results.first() {
            return Ok(content.read(0, stored.value.len())? == stored.value);
        }
        let mut offset = 0;
        while offset < content.len() {
            let piece = self.tree.backend.read_value(version, offset, PIECE)?;
            if piece.is_empty() || content.read(offset, piece.len())? != piece {
                return Ok(false);
            }
            offset += piece.len() as u64;
        }
        Ok(true)
    }
}

fn append(file: &FileHandle, column: &ColumnKey, time: Time, session: &Session, from: u64) -> Result<RowMutations> {
    let len = usize::try_from(session.content.len() - from).unwrap_or(usize::MAX);
    let (family, qualifier) = (column.family.clone(), column.qualifier.clone());
    let delta = session.content.read(from, len)?;
    let mtime = session.file.mtime.or_else(|| super::commit::time_beside(time, session));
    let change = FileChange { mtime, ..session.file };
    let append = Append {
        columns: vec![ColumnDelta { family, qualifier, delta }],
        time,
        ttl_ms: session.ttl_ms.flatten(),
        file: change,
        time_range: TimeRange::ALL,
        returns: session.content.len() <= PIECE as u64,
    };
    Ok(RowMutations {
        table: column.table.clone(),
        row: column.row.clone(),
        mutations: vec![Mutation::Append(append)],
        durability: None,
        origin: Origin(file.node.ino),
    })
}
