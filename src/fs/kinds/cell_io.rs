//! Opening, creating, reading, writing and closing files.

use std::sync::Arc;
use std::time::Duration;

use crate::fs::bytes::content::{Content, Session};
use crate::fs::handles::table::{FileHandle, FileState, Handle, OpenFlags, Opened};
use crate::fs::kinds::judge::{Limits, becomes_cells, no_family};
use crate::fs::nodes::node::{Node, NodeState};
use crate::fs::nodes::running::Running;
use crate::fs::session::commit::NOTICE_PATIENCE;
use crate::fs::session::write::gone;
use crate::fs::views::snapshots::stale;
use crate::fs::{Creator, EntryReply, Fs, not_permitted};
use crate::model::{FileChange, TableSchema};
use crate::tree::place::{NodeKey, Place};
use crate::tree::resolve;
use crate::tree::view::View;
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
    fn empty(&self, state: &mut NodeState, file: &FileHandle, appends: Option<u64>) {
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

    /// Creates a file, or opens the one that is there.
    pub fn create(&self, parent: u64, name: &[u8], creator: Creator, flags: OpenFlags) -> Result<(EntryReply, Opened)> {
        let dir = self.node(parent)?.key();
        crate::fs::counts::subject::is_named(name);
        self.check_writable(&dir)?;
        let key = resolve::target(&*self.tree_of(&dir)?, &dir, name)?;
        self.check_writable(&key)?;
        if !key.place.is_value() {
            return self.create_text(&key, flags);
        }
        let family_ttl = self.check_family(&key)?;
        if let Some(entry) = self.known(&key)? {
            if flags.exclusive {
                self.forget(entry.attr.ino, 1);
                return Err(Error::new(ErrorKind::AlreadyExists, "it exists"));
            }
            let opened = self.open(entry.attr.ino, flags).inspect_err(|_| self.forget(entry.attr.ino, 1))?;
            return Ok((entry, opened));
        }
        if let Some(sentence) = self.check_dated(&dir, &key, name)? {
            self.record_sentence(creator.caller, "create", &sentence);
        }
        if !matches!(key.place, Place::Scratch(_)) {
            self.tree.backend.check_room()?;
        }
        self.touch_directory(parent);
        self.absent.remove(parent, name);
        let node = self.nodes.look_up(&key);
        let file = new_file(&node);
        {
            let mut state = node.state();
            (state.unlinked, state.refused, state.cell) = (false, None, None);
            // Who appends to a file that was not there keeps what another makes of it meanwhile.
            self.empty(&mut state, &file, flags.append.then_some(0));
            if let Some(session) = &mut state.session {
                session.file = self.by_creator(&key, creator);
            }
        }
        match &key.place {
            Place::Cell(column) => self.tree.uncommitted.add_cell(column),
            Place::Scratch(place) => {
                self.scratch.write(place, &Content::empty(), &self.scratch_meta(node.state().session.as_deref()))?
            }
            _ => {}
        }
        let handle = self.handles.add(Handle::File(file)).inspect_err(|_| self.forget(node.ino, 1))?;
        let state = node.state();
        let attr = self.attr_of(&node, &key, &state, None);
        let is_cell = key.view == View::Plain && matches!(key.place, Place::Cell(_));
        let cached = if is_cell { self.options.cache_time } else { Duration::ZERO };
        let entry_ttl = family_ttl.map_or(cached, |ttl| ttl.min(cached));
        let entry = EntryReply { attr, entry_ttl, attr_ttl: Duration::ZERO };
        Ok((entry, Opened { handle, keep_cache: true, no_flush: false, direct: false }))
    }

    /// mknod(2): only regular files, as `create` makes them.
    pub fn mknod(&self, parent: u64, name: &[u8], creator: Creator) -> Result<EntryReply> {
        if creator.mode & libc::S_IFMT != libc::S_IFREG {
            self.node(parent)?;
            crate::fs::counts::subject::is_named(name);
            return Err(not_permitted("a cell is a regular file; nothing else can be made"));
        }
        let flags = OpenFlags { write: true, exclusive: true, ..OpenFlags::default() };
        let (entry, opened) = self.create(parent, name, creator, flags)?;
        self.release(opened.handle)?;
        Ok(entry)
    }

    /// Refuses early what a commit would refuse: no such family, table read-only or disabled. The family's TTL.
    pub(in crate::fs) fn check_family(&self, key: &NodeKey) -> Result<Option<Duration>> {
        let Some(column) = key.place.column() else { return Ok(None) };
        let catalogue = self.tree.backend.catalogue()?;
        let table = catalogue.tables.get(&column.table);
        let table = table.ok_or_else(|| Error::new(ErrorKind::NoSuchTable, format!("no table {}", column.table)))?;
        let Some(family) = table.families.get(&column.family) else { return Err(no_family(column)) };
        if !self.restores(key) {
            refuse_read_only(table)?;
        }
        if table.state == crate::model::TableState::Disabled {
            return Err(Error::new(ErrorKind::TableDisabled, format!("table {} is disabled", column.table)));
        }
        Ok(family.rules.ttl_ms.map(Duration::from_millis))
    }

    /// Refuses early a directory or a generated file of a row whose table takes no writes.
    pub(in crate::fs) fn check_row_table(&self, key: &NodeKey) -> Result<()> {
        let is_of_row = matches!(key.place, Place::Row(_) | Place::Family(_) | Place::Counter(_) | Place::Json(_));
        let Some(name) = key.place.table().filter(|_| is_of_row && !self.restores(key)) else { return Ok(()) };
        self.tree.backend.catalogue()?.tables.get(name).map_or(Ok(()), refuse_read_only)
    }

    /// At most `len` bytes from `offset`.
    pub fn read(&self, number: u64, offset: u64, len: usize) -> Result<Vec<u8>> {
        let file = match self.handles.get(number)? {
            Handle::File(file) => file,
            Handle::Text(text) => return self.read_text(&text, offset, len),
            Handle::Dir(_) => return Err(not_permitted("a directory is not read as a file")),
        };
        let cell = {
            let mut state = file.node.state();
            if matches!(file.node.key().place, Place::Scratch(_)) {
                self.session(&file.node, &mut state)?;
            }
            if let Some(session) = &mut state.session {
                return session.content.read(offset, len);
            }
            let cell = self.version_to_read(&file, offset, &mut state)?;
            if let Some(session) = &mut state.session {
                return session.content.read(offset, len);
            }
            cell
        };
        let key = file.node.key();
        let cell = cell.ok_or_else(gone).map_err(|e| stale(&key, e))?;
        // Order: without the node's lock, so that a slow read stops nobody.
        let backend = self.tree_of_open(&key)?.backend.clone();
        match backend.read_value(&cell, offset, len) {
            Err(e) if e.kind == ErrorKind::NotFound && key.snapshot.is_none() => {
                let cell = self.look_again(&file.node, &mut file.node.state())?;
                backend.read_value(&cell, offset, len)
            }
            read => read.map_err(|e| stale(&key, e)),
        }
    }

    /// Writes into the node's session, at its end if `append`; returns the number of bytes taken.
    pub fn write(&self, number: u64, offset: u64, data: &[u8], append: bool) -> Result<u32> {
        let file = match self.handles.get(number)? {
            Handle::File(file) => file,
            Handle::Text(text) => {
                crate::fs::counts::subject::is(&text.node);
                let place = text.node.key().place;
                // Order: before the text's lock, as it may wait.
                let room = if becomes_cells(&place) { self.tree.backend.check_room() } else { Ok(()) };
                if let Some(intake) = &text.takes {
                    let taken = intake.write((!append).then_some(offset), data, room);
                    // What the kernel is told of it does not pile up; all of it is told at close.
                    self.invalidations.settle_many(NOTICE_PATIENCE);
                    return taken;
                }
                text.check_refused(offset)?;
                self.judge_text(&place, offset, data).inspect_err(|e| text.refuse(e.kind))?;
                let (catalogue, value) = (self.tree.backend.catalogue()?, self.tree.backend.value_limit());
                let limits = Limits { catalogue: &catalogue, value, room };
                let taken = crate::fs::kinds::text::write(&text, offset, data, &limits)?;
                return self.declare_check(&text).inspect_err(|e| text.refuse(e.kind)).map(|()| taken);
            }
            Handle::Dir(_) => return Err(not_permitted("a directory is not written as a file")),
        };
        crate::fs::counts::subject::is(&file.node);
        self.closing.ended(number);
        let key = file.node.key();
        let scratch = matches!(key.place, Place::Scratch(_));
        // Order: before the node's lock, as it may wait.
        let has_room = if scratch { Ok(()) } else { self.tree.backend.check_room() };
        let mut state = file.node.state();
        let stored = state.cell.as_ref().and_then(|cell| cell.tags.file.mode());
        file.state.lock().check_failed()?;
        let session = self.session(&file.node, &mut state)?;
        self.end_privileges(session, stored);
        let at = if append { session.content.len() } else { offset };
        if at != offset {
            // The kernel knew an older length, and keeps the bytes at the wrong place.
            self.invalidate_inode(file.node.ino);
        }
        let offset = at;
        session.appends = session.appends.filter(|_| append);
        let fits = offset.saturating_add(data.len() as u64) <= self.tree.backend.value_limit() || data.is_empty();
        let fits = has_room.and_then(|()| if fits { Ok(()) } else { Err(self.too_large()) });
        let fits = fits.and_then(|()| self.judge_write(&key, &mut session.content, offset, data));
        let taken = fits.and_then(|()| self.beyond(&key.place, |beyond| session.content.write(offset, data, beyond)));
        session.file.mtime = None;
        session.changed_at = self.time_of_change();
        self.mark_written(session, &file);
        file.state.lock().failed = taken.as_ref().err().map(|e| e.kind);
        if taken.as_ref().is_err_and(|e| e.kind == ErrorKind::NoSpace) && session.dirty_handles == 1 {
            // Others need the room, and this is never stored.
            session.content.give_up();
        }
        taken?;
        Ok(u32::try_from(data.len()).unwrap_or(u32::MAX))
    }

    pub(in crate::fs) fn too_large(&self) -> Error {
        let (limit, set_by) = (self.tree.backend.value_limit(), self.tree.backend.value_limit_is());
        let text = format!("a value has at most {limit} bytes here ({set_by})");
        Error::new(ErrorKind::ValueTooLarge, text)
    }

    /// The handle has something to commit from now on.
    pub(in crate::fs) fn mark_written(&self, session: &mut Session, file: &FileHandle) {
        let mut own = file.state.lock();
        if !own.written && !own.emptied {
            session.dirty_handles += 1;
        }
        own.written = true;
        own.refused = None;
    }

    /// The last use of a handle: what is left is committed.
    pub fn release(&self, number: u64) -> Result<()> {
        let Some(handle) = self.handles.remove(number) else { return Ok(()) };
        crate::fs::counts::subject::is(handle.node());
        let done = match &handle {
            Handle::File(file) => self.release_file(file),
            Handle::Text(text) => self.release_text(text),
            Handle::Dir(dir) => {
                self.held.forget(&mut dir.cursor.lock().turn);
                Ok(())
            }
        };
        self.nodes.closed(handle.node());
        self.closing.ended(number);
        done
    }

    /// What shows history waits for files of it that are just being closed.
    pub(in crate::fs) fn await_closing(&self, key: &NodeKey) {
        let place = &key.place;
        if matches!(place, Place::Versions(_) | Place::Version(..)) || key.view == View::History {
            self.closing.wait(|column| place.column().is_none_or(|of| **of == *column));
        }
    }

    fn release_file(&self, file: &Arc<FileHandle>) -> Result<()> {
        let was_dirty = file.is_dirty();
        let mut state = file.node.state();
        let refused = file.state.lock().refused;
        let done = match refused {
            Some(kind) => give_up(&mut state, kind),
            None => self.commit_last(file, &mut state),
        };
        drop(state);
        if let Err(e) = &done {
            self.show_what_is_stored(&file.node, e.kind);
        }
        // What a flush refused was reported then.
        if was_dirty { done.and_then(|()| self.key_arrived(&file.node.key().place)) } else { done }
    }

    /// The last commit of a handle: what it refuses has nobody left to commit it.
    pub(in crate::fs) fn commit_last(&self, file: &Arc<FileHandle>, state: &mut NodeState) -> Result<()> {
        let done = self.commit(file, state);
        if done.is_err()
            && let Some(session) = &mut state.session
        {
            session.dirty_handles = session.dirty_handles.saturating_sub(1);
        }
        state.end_idle_session();
        done
    }

    /// After a commit that failed: a file that was never stored is gone, one that was has its old bytes again.
    pub(in crate::fs) fn show_what_is_stored(&self, node: &Arc<Node>, refused: ErrorKind) {
        let key = node.key();
        let mut state = node.state();
        if state.session.is_some() || state.unlinked {
            return;
        }
        if let (None, Place::Cell(column)) = (&state.cell, &key.place) {
            (state.unlinked, state.refused) = (true, Some(refused));
            self.tree.uncommitted.remove_cell(column);
            drop(state);
            self.nodes.detach(node);
            self.invalidate_name(&key);
        } else {
            self.invalidate_inode(node.ino);
        }
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

/// The last use of a handle whose close was told that nothing is stored: that stays so, though there is room by now.
fn refuse_read_only(table: &TableSchema) -> Result<()> {
    if !table.read_only() {
        return Ok(());
    }
    let text = format!("table {} is READONLY; set .schema/.table/READONLY to false to write", table.name);
    Err(Error::new(ErrorKind::ReadOnlyTable, text))
}

fn give_up(state: &mut NodeState, refused: ErrorKind) -> Result<()> {
    if let Some(session) = &mut state.session {
        session.dirty_handles = session.dirty_handles.saturating_sub(1);
    }
    state.end_idle_session();
    Err(crate::fs::session::commit::not_stored(refused))
}
