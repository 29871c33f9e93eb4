//! The bytes of a version, to be changed, and where they go when they are too many for memory.

use crate::fs::base::Fs;
use crate::fs::bytes::content::{Beyond, Content, MEMORY_MAX};
use crate::model::CellInfo;
use crate::tree::place::Place;
use crate::{Error, ErrorKind, Result};

/// Bytes copied at once from a stored value into a write session.
const COPY_PIECE: usize = 1 << 20;
/// Of a longer version a session begins as a draft, if the backend makes one.
const DRAFTED: u64 = 16 << 10;

/// The bytes of a version, to be changed: a large one stays where it is.
pub fn load(fs: &Fs, place: &Place, cell: &CellInfo) -> Result<Content> {
    if cell.len() > DRAFTED
        && let Some(column) = place.column()
        && let Some(draft) = fs.tree.backend.draft(&column.table, &column.family, Some(cell))?
    {
        return Ok(Content::Drafted(draft));
    }
    if cell.len() <= MEMORY_MAX {
        return Ok(Content::of(fs.tree.backend.read_value(cell, 0, cell.len() as usize)?));
    }
    let beyond = Beyond::spilled(&fs.options.spill_dir);
    let (mut content, mut offset) = (Content::of_len(cell.len(), &beyond)?, 0);
    while offset < cell.len() {
        let piece = fs.tree.backend.read_value(cell, offset, COPY_PIECE)?;
        if piece.is_empty() {
            return Err(Error::new(ErrorKind::Corrupt, "a stored value ends too early"));
        }
        content.write(offset, &piece, &beyond)?;
        offset += piece.len() as u64;
    }
    Ok(content)
}

/// Tells `write` where bytes of a file go that are too many for memory.
pub fn beyond<T>(fs: &Fs, place: &Place, write: impl FnOnce(&Beyond<'_>) -> Result<T>) -> Result<T> {
    let draft = || match place.column() {
        Some(column) => fs.tree.backend.draft(&column.table, &column.family, None),
        None => Ok(None),
    };
    write(&Beyond { draft: &draft, spill_dir: &fs.options.spill_dir })
}
