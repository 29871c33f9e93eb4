//! `>>`: what was only appended is committed as the store's Append, so that programs that append at once, on
//! the mount and elsewhere, all keep their bytes.

use std::sync::Arc;

use crate::fs::base::Fs;
use crate::fs::bytes::content::{Beyond, Content, Session};
use crate::fs::handles::table::FileHandle;
use crate::fs::nodes::node::NodeState;
use crate::fs::session::{load, write};
use crate::fs::shown::{access, kernel};
use crate::model::{
    Append, CellInfo, ColumnDelta, ColumnKey, Condition, FileChange, Mutated, Mutation, Origin, PutCell, RowMutations,
    Time, TimeRange,
};
use crate::tree::place::NodeKey;
use crate::{Error, ErrorKind, Result};

/// Bytes of a longer value that are compared at once; a shorter one is answered whole.
const PIECE: usize = 4 << 20;

/// Appends the session's bytes behind `from`, what the store had before them may be another's; the version of both.
pub fn commit_append(
    fs: &Fs,
    file: &Arc<FileHandle>,
    state: &mut NodeState,
    (column, time, from): (&ColumnKey, Time, u64),
) -> Result<CellInfo> {
    let origin = state.origin(file.node.ino);
    let session = state.session.as_mut().ok_or_else(no_session)?;
    if session.content.is_drafted() {
        return commit_long_append(fs, file, state, (column, time, from));
    }
    // Where another handle's commit took the bytes along, nothing is added: a close is a version all the same.
    let done = fs.tree.backend.mutate(append((origin, column), time, session, from)?, None)?;
    let version = done.written.first().cloned().ok_or_else(unanswered)?;
    if !is_content(fs, &done, &version, &mut session.content)? {
        session.content = load::load(fs, &file.node.key().place, &version)?;
        kernel::invalidate_inode(fs, file.node.ino);
    }
    Ok(version)
}

/// As [`commit_append`], of a large value: put if the version is still the newest that the session began with,
/// which costs what was appended; what another has made of it meanwhile gets these bytes behind it.
fn commit_long_append(
    fs: &Fs,
    file: &Arc<FileHandle>,
    state: &mut NodeState,
    (column, time, mut from): (&ColumnKey, Time, u64),
) -> Result<CellInfo> {
    let (key, origin) = (file.node.key(), state.origin(file.node.ino));
    loop {
        let newest = fs.tree.backend.newest(column, TimeRange::ALL)?;
        let version = newest.as_ref().map(|cell| (cell.timestamp, cell.seq));
        let session = state.session.as_mut().ok_or_else(no_session)?;
        if version != session.base {
            let other = newest.as_ref().map(|cell| load::load(fs, &key.place, cell)).transpose()?;
            let mut content = other.unwrap_or_else(Content::empty);
            let end = content.len();
            load::beyond(fs, &key.place, |beyond| copy_behind(&mut session.content, from, &mut content, beyond))?;
            (session.content, session.base, session.appends, from) = (content, version, Some(end), end);
            session.changed_from = end;
            kernel::invalidate_inode(fs, file.node.ino);
        }
        let condition =
            Condition::Newest { family: column.family.clone(), qualifier: column.qualifier.clone(), version };
        let put = put_of_append(fs, (column, time), &key, session, newest.as_ref())?;
        let mutations = of_one(origin, column, Mutation::Put(vec![put]));
        let done = fs.tree.backend.mutate(mutations, Some(condition))?;
        if !done.applied {
            continue;
        }
        return done.written.into_iter().next().ok_or_else(unanswered);
    }
}

/// What an Append makes of a version, as a Put.
fn put_of_append(
    fs: &Fs,
    (column, time): (&ColumnKey, Time),
    key: &NodeKey,
    session: &mut Session,
    before: Option<&CellInfo>,
) -> Result<PutCell> {
    let tags = before.map(|cell| cell.tags.clone()).unwrap_or_default();
    let mtime = session.file.mtime.or_else(|| write::time_beside(time, session));
    Ok(PutCell {
        family: column.family.clone(),
        qualifier: column.qualifier.clone(),
        time,
        ttl_ms: session.ttl_ms.unwrap_or(tags.ttl_ms),
        file: access::next_attributes(fs, key, &tags.file, session.file).with(&FileChange::of_time(mtime)),
        value: session.content.value()?,
        ended_at: None,
    })
}

/// Whether the store has what the mount shows.
fn is_content(fs: &Fs, done: &Mutated, version: &CellInfo, content: &mut Content) -> Result<bool> {
    if version.len() != content.len() {
        return Ok(false);
    }
    if let Some(stored) = done.results.first() {
        return Ok(content.read(0, stored.value.len())? == stored.value);
    }
    let mut offset = 0;
    while offset < content.len() {
        let piece = fs.tree.backend.read_value(version, offset, PIECE)?;
        if piece.is_empty() || content.read(offset, piece.len())? != piece {
            return Ok(false);
        }
        offset += piece.len() as u64;
    }
    Ok(true)
}

fn no_session() -> Error {
    Error::new(ErrorKind::Io, "a written file has no session")
}

fn unanswered() -> Error {
    Error::new(ErrorKind::Io, "an append was answered without its version")
}

/// Puts the bytes behind `from` of one content behind the end of another.
fn copy_behind(of: &mut Content, mut from: u64, to: &mut Content, beyond: &Beyond<'_>) -> Result<()> {
    while from < of.len() {
        let piece = of.read(from, PIECE)?;
        from += piece.len() as u64;
        to.write(to.len(), &piece, beyond)?;
    }
    Ok(())
}

/// One mutation of a file's cell.
fn of_one(origin: Origin, column: &ColumnKey, mutation: Mutation) -> RowMutations {
    RowMutations {
        table: column.table.clone(),
        row: column.row.clone(),
        mutations: vec![mutation],
        durability: None,
        origin,
    }
}

fn append(
    (origin, column): (Origin, &ColumnKey),
    time: Time,
    session: &mut Session,
    from: u64,
) -> Result<RowMutations> {
    let len = usize::try_from(session.content.len() - from).unwrap_or(usize::MAX);
    let (family, qualifier) = (column.family.clone(), column.qualifier.clone());
    let delta = session.content.read(from, len)?;
    let mtime = session.file.mtime.or_else(|| write::time_beside(time, session));
    let change = FileChange { mtime, ..session.file };
    let append = Append {
        columns: vec![ColumnDelta { family, qualifier, delta }],
        time,
        ttl_ms: session.ttl_ms.flatten(),
        file: change,
        time_range: TimeRange::ALL,
        returns: session.content.len() <= PIECE as u64,
    };
    Ok(of_one(origin, column, Mutation::Append(append)))
}
