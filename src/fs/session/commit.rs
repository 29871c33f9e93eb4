//! Commits: the bytes of a handle become a version, or a tombstone.

use std::sync::Arc;

use crate::error::CLOSE_REFUSED;
use crate::fs::base::Fs;
use crate::fs::bytes::content::Session;
use crate::fs::bytes::scratch::Meta;
use crate::fs::handles::table::{FileHandle, FileState, wears_after};
use crate::fs::nodes::node::{Node, NodeState};
use crate::fs::requests::writable;
use crate::fs::session::write::time_beside;
use crate::fs::session::{append, expired, told};
use crate::fs::shown::{access, kernel};
use crate::model::{
    AttributeChange, CellInfo, ColumnKey, Condition, DeleteKind, DeleteMarker, FileChange, Mutation, Origin, PutCell,
    RowMutations, Time, Timestamp,
};
use crate::tree::place::Place;
use crate::tree::view::View;
use crate::{Error, ErrorKind, Result};

/// The version that a commit makes.
struct Target {
    column: Arc<ColumnKey>,
    time: Time,
    /// A deleted version is restored with its end.
    ended_at: Option<Timestamp>,
}

/// Puts the session's bytes as one version if the handle has anything to commit.
pub fn commit(fs: &Fs, file: &Arc<FileHandle>, state: &mut NodeState) -> Result<()> {
    let mut own = file.state.lock();
    if !(own.written || own.emptied) {
        return Ok(());
    }
    own.check_failed()?;
    let anew = match file.node.key().place {
        Place::Cell(column) if state.unlinked && state.expired => expired::condition(fs, &column, state)?,
        _ => None,
    };
    if !state.unlinked || anew.is_some() {
        match commit_session(fs, file, state, &mut own, anew) {
            Err(e) if is_dropped(fs, &file.node, e.kind) => outlive_drop(fs, &file.node, state),
            done => done?,
        }
    }
    (own.written, own.emptied, own.refused) = (false, false, None);
    if let Some(session) = &mut state.session {
        session.dirty_handles = session.dirty_handles.saturating_sub(1);
    }
    state.end_idle_session();
    Ok(())
}

/// Whether the family or the table of a file was dropped since it was opened. A shared store may have lacked it before.
fn is_dropped(fs: &Fs, node: &Node, refused: ErrorKind) -> bool {
    let lacks = matches!(refused, ErrorKind::NoSuchTable | ErrorKind::NoSuchFamily);
    lacks && node.key().view == View::Plain && !fs.tree.backend.is_shared()
}

/// Its bytes stay to whoever has it open, as after an unlink.
fn outlive_drop(fs: &Fs, node: &Arc<Node>, state: &mut NodeState) {
    if let Some(column) = node.key().place.column() {
        fs.tree.uncommitted.remove_cell(column);
    }
    told::lose_name(fs, node, state);
}

fn commit_session(
    fs: &Fs,
    file: &Arc<FileHandle>,
    state: &mut NodeState,
    own: &mut FileState,
    anew: Option<Condition>,
) -> Result<()> {
    let no_session = || Error::new(ErrorKind::Io, "a written file has no session");
    let session = state.session.as_ref().ok_or_else(no_session)?;
    let key = file.node.key();
    if let Place::Scratch(place) = &key.place {
        return fs.scratch.write(place, &session.content, &scratch_meta(fs, Some(session)));
    }
    if state.cell.is_none() {
        // There may be a file of another's by now, whose place this would take.
        access::check_sticky(fs, &key, session.file.uid.unwrap_or(fs.options.uid))?;
    }
    let target = commit_target(fs, file, (own, state.cell.as_deref()), session)?;
    if let (Place::Cell(column), Some(from)) = (&key.place, session.appends) {
        let version = append::commit_append(fs, file, state, (column, target.time, from))?;
        note_version(fs, state, own, (column, version));
        return Ok(());
    }
    // A version that is named keeps its TTL when it is written again, as a file keeps its attributes.
    let same = own.committed.is_some() || matches!(target.time, Time::At(_));
    let kept = state.cell.as_ref().filter(|_| same).and_then(|cell| cell.tags.ttl_ms);
    let mtime = session.file.mtime.or_else(|| time_beside(target.time, session));
    let (ttl_ms, kept) = (session.ttl_ms.unwrap_or(kept), access::attributes_of_commit(fs, &key, state, session));
    let put = PutCell {
        family: target.column.family.clone(),
        qualifier: target.column.qualifier.clone(),
        time: target.time,
        value: state.session.as_mut().ok_or_else(no_session)?.content.value()?,
        ttl_ms,
        file: kept.with(&FileChange::of_time(mtime)),
        ended_at: target.ended_at,
    };
    let mutation =
        if writable::restores(fs, &key) { Mutation::Restore(Box::new(put)) } else { Mutation::Put(vec![put]) };
    let version = write_if(fs, &target.column, mutation, (state.origin(file.node.ino), anew))?;
    note_version(fs, state, own, (&target.column, version));
    Ok(())
}

