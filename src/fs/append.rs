//! `>>`: what was only appended is committed as the store's Append, so that programs that append at once, on
//! the mount and elsewhere, all keep their bytes.

use std::sync::Arc;

use super::Fs;
use super::content::{Content, Session};
use super::handles::{FileHandle, FileState};
use super::nodes::NodeState;
use crate::model::{Append, ColumnDelta, ColumnKey, Mutated, Mutation, Origin, RowMutations, Time, TimeRange};
use crate::{Error, ErrorKind, Result};

/// Bytes compared at once.
const PIECE: usize = 1 << 20;

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
        if !is_content(&done, &session.content)? {
            session.content = self.load(&version)?;
            self.invalidate_inode(file.node.ino);
        }
        session.appends = Some(session.content.len());
        own.committed = Some((version.timestamp, version.seq));
        state.cell = Some(Box::new(version));
        self.tree.uncommitted.remove_cell(column);
        Ok(())
    }
}

fn append(file: &FileHandle, column: &ColumnKey, time: Time, session: &Session, from: u64) -> Result<RowMutations> {
    let len = usize::try_from(session.content.len() - from).unwrap_or(usize::MAX);
    let (family, qualifier) = (column.family.clone(), column.qualifier.clone());
    let delta = session.content.read(from, len)?;
    let append = Append {
        columns: vec![ColumnDelta { family, qualifier, delta }],
        time,
        ttl_ms: session.ttl_ms.flatten(),
        mtime: session.mtime.or_else(|| super::commit::time_beside(time, session)),
        time_range: TimeRange::ALL,
    };
    Ok(RowMutations {
        table: column.table.clone(),
        row: column.row.clone(),
        mutations: vec![Mutation::Append(append)],
        durability: None,
        origin: Origin(file.node.ino),
    })
}

/// Whether the store has what the mount shows.
fn is_content(done: &Mutated, content: &Content) -> Result<bool> {
    let Some(stored) = done.results.first().map(|cell| cell.value.as_slice()) else { return Ok(false) };
    if stored.len() as u64 != content.len() {
        return Ok(false);
    }
    for (at, piece) in stored.chunks(PIECE).enumerate() {
        if content.read((at * PIECE) as u64, piece.len())? != piece {
            return Ok(false);
        }
    }
    Ok(true)
}
