//! Reading a file of the log from front to back: the one walk of recovery, check and rebuild.

use std::path::Path;

use super::form::bytes::Bytes;
use super::form::cell::{FoundCell, take_cell};
use super::form::file::{FileHeader, HEADER};
use super::form::record::{MAGIC, Place, RECORD_HEADER, RecordHeader};
use crate::Result;
use crate::env::Env;
use crate::format::StoreId;
use crate::model::SeqNo;

/// A record that is whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub offset: u64,
    pub seq: SeqNo,
    /// Known to be on the disk when it was written.
    pub synced: SeqNo,
    pub cells: Vec<FoundCell>,
}

/// Bytes that are no whole record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    pub offset: u64,
    /// Where the next whole header is; `None`: nowhere.
    pub resume: Option<u64>,
    /// Of the record, if its header is whole.
    pub seq: Option<SeqNo>,
    /// What that header says was on the disk when it was written; 0 if there is none.
    pub synced: SeqNo,
    /// Cells of it: those whose values are not whole have none.
    pub cells: Vec<FoundCell>,
    /// Whether a cell of it cannot even be named.
    pub nameless: bool,
    /// The first byte that the disk does not give.
    pub unreadable: Option<u64>,
    /// The file ends within it, or only its first bytes are missing, as where it was not written to its end.
    pub is_cut: bool,
}

/// A file of the log in memory: at most a memtable's cells and one batch.
pub struct Walk<'a> {
    store: &'a StoreId,
    pub header: FileHeader,
    /// The header was damaged; what stands there instead is as much as the records say.
    pub is_headless: bool,
    bytes: Bytes,
    at: usize,
}

/// Reads a file; `None`: it was never begun, or neither its header nor a record of it is whole.
pub fn read<'a>(env: &dyn Env, dir: &Path, store: &'a StoreId, number: u64) -> Result<Option<Walk<'a>>> {
    Walk::of(Bytes::of(env, dir, number)?, number, store)
}

impl<'a> Walk<'a> {
    /// A walk over the bytes of a file.
    pub fn of(bytes: impl Into<Bytes>, number: u64, store: &'a StoreId) -> Result<Option<Self>> {
        let bytes = bytes.into();
        let decoded = FileHeader::decode(bytes.all(), number, store)?;
        let is_headless = decoded.is_none();
        let header = decoded.unwrap_or(FileHeader { number, before: SeqNo(0), edit: 0 });
        let mut walk = Self { store, header, is_headless, bytes, at: HEADER as usize };
        if is_headless {
            // Each record is bound to store, file and place by itself.
            let Some(first) = walk.first_number() else { return Ok(None) };
            walk.header.before = SeqNo(first.0.saturating_sub(1));
            walk.at = HEADER as usize;
        }
        Ok(Some(walk))
    }

    /// The number of the first record whose header is whole.
    fn first_number(&mut self) -> Option<SeqNo> {
        while let Some(found) = self.next_found() {
            match found {
                Ok(record) => return Some(record.seq),
                Err(Damage { seq: Some(seq), .. }) => return Some(seq),
                Err(_) => {}
            }
        }
        None
    }

    fn place(&self, at: usize) -> Place<'a> {
        Place { store: self.store, file: self.header.number, offset: at as u64 }
    }

    fn header_at(&self, at: usize) -> Option<RecordHeader> {
        RecordHeader::decode(self.bytes.all().get(at..)?, self.place(at))
    }

    /// The next record, or what stands there instead; `None` at the end.
    pub fn next_found(&mut self) -> Option<std::result::Result<Record, Damage>> {
        let at = self.at;
        if at >= self.bytes.all().len() {
            return None;
        }
        let Some(header) = self.header_at(at) else { return self.headless(at).map(Err) };
        let end = at + RECORD_HEADER + header.length as usize;
        let (cells, nameless) = self.cells(at, &header);
        if nameless || cells.iter().any(|cell| !cell.whole) {
            let from = if end <= self.bytes.all().len() { end } else { at + RECORD_HEADER };
            let damage = self.damage(at, from, Some(header.seq))?;
            if from == end {
                // What stands behind it and is no record may have been another.
                self.at = end;
            }
            let unreadable = self.bytes.refused_in(at..self.at);
            let is_cut = end > self.bytes.all().len();
            return Some(Err(Damage { synced: header.synced, cells, nameless, unreadable, is_cut, ..damage }));
        }
        self.at = end;
        Some(Ok(Record { offset: at as u64, seq: header.seq, synced: header.synced, cells }))
    }

    /// What stands where no record's header is: its cells name themselves.
    fn headless(&mut self, at: usize) -> Option<Damage> {
        let damage = self.damage(at, at + 1, None)?;
        let end = damage.resume.map_or(self.bytes.all().len(), |resume| resume as usize);
        let (mut cells, mut next) = (Vec::new(), at + RECORD_HEADER);
        while let Some((cell, len)) =
            self.bytes.all().get(next..end).and_then(|inside| take_cell(inside, self.place(next)))
        {
            cells.push(cell);
            next += len;
        }
        let rest = self.bytes.all().get(next.min(end)..end).unwrap_or_default();
        let is_all = if damage.resume.is_some() { next == end } else { rest.iter().all(|byte| *byte == 0) };
        let is_short = self.bytes.all().len() - at < RECORD_HEADER;
        let is_cut = is_short || damage.resume.is_none() && self.is_unfinished(at);
        Some(Damage { nameless: cells.is_empty() || !is_all, cells, is_cut, ..damage })
    }

    /// Whether a record was being put here, of which the first bytes come last (see [`crate::env::Window`]): the others of
    /// its header are bound to this place, or nothing had come behind them.
    fn is_unfinished(&self, at: usize) -> bool {
        let Some(bytes) = self.bytes.all().get(at..).filter(|_| self.bytes.lacks_magic(at)) else { return false };
        let with_magic = [MAGIC, bytes.get(MAGIC.len()..RECORD_HEADER).unwrap_or_default()].concat();
        RecordHeader::decode(&with_magic, self.place(at)).is_some() || self.bytes.is_blank(at + RECORD_HEADER)
    }

    /// The cells of a record, and whether some cannot be named.
    fn cells(&self, at: usize, header: &RecordHeader) -> (Vec<FoundCell>, bool) {
        let mut cells = Vec::new();
        let end = at + RECORD_HEADER + header.length as usize;
        let mut next = at + RECORD_HEADER;
        for _ in 0..header.count {
            let inside = self.bytes.all().get(next..end.min(self.bytes.all().len())).unwrap_or_default();
            let Some((cell, len)) = take_cell(inside, self.place(next)) else { return (cells, true) };
            cells.push(cell);
            next += len;
        }
        (cells, next != end)
    }

    /// What is damaged from `at` on; where a record begins again, no earlier than `from`.
    fn damage(&mut self, at: usize, from: usize, seq: Option<SeqNo>) -> Option<Damage> {
        let rest = self.bytes.all().get(from..).unwrap_or_default();
        let starts = rest.windows(MAGIC.len()).enumerate().filter(|(_, bytes)| *bytes == MAGIC);
        let resume = starts.map(|(n, _)| from + n).find(|&start| self.header_at(start).is_some());
        self.at = resume.unwrap_or(self.bytes.all().len());
        // Room that was taken ahead.
        if resume.is_none() && seq.is_none() && self.bytes.is_blank(at) {
            return None;
        }
        let (resume, unreadable) = (resume.map(|start| start as u64), self.bytes.refused_in(at..self.at));
        Some(Damage { offset: at as u64, resume, seq, nameless: true, unreadable, ..Damage::default() })
    }
}
