//! Commits: when the bytes of a handle become a version.

use std::sync::Arc;

use super::Fs;
use super::content::Session;
use super::handles::{FileHandle, Handle};
use super::nodes::NodeState;
use crate::model::{ColumnKey, FileTime, Mutation, Origin, PutCell, RowMutations, SeqNo, Time, Timestamp};
use crate::tree::place::Place;
use crate::{Error, ErrorKind, Result};

impl Fs {
    /// A close(2): commits if the handle has written since its last commit.
    ///
    /// A handle that only created or truncated commits at release: shells send FLUSH before WRITE.
    pub fn flush(&self, number: u64) -> Result<()> {
        match self.handles.get(number)? {
            Handle::File(file) => {
                let mut state = file.node.state();
                let written = file.state.lock().written;
                if written { self.commit(&file, &mut state) } else { Ok(()) }
            }
            Handle::Text(text) => self.apply_text(&text),
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
        self.tree.backend.sync()
    }

    /// Puts the session's bytes as one version if the handle has anything to commit.
    pub(super) fn commit(&self, file: &Arc<FileHandle>, state: &mut NodeState) -> Result<()> {
        let mut own = file.state.lock();
        if !(own.written || own.emptied) {
            return Ok(());
        }
        if !state.unlinked {
            let session = state.session.as_ref();
            let session = session.ok_or_else(|| Error::new(ErrorKind::Io, "a written file has no session"))?;
            let (column, time) = self.commit_target(file, own.committed, session)?;
            let put = PutCell {
                family: column.family.clone(),
                qualifier: column.qualifier.clone(),
                time,
                value: session.content.value(),
                ttl_ms: own.committed.and(state.cell.as_ref()).and_then(|cell| cell.tags.ttl_ms),
                mtime: session.mtime.or_else(|| time_beside(time, session)),
                ended_at: None,
            };
            let version = self.put(&column, put, Origin(file.node.ino))?;
            own.committed = Some((version.timestamp, version.seq));
            state.cell = Some(version);
            self.tree.uncommitted.remove_cell(&column);
        }
        (own.written, own.emptied) = (false, false);
        if let Some(session) = &mut state.session {
            session.dirty_handles = session.dirty_handles.saturating_sub(1);
            if session.dirty_handles == 0 && !state.unlinked {
                state.session = None;
            }
        }
        Ok(())
    }

    fn commit_target(
        &self,
        file: &FileHandle,
        committed: Option<(Timestamp, SeqNo)>,
        session: &Session,
    ) -> Result<(Arc<ColumnKey>, Time)> {
        match (file.node.key().place, committed) {
            (Place::Cell(column), Some((timestamp, seq))) => Ok((column, Time::Replacing { timestamp, seq })),
            (Place::Cell(column), None) => Ok((column, Time::AfterNewestSince(session.changed_at.into()))),
            (Place::Version(column, timestamp), _) => Ok((column, Time::At(timestamp))),
            _ => Err(Error::new(ErrorKind::Io, "a generated file cannot become a version")),
        }
    }

    /// One Put of one cell; the version that it became.
    pub(super) fn put(&self, column: &ColumnKey, put: PutCell, origin: Origin) -> Result<crate::model::CellInfo> {
        let mutations = RowMutations {
            table: column.table.clone(),
            row: column.row.clone(),
            mutations: vec![Mutation::Put(vec![put])],
            durability: None,
            origin,
        };
        let done = self.tree.backend.mutate(mutations, None)?;
        done.written
            .into_iter()
            .next()
            .ok_or_else(|| Error::new(ErrorKind::Io, "a put was answered without its version"))
    }

    /// Commits what every open handle has left; called when the mount ends.
    pub fn commit_all(&self) -> Result<()> {
        let mut first = Ok(());
        for file in self.handles.files() {
            let mut state = file.node.state();
            first = first.and(self.commit(&file, &mut state));
        }
        first.and(self.tree.backend.sync())
    }
}

/// The mtime of a commit that keeps the timestamp of the one before.
fn time_beside(time: Time, session: &Session) -> Option<FileTime> {
    match time {
        Time::Replacing { timestamp, .. } if FileTime::from(timestamp) != session.changed_at => {
            Some(session.changed_at)
        }
        _ => None,
    }
}
