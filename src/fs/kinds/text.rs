//! Files whose content is generated or is an attribute: schema files, scratch files beside them, `.info`.
//!
//! What is written is buffered a handle and applied once, when the handle closes.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::bulk::unended_line;
use crate::env::process_of;
use crate::fs::base::Fs;
use crate::fs::bytes::held_text::HeldText;
use crate::fs::counts::subject;
use crate::fs::handles::intake::Intake;
use crate::fs::handles::table::{Handle, OpenFlags, Opened, TextHandle};
use crate::fs::kinds::judge::{Limits, amount, judge};
use crate::fs::kinds::{accesses, attribute, history, import, stream};
use crate::fs::nodes::node::Node;
use crate::fs::requests::{refused, writable};
use crate::fs::shown::known;
use crate::model::{ColumnDelta, ColumnKey, FileChange, Increment, Mutation, Origin, RowMutations, Time, TimeRange};
use crate::tree::found::Facts;
use crate::tree::place::{InfoPlace, NodeKey, Place, RowPlace, SchemaPlace};
use crate::tree::texts::json;
use crate::{Error, ErrorKind, Result};

/// Longest text that is taken.
const TEXT_MAX: usize = 16 << 20;
/// Longest attribute, or file beside the attributes.
const ATTRIBUTE_MAX: usize = 1 << 20;

pub fn open_text(fs: &Fs, node: Arc<Node>, key: &NodeKey, flags: OpenFlags) -> Result<Opened> {
    let writable = is_writable(&key.place);
    if flags.write && !writable {
        return Err(Error::new(ErrorKind::ReadOnlyStore, "this file is only generated"));
    }
    if flags.write {
        writable::check_row_table(fs, key)?;
    }
    if stream::is_made_as_read(fs, &key.place) {
        return stream::open_stream(fs, node, key);
    }
    if let Place::Changes(table) = &key.place {
        return stream::open_feed(fs, node, table);
    }
    if let Place::Import(base, format, empty) = &key.place {
        let Some(table) = base.table().filter(|_| flags.write) else {
            return Err(Error::new(
                ErrorKind::AccessDenied,
                "this file takes what is written to it, and gives nothing",
            ));
        };
        return import::open_intake(fs, node, table, (*format, *empty));
    }
    if key.place == Place::Info(InfoPlace::Access) {
        return accesses::open_accesses(fs, node);
    }
    let facts = match known::own_facts(fs, key)? {
        Some(own) => Some(own),
        None => known::facts(fs, key)?,
    };
    let Some(Facts::Text { bytes, .. }) = facts else {
        return Err(Error::new(ErrorKind::NotFound, "it is not there any more"));
    };
    add_text(fs, node, bytes, flags, None)
}

/// `created`: it is new, and has that of its creator.
pub fn add_text(
    fs: &Fs,
    node: Arc<Node>,
    read: Vec<u8>,
    flags: OpenFlags,
    created: Option<FileChange>,
) -> Result<Opened> {
    let empty = created.is_some() || (flags.truncate && flags.write);
    // A created attribute is set when something is written: an empty one is refused anyway.
    let (read, written) = (HeldText::new(read)?, empty.then(HeldText::default));
    let place = node.key().place;
    let is_patch = flags.write && matches!(place, Place::Json(_));
    let opener = if is_patch { process_of(subject::caller().pid) } else { 0 };
    let file = created.unwrap_or_default();
    let text = Arc::new(TextHandle { opener, file, ..TextHandle::new(node, read, written) });
    if !flags.write {
        fs.copies.reads(subject::caller().pid, &text);
    }
    let handle = fs.handles.add(Handle::Text(text))?;
    // At once, as on any filesystem: who has it open since may have written before this handle is closed. Order: where no
    // more files can be open nothing is emptied.
    if let (true, Place::Schema(place)) = (empty, place)
        && matches!(*place, SchemaPlace::Scratch { .. })
    {
        fs.texts.set(&place, Vec::new()).inspect_err(|_| fs.unopen(handle))?;
    }
    Ok(Opened { handle, keep_cache: false, no_flush: !flags.write, direct: true })
}

/// As [`apply_text`], at a close(2), which may be of a copy that a child process had: a patch that it has left unfinished
/// is for who opened the file to go on with, or to end.
pub fn flush_text(fs: &Fs, text: &TextHandle) -> Result<()> {
    let is_unfinished = text.opener != 0 && text.written.lock().as_ref().is_some_and(|bytes| json::may_go_on(bytes));
    if is_unfinished && process_of(subject::caller().pid) != text.opener {
        return Ok(());
    }
    apply_text(fs, text)
}

