//! What is asked before a request: whether it may take long.

use std::time::Duration;

use crossbeam_channel::Receiver;

use crate::fs::base::Fs;
use crate::fs::handles::table;
use crate::fs::kinds::attribute;
use crate::fs::shown::entry;
use crate::tree::asking::question::{Pick, Question};
use crate::tree::place::Place;

/// How long a close(2) waits for the kernel to take its notices. The lock of a directory may hold them up, whose owner
/// waits for room.
pub const CLOSE_PATIENCE: Duration = Duration::from_secs(1);
/// The same of an open(2): the kernel may keep the pages and the size of a version that is old already. Most notices are
/// taken within microseconds.
pub const OPEN_PATIENCE: Duration = Duration::from_millis(50);

/// Tells when the kernel has taken the notices of what was changed; `None`: it has.
pub fn notices_taken(fs: &Fs) -> Option<Receiver<()>> {
    fs.invalidations.are_pending().then(|| fs.invalidations.taken_all())
}

/// Whether a name of a directory may be looked up only once files are released that were just closed.
pub fn name_waits_for_closing(fs: &Fs, dir: u64, name: &[u8]) -> bool {
    fs.closing.are_any() && (name.contains(&b'@') || name == b".history" || shows_history(fs, dir))
}

/// The same of a directory that is opened.
pub fn directory_waits_for_closing(fs: &Fs, dir: u64) -> bool {
    fs.closing.are_any() && shows_history(fs, dir)
}

fn shows_history(fs: &Fs, dir: u64) -> bool {
    fs.nodes.get(dir).is_some_and(|dir| entry::shows_history(&dir.key()))
}

/// Whether a directory is a family's of a row: what is changed in it are cells alone.
pub fn holds_cells(fs: &Fs, ino: u64) -> bool {
    fs.nodes.get(ino).is_some_and(|node| matches!(node.key().place, Place::Family(_)))
}

/// Whether a node is a file, there or not any more.
pub fn is_file(fs: &Fs, ino: u64) -> bool {
    fs.nodes.get(ino).is_some_and(|node| !node.key().place.is_dir())
}

/// Whether an open file is one of the catalogue's, or another that is generated.
pub fn is_text(fs: &Fs, handle: u64) -> bool {
    matches!(fs.handles.get(handle), Ok(table::Handle::Text(_)))
}

/// Whether a read of an open file may take long: it is made while it is read.
pub fn is_made_by_reads(fs: &Fs, handle: u64) -> bool {
    matches!(fs.handles.get(handle), Ok(table::Handle::Text(text)) if text.streams.is_some())
}

/// Whether an open directory is that of a question.
pub fn lists_answer(fs: &Fs, handle: u64) -> bool {
    matches!(fs.handles.get(handle), Ok(table::Handle::Dir(dir)) if dir.node.key().is_question())
}

/// Whether names of a directory are some of an answer, of which all may have to be looked at for one.
pub fn picks(fs: &Fs, dir: u64) -> bool {
    let picks = |asked: &Question| asked.pick() != Pick::All || asked.pick_of_cells() != Pick::All;
    fs.nodes.get(dir).is_some_and(|dir| dir.key().asked.as_deref().is_some_and(picks))
}

/// Whether a write to an open file may take long: it takes a stream, or declares a check of what is stored.
pub fn takes_long(fs: &Fs, handle: u64) -> bool {
    let Ok(table::Handle::Text(text)) = fs.handles.get(handle) else { return false };
    text.takes.is_some() || attribute::declares_check(&text.node.key()).is_some()
}

/// Whether the release of an open file commits something.
pub fn commits_at_release(fs: &Fs, handle: u64) -> bool {
    match fs.handles.get(handle) {
        Ok(table::Handle::File(file)) => {
            let own = file.state.lock();
            (own.written || own.emptied) && own.refused.is_none() && own.failed.is_none()
        }
        Ok(table::Handle::Text(_)) => true,
        _ => false,
    }
}