/// A commit has made a version.
fn note_version(fs: &Fs, state: &mut NodeState, own: &mut FileState, (column, version): (&ColumnKey, CellInfo)) {
    own.note_commit(&version);
    if let Some(session) = &mut state.session {
        (session.appends, session.base) = (Some(session.content.len()), own.committed);
        session.changed_from = u64::MAX;
    }
    state.cell = Some(Box::new(version));
    if !state.expired {
        fs.tree.uncommitted.remove_cell(column);
    }
}

fn commit_target(
    fs: &Fs,
    file: &FileHandle,
    (own, before): (&FileState, Option<&CellInfo>),
    session: &Session,
) -> Result<Target> {
    let now = fs.tree.backend.now();
    let (column, time, ended_at) = match (file.node.key().place, own.to_replace(now)) {
        (Place::Cell(column), Some((timestamp, seq))) => (column, Time::Replacing { timestamp, seq }, None),
        (Place::Cell(column), None) => {
            let time = time_of_new(fs, &column, session, before)?;
            (column, time, None)
        }
        (Place::Version(column, timestamp), _) => (column, Time::At(timestamp), None),
        (Place::Ended(column, timestamp, end), _) => (column, Time::At(timestamp), Some(end)),
        _ => return Err(Error::new(ErrorKind::Io, "a generated file cannot become a version")),
    };
    Ok(Target { column, time, ended_at })
}

/// When a version is of that replaces none: of the last change, unless it would expire too soon after that.
pub fn time_of_new(fs: &Fs, column: &ColumnKey, session: &Session, before: Option<&CellInfo>) -> Result<Time> {
    let (now, made) = (fs.tree.backend.now(), Timestamp::from(session.changed_at));
    let age_ms = now.0.saturating_sub(made.0);
    let is_worn = life_ms(fs, column, session, before)?.is_some_and(|life| age_ms >= wears_after(life));
    Ok(Time::AfterNewestSince(if is_worn { now } else { made }))
}

/// How long a version lives at least; `None`: for good.
fn life_ms(fs: &Fs, column: &ColumnKey, session: &Session, before: Option<&CellInfo>) -> Result<Option<i64>> {
    let catalogue = fs.tree.backend.catalogue()?;
    let family = catalogue.tables.get(&column.table).and_then(|table| table.families.get(&column.family));
    let lives = [
        family.and_then(|family| family.rules.ttl_ms),
        session.ttl_ms.flatten(),
        before.and_then(|cell| cell.tags.ttl_ms),
    ];
    Ok(lives.into_iter().flatten().min().map(|life| i64::try_from(life).unwrap_or(i64::MAX)))
}

/// What is noted of a scratch file, from its session if it has one.
pub fn scratch_meta(fs: &Fs, session: Option<&Session>) -> Meta {
    let file = session.map(|session| session.file).unwrap_or_default();
    let changed_at = session.map_or_else(|| fs.now(), |session| session.changed_at);
    let file = FileChange::of_time(Some(changed_at)).and(file);
    Meta { len: 0, file, ttl_ms: session.and_then(|session| session.ttl_ms).flatten() }
}

