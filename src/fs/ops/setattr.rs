//! Changing attributes: length, mtime, mode and owner.

use std::sync::Arc;
use std::time::Duration;

use crate::fs::base::Fs;
use crate::fs::handles::table::{FileHandle, Handle};
use crate::fs::nodes::modes::Modes;
use crate::fs::nodes::node::{Node, NodeState};
use crate::fs::ops::files::open::new_file;
use crate::fs::shown::access::without_privileges;
use crate::fs::shown::attr::Attr;
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

impl Fs {
    /// Applies the changes; the attributes afterwards.
    pub fn setattr(&self, ino: u64, change: SetAttr) -> Result<(Attr, Duration)> {
        let node = self.node(ino)?;
        let key = node.key();
        if change.size.is_some() || !change.file.is_empty() {
            self.check_writable(&key)?;
        }
        self.note_times(&node, change);
        if !key.place.is_value() {
            return self.setattr_other(&node, change);
        }
        if let Some(size) = change.size {
            self.truncate(&node, size, change.handle)?;
        }
        let news = self.news(&node, &change)?;
        if !news.is_empty() {
            self.set_kept(&node, news)?;
        }
        self.getattr(ino)
    }

    fn setattr_other(&self, node: &Arc<Node>, change: SetAttr) -> Result<(Attr, Duration)> {
        if let Some(size) = change.size {
            self.truncate_text(node, size, change.handle)?;
        }
        let FileChange { mtime, .. } = change.file;
        match (mtime, node.key().place) {
            (Some(mtime), Place::Schema(place)) if !place.is_dir() => self.set_attribute_mtime(node, &place, mtime)?,
            (mtime, place) if place.is_dir() => {
                let mut state = node.state();
                let is_kept = !state.unlinked && Modes::holds(&node.key());
                let times = state.times_mut();
                times.mtime = mtime.or(times.mtime);
                let access = FileChange { mtime: None, ..change.file };
                match is_kept {
                    true => self.modes.change(&node.key(), access)?,
                    false => times.access = times.access.and(access),
                }
            }
            // Generated files have the times and modes that they have.
            _ => {}
        }
        self.getattr(node.ino)
    }

    /// Every change of attributes, also one that is not kept, is a change of the file.
    fn note_times(&self, node: &Node, change: SetAttr) {
        let now = self.now();
        let mut state = node.state();
        let times = state.times_mut();
        times.atime = change.atime.or(times.atime);
        times.ctime = Some(now);
    }

    /// posix_fallocate(3): the file has at least `end` bytes afterwards, and there is room now.
    pub fn grow(&self, ino: u64, handle: u64, end: u64) -> Result<()> {
        if self.getattr(ino)?.0.size < end {
            if !matches!(self.handles.file(handle)?.node.key().place, Place::Scratch(_)) {
                self.tree.backend.check_room()?;
            }
            self.setattr(ino, SetAttr { size: Some(end), handle: Some(handle), ..SetAttr::default() })?;
        }
        Ok(())
    }

    /// ftruncate(2) writes through its handle; truncate(2) by path is one Put of its own.
    pub(in crate::fs) fn truncate(&self, node: &Arc<Node>, size: u64, handle: Option<u64>) -> Result<()> {
        let open = handle.and_then(|number| self.handles.file(number).ok());
        if size > self.tree.backend.value_limit() {
            if let Some(file) = open {
                let mut state = node.state();
                self.mark_written(self.session(node, &mut state)?, &file);
                file.state.lock().failed = Some(ErrorKind::ValueTooLarge);
            }
            return Err(self.too_large());
        }
        if let Some(file) = open {
            return self.resize(&file, &mut node.state(), size);
        }
        let key = node.key();
        self.check_family(&key)?;
        let file = new_file(node);
        let mut state = node.state();
        self.resize(&file, &mut state, size)?;
        let done = self.commit_last(&file, &mut state);
        drop(state);
        if let Err(e) = &done {
            self.show_what_is_stored(node, e.kind);
        }
        done
    }

    pub(in crate::fs) fn resize(&self, file: &FileHandle, state: &mut NodeState, size: u64) -> Result<()> {
        let stored = state.cell.as_ref().and_then(|cell| cell.tags.file.mode());
        let session = self.session(&file.node, state)?;
        self.end_privileges(session, stored);
        self.beyond(&file.node.key().place, |beyond| session.content.resize(size, beyond))?;
        session.appends = None;
        session.file.mtime = None;
        session.changed_at = self.time_of_change();
        self.mark_written(session, file);
        // Whoever says how long it is knows what he has.
        file.state.lock().failed = None;
        Ok(())
    }

    /// With the value where that is still to be written, else at once.
    fn set_attribute_mtime(&self, node: &Arc<Node>, place: &SchemaPlace, mtime: FileTime) -> Result<()> {
        let catalogue = self.tree.backend.catalogue()?;
        node.state().text_mtime = Some(mtime);
        self.texts.set_mtime(place, mtime);
        let is_set = facts::at(&self.tree, &NodeKey::plain(Place::Schema(Arc::new(place.clone()))))?.is_some();
        match schema::attribute_key(&catalogue, place) {
            Some(key) if is_set => {
                let change = CatalogueChange::SetAttributeTime { key, time: mtime };
                self.tree.backend.alter(change, Origin(node.ino))
            }
            _ => Ok(()),
        }
    }

    fn truncate_text(&self, node: &Arc<Node>, size: u64, handle: Option<u64>) -> Result<()> {
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        match handle.map(|number| self.handles.get(number)).transpose()? {
            Some(Handle::Text(text)) => crate::fs::kinds::text::truncate(&text, size),
            _ => self.truncate_closed_text(node, size),
        }
    }

    /// A change of attributes without what is so already. A new owner ends the bits with which it would be run as
    /// the old one.
    fn news(&self, node: &Arc<Node>, change: &SetAttr) -> Result<FileChange> {
        let asked = change.file;
        if asked.mode.is_none() && asked.uid.is_none() && asked.gid.is_none() {
            return Ok(asked);
        }
        let is = self.getattr(node.ino)?.0;
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
    fn set_kept(&self, node: &Arc<Node>, change: FileChange) -> Result<()> {
        let mut state = node.state();
        if let Some(session) = &mut state.session {
            session.file = session.file.and(change);
            if session.dirty_handles > 0 || state.unlinked {
                return Ok(());
            }
        }
        if let Place::Scratch(place) = &node.key().place {
            return self.scratch.change(place, |meta| meta.file = meta.file.and(change));
        }
        let gone = || Error::new(ErrorKind::NotFound, "the cell is not there any more");
        let cell = self.current(node, &mut state)?.ok_or_else(gone)?;
        let change = AttributeChange { file: change, ttl_ms: None };
        let changed = self.set_version_attributes(&node.key(), &cell, &change, Origin(node.ino))?;
        state.cell = Some(Box::new(changed));
        Ok(())
    }
}
