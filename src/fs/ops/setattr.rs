//! Changing attributes: length, mtime, mode and owner.

use std::sync::Arc;
use std::time::Duration;

use crate::fs::base::Fs;
use crate::fs::handles::table::{FileHandle, Handle};
use crate::fs::kinds::history;
use crate::fs::kinds::text;
use crate::fs::nodes::modes::Modes;
use crate::fs::nodes::node::{Node, NodeState};
use crate::fs::ops::attr;
use crate::fs::ops::files::open::new_file;
use crate::fs::requests::writable;
use crate::fs::session::commit;
use crate::fs::session::load;
use crate::fs::session::moving;
use crate::fs::session::refused;
use crate::fs::session::told;
use crate::fs::session::write;
use crate::fs::shown::access;
use crate::fs::shown::access::without_privileges;
use crate::fs::shown::attr::Attr;
use crate::fs::shown::kernel;
use crate::model::{AttributeChange, CatalogueChange, FileChange, FileTime, Origin};
use crate::tree::facts;
use crate::tree::place::{NodeKey, Place, SchemaPlace};
use crate::tree::schema::texts as schema;
use crate::{Error, ErrorKind, Result};

/// What is to be changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SetAttr {
    pub size: Option<u64>,
    pub atime: Option<FileTime>,
    pub file: FileChange,
    /// The open handle through which it is asked.
    pub handle: Option<u64>,
}

/// Applies the changes; the attributes afterwards.
pub fn setattr(fs: &Fs, ino: u64, change: SetAttr) -> Result<(Attr, Duration)> {
    let node = fs.node(ino)?;
    let key = node.key();
    if change.size.is_some() || !change.file.is_empty() {
        writable::check_writable(fs, &key)?;
    }
    note_times(fs, &node, change);
    if !key.place.is_value() {
        return setattr_other(fs, &node, change);
    }
    if let Some(size) = change.size {
        truncate(fs, &node, size, change.handle)?;
    }
    let news = news(fs, &node, &change)?;
    if !news.is_empty() {
        set_kept(fs, &node, news)?;
    }
    attr::getattr(fs, ino)
}

fn setattr_other(fs: &Fs, node: &Arc<Node>, change: SetAttr) -> Result<(Attr, Duration)> {
    if let Some(size) = change.size {
        truncate_text(fs, node, size, change.handle)?;
    }
    let FileChange { mtime, .. } = change.file;
    match (mtime, node.key().place) {
        (Some(mtime), Place::Schema(place)) if !place.is_dir() => set_attribute_mtime(fs, node, &place, mtime)?,
        (mtime, place) if place.is_dir() => {
            let mut state = node.state();
            let is_kept = !state.unlinked && Modes::holds(&node.key());
            let times = state.times_mut();
            times.mtime = mtime.or(times.mtime);
            let access = FileChange { mtime: None, ..change.file };
            match is_kept {
                true => fs.modes.change(&node.key(), access)?,
                false => times.access = times.access.and(access),
            }
        }
        // Generated files have the times and modes that they have.
        _ => {}
    }
    attr::getattr(fs, node.ino)
}

/// Every change of attributes, also one that is not kept, is a change of the file: at no later time than is kept.
fn note_times(fs: &Fs, node: &Node, change: SetAttr) {
    let now = fs.time_of_change();
    let mut state = node.state();
    let times = state.times_mut();
    times.atime = change.atime.or(times.atime);
    // Names are touched between two milliseconds, too.
    times.ctime = times.ctime.max(Some(now));
}

/// posix_fallocate(3): the file has at least `end` bytes afterwards, and there is room now.
pub fn grow(fs: &Fs, ino: u64, handle: u64, end: u64) -> Result<()> {
    if attr::getattr(fs, ino)?.0.size < end {
        if end > fs.tree.backend.value_limit() {
            // What was written stays: who asks for room ahead goes on without it.
            return Err(writable::too_large(fs));
        }
        let Handle::File(file) = fs.handles.get(handle)? else {
            return Err(Error::new(ErrorKind::Unsupported, "a generated file has no room that could be kept for it"));
        };
        if !matches!(file.node.key().place, Place::Scratch(_)) {
            fs.tree.backend.check_room()?;
        }
        setattr(fs, ino, SetAttr { size: Some(end), handle: Some(handle), ..SetAttr::default() })?;
    }
    Ok(())
}

