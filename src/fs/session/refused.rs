//! A handle of which a write was refused: what it has written is a part of a value, and nothing of it is stored.

use std::sync::Arc;

use crate::fs::base::Fs;
use crate::fs::bytes::content::{Content, Session};
use crate::fs::handles::table::FileHandle;
use crate::fs::nodes::node::NodeState;
use crate::fs::session::{load, moving, write};
use crate::fs::shown::{expiry, kernel};
use crate::tree::place::Place;
use crate::{ErrorKind, Result};

/// Refuses all that follows. The file is what is stored again, unless others have written to it as well: whoever reads it
/// or goes on with it has nothing of this, and its room goes back. A file without a name stays as it is, since nobody
/// stores it, and may be written when there is room.
pub fn refuse(fs: &Fs, file: &Arc<FileHandle>, state: &mut NodeState, kind: ErrorKind) -> Result<()> {
    if state.unlinked && !state.expired {
        return Ok(());
    }
    let goes_on = |other: &Arc<FileHandle>| !Arc::ptr_eq(other, file) && other.is_dirty() && !other.has_failed();
    let is_shared = moving::files_of(fs, &file.node).iter().any(goes_on);
    let stored = state.cell.as_deref().filter(|cell| expiry::is_fresh(fs, cell)).cloned();
    let session = write::session(fs, &file.node, state)?;
    write::mark_written(session, file);
    let place = file.node.key().place;
    let stays = is_shared || matches!(place, Place::Scratch(_));
    {
        let mut own = file.state.lock();
        (own.failed, own.intact) = (Some(kind), if stays { u64::MAX } else { session.changed_from });
    }
    if stays {
        return Ok(());
    }
    let anew = match &stored {
        Some(cell) => {
            let content = load::load(fs, &place, cell)?;
            let (appends, base) = (Some(content.len()), Some((cell.timestamp, cell.seq)));
            Session { appends, base, ..Session::new(content, cell.mtime()) }
        }
        None => Session::new(Content::empty(), session.changed_at),
    };
    // What was set beside the bytes was acknowledged.
    let Session { dirty_handles, file: set, ttl_ms, .. } = *session;
    *session = Session { dirty_handles, file: set, ttl_ms, ..anew };
    file.node.mark_pages_old();
    kernel::invalidate_inode(fs, file.node.ino);
    Ok(())
}