/// One Put of one cell; the version that it became.
pub fn put(fs: &Fs, column: &ColumnKey, put: PutCell, origin: Origin) -> Result<CellInfo> {
    write_version(fs, column, Mutation::Put(vec![put]), origin)
}

/// As [`put`], for a mutation of one cell.
pub fn write_version(fs: &Fs, column: &ColumnKey, mutation: Mutation, origin: Origin) -> Result<CellInfo> {
    write_if(fs, column, mutation, (origin, None))
}

fn write_if(
    fs: &Fs,
    column: &ColumnKey,
    mutation: Mutation,
    (origin, condition): (Origin, Option<Condition>),
) -> Result<CellInfo> {
    let mutations = RowMutations {
        table: column.table.clone(),
        row: column.row.clone(),
        mutations: vec![mutation],
        durability: None,
        origin,
    };
    let done = fs.tree.backend.mutate(mutations, condition)?;
    if !done.applied {
        return Err(expired::another());
    }
    done.written.into_iter().next().ok_or_else(|| Error::new(ErrorKind::Io, "a put was answered without its version"))
}

/// The last commit of a handle: what it refuses has nobody left to commit it.
pub fn commit_last(fs: &Fs, file: &Arc<FileHandle>, state: &mut NodeState) -> Result<()> {
    let done = commit(fs, file, state);
    match &done {
        Err(_) => give_up(fs, &file.node, state),
        Ok(()) => state.end_idle_session(),
    }
    if file.node.opens() < 2 {
        state.forget_alone();
    }
    done
}

/// A handle has nothing to commit any more, as that was refused. What was set on the file beside its bytes was acknowledged,
/// and stays.
pub fn give_up(fs: &Fs, node: &Arc<Node>, state: &mut NodeState) {
    let Some(session) = &mut state.session else { return };
    session.dirty_handles = session.dirty_handles.saturating_sub(1);
    let set = AttributeChange { file: session.file, ttl_ms: session.ttl_ms };
    if session.dirty_handles == 0
        && set != AttributeChange::default()
        && state.cell.is_some()
        && let Err(e) = keep_what_was_set(fs, node, state, set)
    {
        log::warn!("keep what was set on a file whose bytes were refused: {}", e.message);
    }
    state.end_idle_session();
}

fn keep_what_was_set(fs: &Fs, node: &Arc<Node>, state: &mut NodeState, change: AttributeChange) -> Result<()> {
    let (Some(cell), false) = (told::current(fs, node, state)?, state.unlinked) else { return Ok(()) };
    let key = node.key();
    let Some(column) = key.place.column() else { return Ok(()) };
    let changed = fs.tree.backend.set_attributes(column, &cell, &change, Origin(node.ino))?;
    state.cell = Some(Box::new(changed));
    Ok(())
}

/// After a commit that failed: a file that was never stored is gone, one that was has its old bytes again.
pub fn show_what_is_stored(fs: &Fs, node: &Arc<Node>, refused: ErrorKind) {
    let key = node.key();
    let mut state = node.state();
    if state.session.is_some() || state.unlinked {
        return;
    }
    if let (None, Place::Cell(column)) = (&state.cell, &key.place) {
        (state.unlinked, state.refused) = (true, Some(refused));
        fs.tree.uncommitted.remove_cell(column);
        drop(state);
        fs.nodes.detach(node);
        kernel::invalidate_name(fs, &key);
    } else {
        kernel::invalidate_inode(fs, node.ino);
    }
}

pub fn delete(fs: &Fs, column: &ColumnKey, kind: DeleteKind, time: Time, erases: bool, origin: u64) -> Result<()> {
    let mutations = RowMutations {
        table: column.table.clone(),
        row: column.row.clone(),
        mutations: vec![Mutation::Delete(vec![DeleteMarker { kind, time, erases }])],
        durability: None,
        origin: Origin(origin),
    };
    fs.tree.backend.mutate(mutations, None).map(|_| ())
}

/// What is told of a handle whose close was refused.
pub fn not_stored(refused: ErrorKind) -> Error {
    Error::new(refused, CLOSE_REFUSED)
}
