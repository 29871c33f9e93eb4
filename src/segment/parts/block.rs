//! A block of entries: made, and searched.
//!
//! Base, entries, offsets of restarts (u32 each). Every 16th entry is a restart: its key is there in full. The first
//! entry of each row, and each restart, point to the next row of the block. Pure.

use std::cmp::Ordering;

use super::entry::{self, BASE, Base, Entry, NewEntry};
use super::piece::Header;
use crate::format::key::SUFFIX;

/// Entries from one restart to the next.
const RESTART: usize = 16;

/// A block that grows.
#[derive(Default)]
pub(in crate::segment) struct BlockBuilder {
    raw: Vec<u8>,
    base: Base,
    restarts: Vec<u32>,
    since_restart: usize,
    entries: usize,
    /// Pointers of the row that is being written.
    pointers: Vec<usize>,
}

impl BlockBuilder {
    pub(in crate::segment) fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// Bytes that it would have.
    pub(in crate::segment) fn len(&self) -> usize {
        self.raw.len() + self.restarts.len() * 4
    }

    /// Whether it can have no more entries.
    pub(in crate::segment) fn is_full(&self) -> bool {
        self.restarts.len() == usize::from(u16::MAX) && self.since_restart == RESTART
    }

    /// Whether the next entry must have its whole key.
    pub(in crate::segment) fn restarts_next(&self) -> bool {
        self.entries == 0 || self.since_restart == RESTART
    }

    /// Appends an entry; `new_row`: it is the first of its row. Sets its pointer.
    pub(in crate::segment) fn add(&mut self, mut entry: NewEntry<'_>, new_row: bool) {
        if self.entries == 0 {
            self.base = Base { timestamp: entry.timestamp, seq: entry.seq };
            self.raw.extend_from_slice(&self.base.bytes());
        }
        let at = self.raw.len() as u32;
        if new_row {
            for pointer in self.pointers.drain(..) {
                self.raw[pointer..pointer + 4].copy_from_slice(&at.to_le_bytes());
            }
        }
        let restart = self.restarts_next();
        if restart {
            self.restarts.push(at);
            self.since_restart = 0;
        }
        entry.has_pointer = restart || new_row;
        self.pointers.extend(entry::put(&mut self.raw, self.base, &entry));
        self.since_restart += 1;
        self.entries += 1;
    }

    /// Its bytes and the number of its restarts; it begins anew.
    pub(in crate::segment) fn finish<T>(&mut self, write: impl FnOnce(&[u8], u16) -> T) -> T {
        for restart in &self.restarts {
            self.raw.extend_from_slice(&restart.to_le_bytes());
        }
        let done = write(&self.raw, self.restarts.len() as u16);
        self.raw.clear();
        self.restarts.clear();
        self.pointers.clear();
        self.since_restart = 0;
        self.entries = 0;
        done
    }
}

/// Where things are in a block that was read.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::segment) struct Shape {
    pub(in crate::segment) base: Base,
    /// Where the entries end and the offsets of the restarts begin.
    pub(in crate::segment) entries_end: usize,
    restarts: usize,
}

impl Shape {
    /// The shape of a block of `restarts`. `None`: it is none.
    pub(in crate::segment) fn of(raw: &[u8], restarts: u16) -> Option<Self> {
        let restarts = usize::from(restarts);
        let entries_end = raw.len().checked_sub(restarts * 4)?;
        if restarts == 0 || entries_end <= BASE {
            return None;
        }
        Some(Self { base: Base::take(raw)?, entries_end, restarts })
    }

    /// Where a restart's entry begins.
    pub(in crate::segment) fn restart(&self, raw: &[u8], n: usize) -> Option<usize> {
        let bytes: &[u8; 4] = raw.get(self.entries_end + n * 4..)?.first_chunk()?;
        let at = u32::from_le_bytes(*bytes) as usize;
        (at >= BASE && at < self.entries_end).then_some(at)
    }

    /// The entry at a place.
    pub(in crate::segment) fn entry(&self, raw: &[u8], at: usize) -> Option<Entry> {
        let mut entry = Entry::default();
        self.read_entry(raw, at, &mut entry)?;
        Some(entry)
    }

    /// The same, into one that is there.
    #[inline]
    pub(in crate::segment) fn read_entry(&self, raw: &[u8], at: usize, entry: &mut Entry) -> Option<()> {
        entry::read(raw.get(..self.entries_end)?, at, self.base, entry)
    }

    /// The last restart whose key is below `key`, else the first. `or_equal`: or is `key`.
    pub(in crate::segment) fn find(&self, raw: &[u8], key: &[u8], or_equal: bool) -> Option<usize> {
        let (mut low, mut high) = (0, self.restarts);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let entry = self.entry(raw, self.restart(raw, middle)?)?;
            let order = cmp_whole(raw.get(entry.rest.clone())?, &entry.suffix, key);
            if order == Ordering::Less || or_equal && order == Ordering::Equal {
                low = middle;
            } else {
                high = middle;
            }
        }
        self.restart(raw, low)
    }
}

/// Compares a key in two parts with a key in one.
fn cmp_whole(front: &[u8], suffix: &[u8; SUFFIX], key: &[u8]) -> Ordering {
    if key.len() <= front.len() {
        // One that is all of the front is below the whole: the suffix follows.
        return front.cmp(key).then(Ordering::Greater);
    }
    let (head, tail) = key.split_at(front.len());
    front.cmp(head).then_with(|| suffix.as_slice().cmp(tail))
}

/// A block as the cache holds it.
#[derive(Debug)]
pub(in crate::segment) struct Block {
    pub(in crate::segment) bytes: Vec<u8>,
    /// Where it begins in them: what is not compressed was read with its header.
    pub(in crate::segment) from: usize,
    pub(in crate::segment) header: Header,
}

impl Block {
    /// Its bytes before compression.
    pub(in crate::segment) fn raw(&self) -> &[u8] {
        self.bytes.get(self.from..).unwrap_or_default()
    }
}
