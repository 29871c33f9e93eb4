//! A file of the log that is written at once: what may not be on the disk, once more.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::form::batch::TakeCell;
use super::form::cell::{LogCell, put_cell};
use super::form::file::{FileHeader, HEADER, path_of};
use super::form::record::{Place, RECORD_HEADER, RecordHeader};
use crate::env::{Env, EnvFile};
use crate::format::StoreId;
use crate::model::SeqNo;
use crate::{Error, Result};

/// Bytes that are written at once.
const PIECE: usize = 1 << 20;

/// A file that was written and is on the disk, under its name.
pub struct Whole {
    pub header: FileHeader,
    pub file: Arc<dyn EnvFile>,
    /// Where the next record goes.
    pub end: u64,
    pub last: SeqNo,
}

/// A record's bytes in `buffer`, which begins at offset 0 of `place`; `each` gives its cells.
pub(super) fn put_record(
    buffer: &mut Vec<u8>,
    place: Place<'_>,
    (seq, synced): (SeqNo, SeqNo),
    each: impl FnOnce(&mut TakeCell<'_>) -> Result<()>,
) -> Result<()> {
    buffer.clear();
    buffer.resize(RECORD_HEADER, 0);
    let mut count = 0;
    each(&mut |cell| {
        count += 1;
        put_cell(buffer, place, cell)
    })?;
    let too_large = |_| crate::Error::new(crate::ErrorKind::ValueTooLarge, "an atomic batch cannot reach 4 GiB");
    let length = u32::try_from(buffer.len() - RECORD_HEADER).map_err(too_large)?;
    let header = RecordHeader { length, count, seq, synced };
    buffer[..RECORD_HEADER].copy_from_slice(&header.encode(place));
    Ok(())
}

/// Takes the next record: its number and its cells.
pub type AddRecord<'a> = dyn FnMut(SeqNo, &[LogCell<'_>]) -> Result<()> + 'a;

/// Writes a file with the records that `fill` gives. Its name appears once all of it is on the disk; only up to `whole`
/// everything is there that the records lead to.
pub fn write_whole(
    env: &dyn Env,
    dir: &Path,
    store: &StoreId,
    (header, whole): (FileHeader, SeqNo),
    fill: &mut dyn FnMut(&mut AddRecord<'_>) -> Result<()>,
) -> Result<Whole> {
    let path = path_of(dir, header.number);
    let temporary = path.with_extension("new");
    let io = |e: std::io::Error| Error::io(format!("write {}", path.display()), &e);
    if env.exists(&temporary).map_err(io)? {
        env.remove(&temporary).map_err(io)?;
    }
    let file = env.create_new(&temporary).map_err(io)?;
    let mut writing =
        Writing { file: &*file, path: &path, store, header, whole, pending: Vec::new(), at: 0, last: header.before };
    writing.pending.extend_from_slice(&header.encode(store));
    let written = fill(&mut |seq, cells| writing.add(seq, cells)).and_then(|()| writing.flush());
    let (end, last) = (writing.at, writing.last);
    // Order: the contents before the name, the name before anyone relies on it.
    let named = written.and_then(|()| file.sync().map_err(io)).and_then(|()| env.rename(&temporary, &path).map_err(io));
    if let Err(e) = named {
        let _ = env.remove(&temporary);
        return Err(e);
    }
    env.sync_dir(dir).map_err(io)?;
    debug_assert!(end >= HEADER);
    Ok(Whole { header, file, end, last })
}

struct Writing<'a> {
    file: &'a dyn EnvFile,
    path: &'a PathBuf,
    store: &'a StoreId,
    header: FileHeader,
    whole: SeqNo,
    pending: Vec<u8>,
    /// Where what is pending goes.
    at: u64,
    last: SeqNo,
}

impl Writing<'_> {
    fn add(&mut self, seq: SeqNo, cells: &[LogCell<'_>]) -> Result<()> {
        let offset = self.at + self.pending.len() as u64;
        let mut record = Vec::new();
        // All of this file is on the disk before it has a name.
        let synced = seq.min(self.whole);
        let place = Place { store: self.store, file: self.header.number, offset };
        put_record(&mut record, place, (seq, synced), |take| cells.iter().try_for_each(take))?;
        self.pending.extend_from_slice(&record);
        self.last = self.last.max(seq);
        if self.pending.len() >= PIECE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        let written = self.file.write_at(&self.pending, self.at);
        written.map_err(|e| Error::io(format!("write {}", self.path.display()), &e))?;
        self.at += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }
}