/// Applies what was written through a handle, once.
///
/// Nothing yet is no value: a shell's FLUSH comes before its WRITE.
pub fn apply_text(fs: &Fs, text: &TextHandle) -> Result<()> {
    if let Some(intake) = &text.takes {
        return intake.close();
    }
    let mut written = text.written.lock();
    // The last message of a handle comes after close(2): by then the file may have another name.
    if !text.is_dirty.swap(false, Ordering::AcqRel) {
        return Ok(());
    }
    let place = text.node.key().place;
    if let (Place::Schema(place), Some(bytes)) = (&place, written.as_ref())
        && matches!(**place, SchemaPlace::Scratch { .. })
    {
        fs.texts.set(place, bytes.to_vec())?;
        if let Some(time) = text.node.state().text_mtime {
            fs.texts.set_mtime(place, time);
        }
        return Ok(());
    }
    let Some(bytes) = written.take_if(|bytes| !bytes.is_empty()) else { return Ok(()) };
    let origin = Origin(text.node.ino);
    match place {
        Place::Schema(place) => {
            attribute::set_attribute(fs, &place, Some(&bytes), origin)?;
            let mtime = text.node.state().text_mtime.take();
            attribute::set_attribute_time(fs, &place, mtime, origin)
        }
        Place::KeyFile(_) | Place::RowKey(_) => history::write_key(fs, &place, &bytes),
        Place::Counter(column) => increment(fs, &column, (&bytes, text.file), origin),
        Place::Json(row) => {
            let done = patch(fs, &row, &bytes, origin);
            // A shell that sends something elsewhere closes a copy of the file to which it goes on to write.
            if done.is_err() && json::may_go_on(&bytes) {
                *written = Some(bytes);
            }
            done
        }
        _ => Ok(()),
    }
}

/// The last use of a handle: an attribute that was only emptied stays, and that is said.
pub fn release_text(fs: &Fs, text: &TextHandle) -> Result<()> {
    accesses::release_accesses(fs, text);
    apply_text(fs, text)?;
    if let Some(line) = text.takes.as_ref().and_then(Intake::unended) {
        refused::record_sentence(fs, subject::caller(), "release", &unended_line(line));
    }
    let emptied = text.written.lock().as_ref().is_some_and(|bytes| bytes.is_empty());
    let place = text.node.key().place;
    let is_set = matches!(&place, Place::Schema(place) if !matches!(**place, SchemaPlace::Scratch { .. }));
    if emptied && is_set && !text.node.state().created_text {
        let text = "an attribute is not empty: write its value, or remove the file for the default";
        return Err(Error::new(ErrorKind::IllegalArgument, text));
    }
    Ok(())
}

/// `+5` or `-1`, atomically (HBase: Increment).
fn increment(fs: &Fs, column: &ColumnKey, (bytes, file): (&[u8], FileChange), origin: Origin) -> Result<()> {
    let wanted = "write +N or -N to add to the counter or take from it";
    let delta = amount(bytes)?.ok_or_else(|| Error::new(ErrorKind::IllegalArgument, wanted))?;
    let (family, qualifier) = (column.family.clone(), column.qualifier.clone());
    let increment = Increment {
        columns: vec![ColumnDelta { family, qualifier, delta }],
        time: Time::AfterNewest,
        ttl_ms: None,
        file,
        time_range: TimeRange::ALL,
    };
    let (table, row) = (column.table.clone(), column.row.clone());
    let mutations =
        RowMutations { table, row, mutations: vec![Mutation::Increment(increment)], durability: None, origin };
    fs.tree.backend.mutate(mutations, None).map(|_| ())
}

/// One atomic mutation of the row.
fn patch(fs: &Fs, row: &RowPlace, bytes: &[u8], origin: Origin) -> Result<()> {
    let mut mutations = json::patch(row, bytes, origin)?;
    for mutation in &mut mutations.mutations {
        let Mutation::Put(puts) = mutation else { continue };
        for put in puts {
            let (table, row) = (row.table.clone(), row.row.clone());
            let (family, qualifier) = (put.family.clone(), put.qualifier.clone());
            put.file = fs.tree.backend.kept_attributes(&ColumnKey { table, row, family, qualifier })?;
        }
    }
    if mutations.mutations.is_empty() {
        return Ok(());
    }
    fs.tree.backend.mutate(mutations, None).map(|_| ())
}

