//! read(2) and write(2).

use crate::fs::base::{Fs, not_permitted};
use crate::fs::counts::subject;
use crate::fs::handles::table::{Handle, TextHandle};
use crate::fs::kinds::judge::{Limits, becomes_cells};
use crate::fs::kinds::{attribute, judge, text};
use crate::fs::ops::files::asked::CLOSE_PATIENCE;
use crate::fs::requests::writable;
use crate::fs::session::told::gone;
use crate::fs::session::{load, refused, told, write};
use crate::fs::shown::known::stale;
use crate::fs::shown::{access, kernel, known};
use crate::tree::place::Place;
use crate::{ErrorKind, Result};

/// At most `len` bytes from `offset`.
pub fn read(fs: &Fs, number: u64, offset: u64, len: usize) -> Result<Vec<u8>> {
    let file = match fs.handles.get(number)? {
        Handle::File(file) => file,
        Handle::Text(text) => return text::read_text(fs, &text, offset, len),
        Handle::Dir(_) => return Err(not_permitted("a directory is not read as a file")),
    };
    let cell = {
        let mut state = file.node.state();
        if matches!(file.node.key().place, Place::Scratch(_)) {
            write::session(fs, &file.node, &mut state)?;
        }
        if let Some(session) = &mut state.session {
            return session.read(offset, len);
        }
        let cell = told::version_to_read(fs, &file, (offset, len), &mut state)?;
        if let Some(session) = &mut state.session {
            return session.read(offset, len);
        }
        cell
    };
    let key = file.node.key();
    let cell = cell.ok_or_else(gone).map_err(|e| stale(&key, e))?;
    // Order: without the node's lock, so that a slow read stops nobody.
    let backend = known::tree_of_open(fs, &key)?.backend.clone();
    match backend.read_value(&cell, offset, len) {
        Err(e) if e.kind == ErrorKind::NotFound && key.snapshot.is_none() => {
            let cell = told::look_again(fs, &file.node, &mut file.node.state())?;
            backend.read_value(&cell, offset, len)
        }
        read => read.map_err(|e| stale(&key, e)),
    }
}

/// Writes into the node's session, at its end if `append`; returns the number of bytes taken.
pub fn write(fs: &Fs, number: u64, offset: u64, data: &[u8], append: bool) -> Result<u32> {
    let file = match fs.handles.get(number)? {
        Handle::File(file) => file,
        Handle::Text(text) => return write_text(fs, &text, offset, data, append),
        Handle::Dir(_) => return Err(not_permitted("a directory is not written as a file")),
    };
    subject::is(&file.node);
    fs.closing.ended(number);
    let key = file.node.key();
    let scratch = matches!(key.place, Place::Scratch(_));
    // Order: before the node's lock, as it may wait.
    let has_room = if scratch { Ok(()) } else { fs.tree.backend.check_room() };
    let mut state = file.node.state();
    let stored = state.cell.as_ref().and_then(|cell| cell.tags.file.mode());
    file.state.lock().check_failed()?;
    let session = write::session(fs, &file.node, &mut state)?;
    if !append {
        session.check_kept()?;
    }
    access::end_privileges(fs, file.node.ino, session, stored);
    let at = if append { session.content.len() } else { offset };
    if at != offset {
        // The kernel knew an older length, and keeps the bytes at the wrong place.
        kernel::invalidate_inode(fs, file.node.ino);
    }
    let offset = at;
    let appends = session.appends.filter(|_| append);
    let fits = offset.saturating_add(data.len() as u64) <= fs.tree.backend.value_limit() || data.is_empty();
    let fits = has_room.and_then(|()| if fits { Ok(()) } else { Err(writable::too_large(fs)) });
    let fits = fits.and_then(|()| judge::judge_write(fs, &key, &mut session.content, offset, data));
    let taken = fits.and_then(|()| load::beyond(fs, &key.place, |beyond| session.content.write(offset, data, beyond)));
    if let Err(e) = taken {
        // What was appended before stays, and more is taken where there is room again.
        if e.kind != ErrorKind::NoSpace || appends.is_none() {
            refused::refuse(fs, &file, &mut state, e.kind)?;
        }
        // What others make of the file is to be seen, where nothing of it waits here.
        state.end_idle_session();
        return Err(e);
    }
    (session.appends, session.lost) = (appends, None);
    session.change_from(offset);
    session.file.mtime = None;
    if file.node.opens() > 1 {
        session.kept.get_mut().share(fs.tree.backend.now());
    }
    session.note_change(fs.time_of_change());
    write::mark_written(session, &file);
    Ok(u32::try_from(data.len()).unwrap_or(u32::MAX))
}

fn write_text(fs: &Fs, text: &TextHandle, offset: u64, data: &[u8], append: bool) -> Result<u32> {
    subject::is(&text.node);
    let place = text.node.key().place;
    // Order: before the text's lock, as it may wait.
    let room = if becomes_cells(&place) { fs.tree.backend.check_room() } else { Ok(()) };
    if let Some(intake) = &text.takes {
        let taken = intake.write((!append).then_some(offset), data, room);
        // What the kernel is told of it does not pile up; all of it is told at close.
        fs.invalidations.drain_many(CLOSE_PATIENCE);
        return taken;
    }
    text.check_refused(offset)?;
    judge::judge_text(fs, &place, offset, data).inspect_err(|e| text.refuse(e.kind))?;
    let (catalogue, value) = (fs.tree.backend.catalogue()?, fs.tree.backend.value_limit());
    let limits = Limits { catalogue: &catalogue, value, room };
    let taken = text::write(text, offset, data, &limits)?;
    attribute::declare_check(fs, text).inspect_err(|e| text.refuse(e.kind)).map(|()| taken)
}
