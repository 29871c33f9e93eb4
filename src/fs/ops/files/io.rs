//! read(2) and write(2).

use crate::fs::base::{Fs, not_permitted};
use crate::fs::handles::table::Handle;
use crate::fs::kinds::judge::{Limits, becomes_cells};
use crate::fs::session::commit::NOTICE_PATIENCE;
use crate::fs::session::told::gone;
use crate::fs::shown::known::stale;
use crate::tree::place::Place;
use crate::{ErrorKind, Result};

impl Fs {
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
}
