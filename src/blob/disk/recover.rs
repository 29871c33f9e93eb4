//! The file that was written when the machine stopped: cut behind its last whole chunk, and sealed.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::chunk::Chunk;
use super::files::Blob;
use super::header::{FILE_HEADER, file_header};
use super::table::{Place, Table};
use super::walk::Walk;
use crate::blob::blobs::Blobs;
use crate::blob::settings::BlobState;
use crate::env::EnvFile;
use crate::{Error, ErrorKind, Result};

/// What became of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Of the file, sealed.
    pub bytes: u64,
    pub chunks: u32,
    /// Bytes behind the last whole chunk that were cut off.
    pub cut: u64,
    /// Nothing was in it, and it is not there any more: an edit is to say so.
    pub is_gone: bool,
}

/// Where the chunks of a file lie.
struct Survey {
    table: Table,
    /// Bytes of the file.
    len: u64,
    /// Why there may be more of them.
    unread: Option<Error>,
}

impl Blobs {
    /// Cuts a file that is not sealed behind its last whole chunk and seals it. Only what lies beyond its first `known`
    /// bytes, which are known to have been on the disk, is checked; what lies before stays as it is.
    pub fn recover(&self, number: u64, known: u64) -> Result<Recovered> {
        let Some(Survey { table, len, unread }) = self.survey(number, known)? else { return self.take_away(number) };
        // Order: before anything is cut off.
        unread.map_or(Ok(()), Err)?;
        let files = &self.0.files;
        let (file, end) = (files.file(number)?, table.end());
        let tail = table.encode(&files.store, number);
        let bytes = end + tail.len() as u64;
        let mut written = file.set_len(end).and_then(|()| file.write_at(&tail, end));
        if files.check_header(number).is_err() {
            // What each chunk says of itself is enough to know what stood there.
            written = written.and_then(|()| file.write_at(&file_header(&files.store, number), 0));
        }
        written.map_err(|e| files.io("write", number, &e))?;
        // With its name: who made it may have ended before that was on the disk.
        let synced = file.sync().and_then(|()| files.env.sync_dir(&files.dir));
        synced.map_err(|e| files.poison(files.io("sync", number, &e)))?;
        files.naming.sealed(number, bytes, table.next())?;
        let state = BlobState { number, bytes, chunks: table.next(), dead: Vec::new() };
        self.adopt(Blob::new(&state, true, None));
        Ok(Recovered { bytes, chunks: state.chunks, cut: len.saturating_sub(end), is_gone: false })
    }

    /// As [`Blobs::recover`], and changes nothing: for an open that only reads. Of a file that cannot be read to its end
    /// what can be is known from now on; the rest is an error, and so is this.
    pub fn look(&self, number: u64, known: u64) -> Result<Recovered> {
        let surveyed = self.survey(number, known);
        let unread = match &surveyed {
            Ok(found) => found.as_ref().and_then(|survey| survey.unread.clone()),
            Err(e) => Some(e.clone()).filter(|e| e.kind != ErrorKind::Corrupt),
        };
        if let Some(e) = &unread {
            self.0.files.unread.write().insert(number, e.clone());
        }
        let Some(Survey { table, len, .. }) = surveyed? else {
            return Ok(Recovered { is_gone: true, ..Recovered::default() });
        };
        let (bytes, chunks) = (table.end(), table.next());
        let state = BlobState { number, bytes, chunks, dead: Vec::new() };
        self.adopt(Blob::new(&state, false, Some(table)));
        unread.map_or(Ok(()), Err)?;
        Ok(Recovered { bytes, chunks, cut: len.saturating_sub(bytes), is_gone: false })
    }

    /// From now on the file is one of those that are known.
    fn adopt(&self, blob: Blob) {
        let files = &self.0.files;
        blob.synced.store(blob.bytes.load(Ordering::Acquire), Ordering::Release);
        files.shares.advance((blob.number, u32::MAX));
        files.known.write().insert(blob.number, Arc::new(blob));
    }

    /// Looks where whole chunks lie in a file; `None` if it was named and never made.
    fn survey(&self, number: u64, known: u64) -> Result<Option<Survey>> {
        let files = &self.0.files;
        let exists = files.env.exists(&files.path(number)).map_err(|e| files.io("look for", number, &e))?;
        if known <= FILE_HEADER && (!exists || self.is_void(number)?) {
            return Ok(None);
        }
        if let Err(e) = files.check_header(number)
            && e.kind != ErrorKind::Corrupt
        {
            return Err(e);
        }
        let file = files.file(number)?;
        let io = |e: std::io::Error| files.io("read", number, &e);
        let (mut walk, mut table) = (Walk::new(&*file, &files.store, number).map_err(io)?, Table::default());
        if walk.len() < known {
            let what = format!("the file has {} bytes, {known} were on the disk; it is cut off", walk.len());
            return Err(files.corrupt(number, Some(walk.len()), &what));
        }
        let unread = loop {
            let (header, offset) = match walk.next() {
                Ok(Some(found)) => found,
                Ok(None) => break None,
                Err(e) => break Some(io(e)),
            };
            let place = Place { offset: offset as u32, total: header.total() };
            let is_known = offset + u64::from(place.total) <= known;
            if is_known || self.is_there(&*file, number, header.number, place) {
                table.put(header.number, place);
            }
        };
        if table.end() < known {
            table.keep(known);
        }
        Ok(Some(Survey { table, len: walk.len(), unread }))
    }

    /// Whether a file has neither a header nor a chunk that were written whole. A header alone may be damaged.
    fn is_void(&self, number: u64) -> Result<bool> {
        let files = &self.0.files;
        match files.check_header(number) {
            Err(e) if e.kind == ErrorKind::Corrupt => {}
            checked => return checked.map(|()| false),
        }
        let file = match files.file(number) {
            Err(e) if e.kind == ErrorKind::Corrupt => return Ok(true),
            file => file?,
        };
        let io = |e: std::io::Error| files.io("read", number, &e);
        Ok(Walk::new(&*file, &files.store, number).map_err(io)?.next().map_err(io)?.is_none())
    }

    /// Whether a chunk is whole, or cannot be read: what a disk has lost was written once, which a torn end was not.
    fn is_there(&self, file: &dyn EnvFile, number: u64, chunk: u32, place: Place) -> bool {
        let offset = u64::from(place.offset);
        let mut buffer = vec![0; place.total as usize];
        file.read_at(&mut buffer, offset).is_err()
            || Chunk::decode(buffer, &self.0.files.store, number, chunk, offset).is_some()
    }

    /// Unlinks what is left of a file that never had anything in it.
    fn take_away(&self, number: u64) -> Result<Recovered> {
        let files = &self.0.files;
        match files.env.remove(&files.path(number)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(files.io("remove", number, &e)),
            _ => files.forget(number),
        }
        files.shares.advance((number, u32::MAX));
        Ok(Recovered { is_gone: true, ..Recovered::default() })
    }

    /// An error if a sync failed earlier.
    pub fn refuse_poisoned(&self) -> Result<()> {
        self.0.files.refuse_poisoned().map_err(|e| Error { kind: ErrorKind::Poisoned, ..e })
    }
}
