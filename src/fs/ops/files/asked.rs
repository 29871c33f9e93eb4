//! What is asked before a request: whether it may take long.

use crate::fs::base::Fs;
use crate::fs::handles::table;
use crate::fs::kinds::attribute;
use crate::fs::shown::entry;
use crate::tree::place::Place;

/// Whether the kernel has notices to take.
pub fn has_notices(fs: &Fs) -> bool {
    fs.invalidations.are_pending()
}

/// Whether a look at a name of a directory, or into the directory without one, waits for files that are just being closed.
/// It may be said of names that do not.
pub fn waits_for_closing(fs: &Fs, dir: u64, name: &[u8]) -> bool {
    let shows_history = || fs.nodes.get(dir).is_some_and(|dir| entry::shows_history(&dir.key()));
    fs.closing.are_any() && (name.contains(&b'@') || name == b".history" || shows_history())
}

/// Whether a directory is a family's of a row: what is changed in it are cells alone.
pub fn holds_cells(fs: &Fs, ino: u64) -> bool {
    fs.nodes.get(ino).is_some_and(|node| matches!(node.key().place, Place::Family(_)))
}

/// Whether an open file is one of the catalogue's, or another that is generated.
pub fn is_text(fs: &Fs, handle: u64) -> bool {
    matches!(fs.handles.get(handle), Ok(table::Handle::Text(_)))
}

/// Whether a read of an open file may take long: it is made while it is read.
pub fn is_made_by_reads(fs: &Fs, handle: u64) -> bool {
    matches!(fs.handles.get(handle), Ok(table::Handle::Text(text)) if text.streams.is_some())
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
