//! From chunk to chunk of a file by their headers, over holes and damage.

use std::io;

use super::header::{CHUNK_HEADER, CHUNK_MAGIC, ChunkHeader, FILE_HEADER};
use super::table::{Place, Table};
use crate::env::EnvFile;
use crate::format::StoreId;

/// Bytes that are looked through at a time.
const WINDOW: usize = 256 << 10;

/// See the module.
pub(in crate::blob) struct Walk<'f> {
    file: &'f dyn EnvFile,
    store: &'f StoreId,
    number: u64,
    at: u64,
    len: u64,
    /// Chunks have ascending numbers.
    least: u32,
}

/// A chunk whose header is whole, and where it lies.
pub(in crate::blob) type Found = (ChunkHeader, u64);

impl<'f> Walk<'f> {
    /// Goes from the first chunk to the end of the file as it is.
    pub(in crate::blob) fn new(file: &'f dyn EnvFile, store: &'f StoreId, number: u64) -> io::Result<Self> {
        Ok(Self { file, store, number, at: FILE_HEADER, len: file.len()?, least: 0 })
    }

    /// The table of a file, of the headers that are whole.
    pub(in crate::blob) fn table(file: &'f dyn EnvFile, store: &'f StoreId, number: u64) -> io::Result<Table> {
        let (mut walk, mut table) = (Self::new(file, store, number)?, Table::default());
        while let Some((header, offset)) = walk.next()? {
            table.put(header.number, Place { offset: offset as u32, total: header.total() });
        }
        Ok(table)
    }

    /// Bytes of the file.
    pub(in crate::blob) fn len(&self) -> u64 {
        self.len
    }

    /// The next chunk, wherever it is.
    pub(in crate::blob) fn next(&mut self) -> io::Result<Option<Found>> {
        let mut window = vec![0; CHUNK_HEADER];
        while self.at + CHUNK_HEADER as u64 <= self.len {
            let part = (self.len - self.at).min(window.len() as u64) as usize;
            self.file.read_at(&mut window[..part], self.at)?;
            if let Some((header, offset)) = self.search(&window[..part]) {
                (self.at, self.least) = (offset + u64::from(header.total()), header.number + 1);
                return Ok(Some((header, offset)));
            }
            // A header may begin in this window and end in the next one.
            self.at += (part - CHUNK_HEADER + 1) as u64;
            window.resize(WINDOW, 0);
        }
        Ok(None)
    }

    /// The first chunk that begins in a window.
    fn search(&self, window: &[u8]) -> Option<Found> {
        let mut from = 0;
        while let Some(found) = window[from..].iter().position(|byte| *byte == CHUNK_MAGIC[0]) {
            let at = from + found;
            let offset = self.at + at as u64;
            if let Some(header) = ChunkHeader::decode(&window[at..], self.store, self.number, offset)
                && header.number >= self.least
                && header.number < u32::MAX
                && self.can_be(&header)
                && offset + u64::from(header.total()) <= self.len.min(u64::from(u32::MAX))
            {
                return Some((header, offset));
            }
            from = at + 1;
        }
        None
    }

    /// A number that the file has no room for is none, so that a table of them has bounds.
    fn can_be(&self, header: &ChunkHeader) -> bool {
        u64::from(header.number) <= self.len / CHUNK_HEADER as u64
    }
}
