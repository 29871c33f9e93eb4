//! Reading a file of the log from a place on, a window at a time: for those who follow changes.

use std::sync::Arc;

use super::form::cell::take_cell;
use super::form::record::{Place, RECORD_HEADER, RecordHeader};
use super::replay::Record;
use crate::env::EnvFile;
use crate::format::StoreId;
use crate::{Error, ErrorKind, Result};

/// Bytes that are read at once; a longer record is read as a whole.
const WINDOW: u64 = 256 << 10;

/// See the module. Holds a window, or one record where that is longer.
pub struct Tail {
    file: Arc<dyn EnvFile>,
    number: u64,
    store: StoreId,
    /// Where the next record begins.
    pub offset: u64,
    /// Nothing is read from here on.
    end: u64,
    window: Vec<u8>,
    /// Where the window begins.
    base: u64,
}

impl Tail {
    /// From `offset`, where a record begins, to `end`.
    pub fn new(file: Arc<dyn EnvFile>, number: u64, store: StoreId, offset: u64, end: u64) -> Self {
        Self { file, number, store, offset, end, window: Vec::new(), base: 0 }
    }

    /// The bytes from the next record's beginning on, at least so many unless the file has fewer.
    fn fill(&mut self, least: u64) -> Result<&[u8]> {
        let wanted = least.min(self.end.saturating_sub(self.offset));
        let held = self.base + self.window.len() as u64;
        if self.offset < self.base || held < self.offset + wanted {
            let len = wanted.max(WINDOW).min(self.end - self.offset);
            self.window.resize(usize::try_from(len).unwrap_or(usize::MAX), 0);
            self.base = self.offset;
            let read = self.file.read_at(&mut self.window, self.offset);
            read.map_err(|e| Error::io(format!("read log file {}", self.number), &e))?;
        }
        Ok(&self.window[(self.offset - self.base) as usize..])
    }

    /// The next record; `None`: there is none up to the end. `Corrupt` where none can be read.
    pub fn next_record(&mut self) -> Result<Option<Record>> {
        if self.offset >= self.end {
            return Ok(None);
        }
        let (number, offset, store) = (self.number, self.offset, self.store);
        let place = |offset| Place { store: &store, file: number, offset };
        let corrupt = || {
            let text = format!("log file {number}, offset {offset}: a record is damaged; for all of it: cellfs check");
            Error::new(ErrorKind::Corrupt, text)
        };
        let head = self.fill(RECORD_HEADER as u64)?;
        let Some(header) = RecordHeader::decode(head, place(offset)) else {
            // Room that was taken ahead.
            return if head.iter().all(|byte| *byte == 0) { Ok(None) } else { Err(corrupt()) };
        };
        let len = RECORD_HEADER + header.length as usize;
        let record = self.fill(len as u64)?.get(..len).ok_or_else(corrupt)?;
        let (mut cells, mut at) = (Vec::with_capacity(header.count as usize), RECORD_HEADER);
        while at < len {
            let (cell, taken) = take_cell(&record[at..], place(offset + at as u64)).ok_or_else(corrupt)?;
            if !cell.whole {
                return Err(corrupt());
            }
            cells.push(cell);
            at += taken;
        }
        self.offset += len as u64;
        Ok(Some(Record { offset, seq: header.seq, synced: header.synced, cells }))
    }
}
