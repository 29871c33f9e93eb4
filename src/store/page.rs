//! Cells that were read ahead: one allocation for many, and rows of the index unpacked only when taken.

use std::ops::Range;

use crate::Result;
use crate::index::{Index, IndexRow};

use super::memtable::MemCell;

/// See the module. Keys ascend.
#[derive(Default)]
pub struct Page {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
    /// Slots before it were taken.
    at: usize,
}

struct Slot {
    key: Range<usize>,
    row: Row,
}

enum Row {
    Memory(MemCell),
    /// As the index has it, behind the key; up to here.
    Packed(usize),
}

impl Page {
    pub fn is_empty(&self) -> bool {
        self.at == self.slots.len()
    }

    /// Makes room for the next page.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.slots.clear();
        self.at = 0;
    }

    fn add_key(&mut self, key: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        start..self.bytes.len()
    }

    /// Adds a cell of a memtable.
    pub fn push(&mut self, key: &[u8], cell: &MemCell) {
        let key = self.add_key(key);
        self.slots.push(Slot { key, row: Row::Memory(cell.clone()) });
    }

    /// Adds a row of the index.
    pub fn push_packed(&mut self, key: &[u8], packed: &[u8]) {
        let key = self.add_key(key);
        self.bytes.extend_from_slice(packed);
        self.slots.push(Slot { key, row: Row::Packed(self.bytes.len()) });
    }

    /// The key of the next cell.
    pub fn front(&self) -> Option<&[u8]> {
        self.slots.get(self.at).map(|slot| &self.bytes[slot.key.clone()])
    }

    /// Passes the next cell by.
    pub fn pass(&mut self) {
        self.at = self.slots.len().min(self.at + 1);
    }

    /// Takes the next cell.
    pub fn pop(&mut self, index: &Index) -> Result<Option<(Vec<u8>, IndexRow)>> {
        let Some(slot) = self.slots.get(self.at) else { return Ok(None) };
        self.at += 1;
        let key = &self.bytes[slot.key.clone()];
        let row = match &slot.row {
            Row::Memory(cell) => cell.to_row(),
            Row::Packed(end) => index.unpack(key, &self.bytes[slot.key.end..*end])?,
        };
        Ok(Some((key.to_vec(), row)))
    }

    /// Passes everything before `target` by.
    pub fn seek(&mut self, target: &[u8]) {
        // Near steps are the rule: the end of a column, of a narrow row.
        let mut step = 1;
        while let Some(slot) = self.slots.get(self.at + step - 1)
            && &self.bytes[slot.key.clone()] < target
        {
            self.at += step;
            step *= 2;
        }
        let reach = self.slots.len().min(self.at + step);
        let near = &self.slots[self.at..reach];
        self.at += near.partition_point(|slot| &self.bytes[slot.key.clone()] < target);
    }
}
