//! Commits: when the bytes of a handle become a version.

use std::sync::Arc;
use std::time::Duration;

use crate::error::CLOSE_REFUSED;
use crate::fs::Fs;
use crate::fs::bytes::content::Session;
use crate::fs::bytes::scratch::Meta;
use crate::fs::handles::table::{FileHandle, FileState, Handle};
use crate::fs::nodes::node::NodeState;
use crate::model::{
    CellInfo, ColumnKey, FileChange, FileTime, Mutation, Origin, PutCell, RowMutations, SeqNo, Time, Timestamp,
};
use crate::tree::place::Place;
use crate::{Error, ErrorKind, Result};

/// How long a close(2) waits for the kernel to take its notices. The lock of a directory may hold them up, whose owner
/// waits for room.
pub(in crate::fs) const NOTICE_PATIENCE: Duration = Duration::from_secs(1);

/// What is told of a handle whose close was refused.
pub(in crate::fs) fn not_stored(refused: ErrorKind) -> Error {
    Error::new(refused, CLOSE_REFUSED)
}

/// The version that a commit makes.
struct Target {
    column: Arc<ColumnKey>,
    time: Time,
    /// A deleted version is restored with its end.
    ended_at: Option<Timestamp>,
}

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

    /// Puts the session's bytes as one version if the handle has anything to commit.
    pub(in crate::fs) fn commit(&self, file: &Arc<FileHandle>, state: &mut NodeState) -> Result<()> {
        let mut own = file.state.lock();
        if !(own.written || own.emptied) {
            return Ok(());
        }
        own.check_failed()?;
        if !state.unlinked {
            self.commit_session(file, state, &mut own)?;
        }
        (own.written, own.emptied, own.refused) = (false, false, None);
        if let Some(session) = &mut state.session {
            session.dirty_handles = session.dirty_handles.saturating_sub(1);
        }
        state.end_idle_session();
        Ok(())
    }

    fn commit_session(&self, file: &Arc<FileHandle>, state: &mut NodeState, own: &mut FileState) -> Result<()> {
        let no_session = || Error::new(ErrorKind::Io, "a written file has no session");
        let session = state.session.as_ref().ok_or_else(no_session)?;
        let key = file.node.key();
        if let Place::Scratch(place) = &key.place {
            return self.scratch.write(place, &session.content, &self.scratch_meta(Some(session)));
        }
        let target = self.commit_target(file, own.committed, session)?;
        if let (Place::Cell(column), Some(from)) = (&key.place, session.appends) {
            return self.commit_append(file, state, own, (column, target.time, from));
        }
        // A version that is named keeps its TTL when it is written again, as a file keeps its attributes.
        let same = own.committed.is_some() || matches!(target.time, Time::At(_));
        let kept = state.cell.as_ref().filter(|_| same).and_then(|cell| cell.tags.ttl_ms);
        let mtime = session.file.mtime.or_else(|| time_beside(target.time, session));
        let (ttl_ms, kept) = (session.ttl_ms.unwrap_or(kept), self.attributes_of_commit(&key, state, session));
        let put = PutCell {
            family: target.column.family.clone(),
            qualifier: target.column.qualifier.clone(),
            time: target.time,
            value: state.session.as_mut().ok_or_else(no_session)?.content.value()?,
            ttl_ms,
            file: kept.with(&FileChange::of_time(mtime)),
            ended_at: target.ended_at,
        };
        let mutation = if self.restores(&key) { Mutation::Restore(Box::new(put)) } else { Mutation::Put(vec![put]) };
        let version = self.write_version(&target.column, mutation, Origin(file.node.ino))?;
        own.committed = Some((version.timestamp, version.seq));
        if let Some(session) = &mut state.session {
            (session.appends, session.base) = (Some(session.content.len()), own.committed);
        }
        state.cell = Some(Box::new(version));
        self.tree.uncommitted.remove_cell(&target.column);
        Ok(())
    }

    fn commit_target(
        &self,
        file: &FileHandle,
        committed: Option<(Timestamp, SeqNo)>,
        session: &Session,
    ) -> Result<Target> {
        let (column, time, ended_at) = match (file.node.key().place, committed) {
            (Place::Cell(column), Some((timestamp, seq))) => (column, Time::Replacing { timestamp, seq }, None),
            (Place::Cell(column), None) => (column, Time::AfterNewestSince(session.changed_at.into()), None),
            (Place::Version(column, timestamp), _) => (column, Time::At(timestamp), None),
            (Place::Ended(column, timestamp, end), _) => (column, Time::At(timestamp), Some(end)),
            _ => return Err(Error::new(ErrorKind::Io, "a generated file cannot become a version")),
        };
        Ok(Target { column, time, ended_at })
    }

    /// What is noted of a scratch file, from its session if it has one.
    pub(in crate::fs) fn scratch_meta(&self, session: Option<&Session>) -> Meta {
        let file = session.map(|session| session.file).unwrap_or_default();
        let changed_at = session.map_or_else(|| self.now(), |session| session.changed_at);
        let file = FileChange::of_time(Some(changed_at)).and(file);
        Meta { len: 0, file, ttl_ms: session.and_then(|session| session.ttl_ms).flatten() }
    }

    /// One Put of one cell; the version that it became.
    pub(in crate::fs) fn put(&self, column: &ColumnKey, put: PutCell, origin: Origin) -> Result<CellInfo> {
        self.write_version(column, Mutation::Put(vec![put]), origin)
    }

    /// As [`Fs::put`], for a mutation of one cell.
    pub(in crate::fs) fn write_version(
        &self,
        column: &ColumnKey,
        mutation: Mutation,
        origin: Origin,
    ) -> Result<CellInfo> {
        let mutations = RowMutations {
            table: column.table.clone(),
            row: column.row.clone(),
            mutations: vec![mutation],
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
        let mut first = self.end_removals(Timestamp::MAX);
        for file in self.handles.files() {
            let mut state = file.node.state();
            first = first.and(self.commit(&file, &mut state));
        }
        first.and(self.tree.backend.sync())
    }
}

/// The mtime of a commit that keeps the timestamp of the one before.
pub(in crate::fs) fn time_beside(time: Time, session: &Session) -> Option<FileTime> {
    match time {
        Time::Replacing { timestamp, .. } if FileTime::from(timestamp) != session.changed_at => {
            Some(session.changed_at)
        }
        _ => None,
    }
}