pub fn truncate_closed_text(fs: &Fs, node: &Arc<Node>, size: usize) -> Result<()> {
    match node.key().place {
        Place::Schema(place) if matches!(*place, SchemaPlace::Scratch { .. }) => {
            let (mut bytes, _) = fs.texts.get(&place).unwrap_or_default();
            bytes.resize(size.min(ATTRIBUTE_MAX), 0);
            fs.texts.set(&place, bytes)
        }
        // The value follows with the write that the caller is about to make.
        place if is_writable(&place) => Ok(()),
        _ => Err(Error::new(ErrorKind::ReadOnlyStore, "this file is only generated")),
    }
}

/// At most `len` bytes of a generated text.
pub fn read_text(fs: &Fs, text: &TextHandle, offset: u64, len: usize) -> Result<Vec<u8>> {
    match (&text.follows, &text.streams) {
        (Some(follower), _) => Ok(fs.accesses.read(follower, offset, len)),
        (None, Some(stream)) => stream.read(offset, len),
        (None, None) => Ok(slice(&text.read, offset, len).to_vec()),
    }
}

/// Whether a generated file takes writes.
pub fn is_writable(place: &Place) -> bool {
    match place {
        Place::Schema(place) => !place.is_dir(),
        Place::Counter(_) | Place::Json(_) | Place::KeyFile(_) | Place::RowKey(_) | Place::Import(..) => true,
        _ => false,
    }
}

/// At most `len` bytes of `bytes` from `offset`.
fn slice(bytes: &[u8], offset: u64, len: usize) -> &[u8] {
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
    &bytes[start..][..len.min(bytes.len() - start)]
}

/// What is wrong whatever follows is refused now: shells do not look at what close(2) says.
pub fn write(text: &TextHandle, offset: u64, data: &[u8], limits: &Limits<'_>) -> Result<u32> {
    let place = &text.node.key().place;
    let told = usize::try_from(offset).unwrap_or(usize::MAX);
    change(text, |buffer| {
        // A command is what is written, in this order, wherever the handle stands.
        let offset = if is_command(place) { buffer.len() } else { told };
        check_len(place, offset.saturating_add(data.len()))?;
        buffer.write(offset, data)
    })?;
    let judged = text.written.lock().as_ref().map_or(Ok(()), |bytes| judge(place, bytes, limits));
    if let Err(refused) = judged {
        text.refuse(refused.kind);
        if is_command(place) {
            // Who writes from the beginning again gives another one.
            change(text, |buffer| buffer.resize(0))?;
        }
        return Err(refused);
    }
    // What was set before was the mtime of other bytes.
    text.node.state().text_mtime = None;
    Ok(u32::try_from(data.len()).unwrap_or(u32::MAX))
}

pub fn truncate(text: &TextHandle, size: usize) -> Result<()> {
    if text.takes.is_some() {
        return Ok(());
    }
    // As for a write at the beginning, where that is what is left.
    text.check_refused(size as u64)?;
    let place = &text.node.key().place;
    check_len(place, size)?;
    // A command has no bytes in the file: it is taken back, or stays.
    change(text, |buffer| if is_command(place) && size > 0 { Ok(()) } else { buffer.resize(size) })
}

/// Whether what is written is no change of what is read.
fn is_command(place: &Place) -> bool {
    matches!(place, Place::Counter(_))
}

/// Changes what is to be applied, which begins with what was read, unless it is a command.
fn change(text: &TextHandle, change: impl FnOnce(&mut HeldText) -> Result<()>) -> Result<()> {
    let mut written = text.written.lock();
    text.is_dirty.store(true, Ordering::Release);
    let buffer = match written.as_mut() {
        Some(buffer) => buffer,
        None if is_command(&text.node.key().place) => written.insert(HeldText::default()),
        None => written.insert(text.read.try_clone()?),
    };
    change(buffer)
}

fn check_len(place: &Place, len: usize) -> Result<()> {
    let max = if matches!(place, Place::Schema(_)) { ATTRIBUTE_MAX } else { TEXT_MAX };
    if len > max {
        return Err(Error::new(ErrorKind::ValueTooLarge, format!("this file has at most {max} bytes")));
    }
    Ok(())
}