/// ftruncate(2) writes through its handle; truncate(2) by path is one Put of its own.
fn truncate(fs: &Fs, node: &Arc<Node>, size: u64, handle: Option<u64>) -> Result<()> {
    let open = handle.and_then(|number| fs.handles.file(number).ok());
    if size > fs.tree.backend.value_limit() {
        if let Some(file) = open {
            refused::refuse(fs, &file, &mut node.state(), ErrorKind::ValueTooLarge)?;
        }
        return Err(writable::too_large(fs));
    }
    if let Some(file) = open {
        return resize(fs, &file, &mut node.state(), size);
    }
    let key = node.key();
    writable::check_family(fs, &key)?;
    let file = new_file(node);
    let mut state = node.state();
    told::check_named(&state)?;
    resize(fs, &file, &mut state, size)?;
    let done = commit::commit_last(fs, &file, &mut state);
    drop(state);
    if let Err(e) = &done {
        commit::show_what_is_stored(fs, node, e.kind);
    }
    done
}

fn resize(fs: &Fs, file: &FileHandle, state: &mut NodeState, size: u64) -> Result<()> {
    check_intact(file, size)?;
    let stored = state.cell.as_ref().and_then(|cell| cell.tags.file.mode());
    let session = write::session(fs, &file.node, state)?;
    if size > 0 {
        session.check_kept()?;
    }
    access::end_privileges(fs, file.node.ino, session, stored);
    let before = session.content.len();
    let resized = load::beyond(fs, &file.node.key().place, |beyond| session.content.resize(size, beyond));
    if let Err(e) = resized {
        // What others make of the file is to be seen, where nothing of it waits here.
        state.end_idle_session();
        return Err(e);
    }
    (session.appends, session.lost) = (None, None);
    session.change_from(size.min(before));
    session.file.mtime = None;
    session.note_change(fs.time_of_change());
    write::mark_written(session, file);
    // Whoever goes back to what was there before what was refused knows what he has.
    file.state.lock().failed = None;
    Ok(())
}

/// Refuses a length with which bytes would count that were taken before another write was refused: they are gone.
fn check_intact(file: &FileHandle, size: u64) -> Result<()> {
    let own = file.state.lock();
    if size > own.intact { own.check_failed() } else { Ok(()) }
}

/// With the value where that is still to be written, else at once.
fn set_attribute_mtime(fs: &Fs, node: &Arc<Node>, place: &SchemaPlace, mtime: FileTime) -> Result<()> {
    let catalogue = fs.tree.backend.catalogue()?;
    node.state().text_mtime = Some(mtime);
    fs.texts.set_mtime(place, mtime);
    let is_set = facts::at(&fs.tree, &NodeKey::plain(Place::Schema(Arc::new(place.clone()))))?.is_some();
    match schema::attribute_key(&catalogue, place) {
        Some(key) if is_set => {
            let change = CatalogueChange::SetAttributeTime { key, time: mtime };
            fs.tree.backend.alter(change, Origin(node.ino))
        }
        _ => Ok(()),
    }
}

fn truncate_text(fs: &Fs, node: &Arc<Node>, size: u64, handle: Option<u64>) -> Result<()> {
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    match handle.map(|number| fs.handles.get(number)).transpose()? {
        Some(Handle::Text(text)) => text::truncate(&text, size),
        _ => text::truncate_closed_text(fs, node, size),
    }
}

/// A change of attributes without what is so already. A new owner ends the bits with which it would be run as
/// the old one.
fn news(fs: &Fs, node: &Arc<Node>, change: &SetAttr) -> Result<FileChange> {
    let asked = change.file;
    if asked.mode.is_none() && asked.uid.is_none() && asked.gid.is_none() {
        return Ok(asked);
    }
    let is = attr::getattr(fs, node.ino)?.0;
    let owned = asked.uid.is_some() || asked.gid.is_some();
    let killed = if owned { without_privileges(is.mode).filter(|_| !node.key().place.is_dir()) } else { None };
    Ok(FileChange {
        mtime: asked.mtime,
        mode: asked.mode.or(killed).filter(|mode| *mode != is.mode),
        uid: asked.uid.filter(|uid| *uid != is.uid),
        gid: asked.gid.filter(|gid| *gid != is.gid),
    })
}

/// With the next commit where one is due, else as a small record beside the version.
fn set_kept(fs: &Fs, node: &Arc<Node>, change: FileChange) -> Result<()> {
    let mut state = node.state();
    if let Some(session) = &mut state.session {
        session.file = session.file.and(change);
        if session.dirty_handles > 0 || state.unlinked {
            return Ok(());
        }
    }
    if let Place::Scratch(place) = &node.key().place {
        return fs.scratch.change(place, |meta| meta.file = meta.file.and(change));
    }
    let gone = || Error::new(ErrorKind::NotFound, "the cell is not there any more");
    let cell = told::current(fs, node, &mut state)?.ok_or_else(gone)?;
    let change = AttributeChange { file: change, ttl_ms: None };
    let changed = history::set_version_attributes(fs, &node.key(), &cell, &change, Origin(node.ino))?;
    moving::follow_change(fs, node, &cell, &changed);
    state.cell = Some(Box::new(changed));
    drop(state);
    if let Place::Version(column, _) = &node.key().place {
        kernel::drop_attributes(fs, column);
    }
    Ok(())
}
