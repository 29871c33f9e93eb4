//! How the bytes of a batch reach a segment: its buffer, and spilled values at their places between.
//!
//! Must not know which segment is written, nor what happens when a write fails.

use std::os::unix::fs::FileExt;

use super::entry::{Entry, HeadParts, head_len, put_head};
use super::log::NewCell;
use super::record::RECORD_HEADER;
use super::value::{Codec, Source};
use crate::env::EnvFile;
use crate::model::{SeqNo, ValueHandle};

/// Bytes that are copied at once.
const BUFFER: usize = 1 << 20;

/// A cell as its head has it.
pub(super) fn parts<'a>(cell: &'a NewCell<'_>, seq: SeqNo, shared: Option<ValueHandle>) -> HeadParts<'a> {
    HeadParts {
        family: cell.family,
        row: cell.row,
        qualifier: &cell.qualifier,
        timestamp: cell.timestamp,
        kind: cell.kind,
        seq,
        tags: &cell.tags,
        codec: cell.value.codec,
        len: cell.value.len,
        stored_len: cell.value.stored_len,
        shared,
        chunks: &cell.value.chunks,
    }
}

/// Head of an entry whose value is another's.
pub(super) fn share_parts<'a>(entry: &'a Entry, value: &ValueHandle) -> HeadParts<'a> {
    HeadParts {
        family: entry.family,
        row: &entry.row,
        qualifier: &entry.qualifier,
        timestamp: entry.timestamp,
        kind: entry.kind,
        seq: entry.seq,
        tags: &entry.tags,
        codec: Codec::None,
        len: value.len,
        stored_len: 0,
        shared: Some(*value),
        chunks: &[],
    }
}

/// Bytes of the entry of a cell whose value is another's.
pub fn share_len(entry: &Entry, value: &ValueHandle) -> u32 {
    put_head(&mut Vec::new(), &share_parts(entry, value)).0
}

fn streamed_len(cells: &[NewCell<'_>]) -> u64 {
    let spilled = cells.iter().filter(|c| matches!(c.value.source, Source::Spilled(_)));
    spilled.map(|c| u64::from(c.value.stored_len)).sum()
}

/// Bytes of a record whose buffer is full.
pub(super) fn record_len(buffer: &[u8], cells: &[NewCell<'_>]) -> u64 {
    buffer.len() as u64 + streamed_len(cells)
}

/// Writes the buffer, with the bytes of spilled values at their places.
pub(super) fn write_record(
    out: &dyn EnvFile,
    buffer: &[u8],
    offset: u64,
    cells: &[NewCell<'_>],
) -> std::io::Result<()> {
    if streamed_len(cells) == 0 {
        return out.write_at(buffer, offset);
    }
    let mut at = offset;
    let mut rest = buffer;
    let mut taken = RECORD_HEADER;
    for cell in cells {
        // The head's own length stands in its opening.
        taken += head_len(&rest[taken..]).unwrap_or_default();
        match &cell.value.source {
            Source::Bytes(bytes) => taken += bytes.len(),
            Source::Shared(_) => {}
            Source::Spilled(file) => {
                out.write_at(&rest[..taken], at)?;
                at += taken as u64;
                rest = &rest[taken..];
                taken = 0;
                at = copy_spilled(file, cell.value.stored_len, out, at)?;
            }
        }
    }
    out.write_at(rest, at)
}

fn copy_spilled(from: &std::fs::File, len: u32, to: &dyn EnvFile, at: u64) -> std::io::Result<u64> {
    let mut buffer = vec![0; BUFFER.min(len as usize)];
    let mut done = 0u64;
    while done < u64::from(len) {
        let part = buffer.len().min((u64::from(len) - done) as usize);
        from.read_exact_at(&mut buffer[..part], done)?;
        to.write_at(&buffer[..part], at + done)?;
        done += part as u64;
    }
    Ok(at + done)
}
