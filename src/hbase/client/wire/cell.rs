//! Cells as they go over the wire: KeyValueCodec's cell blocks, and the form within messages.
//!
//! A cell: 4 bytes length of the rest; 4 bytes length of the key, 4 of the value; key: 2 bytes length of the row, row, 1
//! byte length of the family, family, qualifier, 8 bytes timestamp, 1 byte type; value. Integers are big-endian. Of a
//! cell with tags (KeyValueCodecWithTags) 2 bytes length and the tags follow. Source: KeyValueUtil, KeyValueCodec.

use crate::hbase::client::error::{Error, Result};
use crate::hbase::client::proto::data::{Outcome, PbCell};

/// Name of the codec that a connection asks for.
pub const CODEC: &str = "org.apache.hadoop.hbase.codec.KeyValueCodec";

/// In place of this timestamp a server takes its clock.
pub const LATEST: i64 = i64::MAX;

/// Types of a cell (KeyValue.Type).
pub const PUT: u8 = 4;

/// A stored cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    pub row: Vec<u8>,
    pub family: Vec<u8>,
    pub qualifier: Vec<u8>,
    pub timestamp: i64,
    /// See [`PUT`]; else of a tombstone: 8, 10, 12 or 14.
    pub kind: u8,
    pub value: Vec<u8>,
}

/// Types of tombstones (KeyValue.Type).
pub mod tombstone {
    pub const VERSION: u8 = 8;
    pub const FAMILY_VERSION: u8 = 10;
    pub const COLUMN: u8 = 12;
    pub const FAMILY: u8 = 14;
}

/// Timestamp and type behind the names of a key.
const KEY_END: usize = 9;

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or_else(|| Error::protocol("a cell is cut off"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| Error::protocol("a number is cut off"))
    }

    fn length(&mut self) -> Result<usize> {
        let length = i32::from_be_bytes(self.number()?);
        usize::try_from(length).map_err(|_| Error::protocol("a length below zero"))
    }
}

/// All cells of a block.
pub fn decode(block: &[u8]) -> Result<Vec<Cell>> {
    let mut reader = Reader(block);
    let mut cells = Vec::new();
    while !reader.0.is_empty() {
        let len = reader.length()?;
        cells.push(decode_one(reader.take(len)?)?);
    }
    Ok(cells)
}

fn decode_one(bytes: &[u8]) -> Result<Cell> {
    let mut reader = Reader(bytes);
    let (key_len, value_len) = (reader.length()?, reader.length()?);
    let mut key = Reader(reader.take(key_len)?);
    let value = reader.take(value_len)?.to_vec();
    let row_len = usize::from(u16::from_be_bytes(key.number()?));
    let row = key.take(row_len)?.to_vec();
    let [family_len] = key.number()?;
    let family = key.take(usize::from(family_len))?.to_vec();
    let rest = key.0.len().checked_sub(KEY_END).ok_or_else(|| Error::protocol("a key is cut off"))?;
    let qualifier = key.take(rest)?.to_vec();
    let timestamp = i64::from_be_bytes(key.number()?);
    let [kind] = key.number()?;
    Ok(Cell { row, family, qualifier, timestamp, kind, value })
}

/// Appends a cell to a block.
pub fn encode(cell: &Cell, block: &mut Vec<u8>) {
    let key_len = 2 + cell.row.len() + 1 + cell.family.len() + cell.qualifier.len() + KEY_END;
    let number = |len: usize| u32::try_from(len).unwrap_or(u32::MAX).to_be_bytes();
    block.extend(number(8 + key_len + cell.value.len()));
    block.extend(number(key_len));
    block.extend(number(cell.value.len()));
    block.extend(u16::try_from(cell.row.len()).unwrap_or(u16::MAX).to_be_bytes());
    block.extend(&cell.row);
    block.push(u8::try_from(cell.family.len()).unwrap_or(u8::MAX));
    block.extend(&cell.family);
    block.extend(&cell.qualifier);
    block.extend(cell.timestamp.to_be_bytes());
    block.push(cell.kind);
    block.extend(&cell.value);
}

impl From<PbCell> for Cell {
    fn from(cell: PbCell) -> Self {
        Self {
            row: cell.row.unwrap_or_default(),
            family: cell.family.unwrap_or_default(),
            qualifier: cell.qualifier.unwrap_or_default(),
            timestamp: cell.timestamp.unwrap_or_default().cast_signed(),
            kind: cell.kind.and_then(|kind| u8::try_from(kind).ok()).unwrap_or(PUT),
            value: cell.value.unwrap_or_default(),
        }
    }
}

/// The cells of an outcome: those in it, then those that it counts in the block.
pub fn of_outcome(outcome: Outcome, block: &mut impl Iterator<Item = Cell>) -> Result<Vec<Cell>> {
    let counted = usize::try_from(outcome.associated_cell_count.unwrap_or(0)).unwrap_or(0);
    let mut cells: Vec<Cell> = outcome.cell.into_iter().map(Cell::from).collect();
    let own = cells.len();
    cells.extend(block.take(counted));
    if cells.len() - own == counted { Ok(cells) } else { Err(Error::protocol("cells are missing in the block")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a server of 2.6.4 sent of a raw scan: row `r` with a put and the tombstone of its version, row `s`.
    const RECORDED: &str = concat!(
        "000000170000000f000000000001720166710000018bcfe5680008000000190000000f000000020001720166710000018bcf",
        "e56800047631000000170000000f0000000000017301666e0000018bcfe5680104000000190000000f000000020001730166",
        "710000018bcfe56800047631",
    );

    #[test]
    fn a_recorded_block_is_read_and_written_alike() {
        let block = hex::decode(RECORDED).unwrap();
        let cells = decode(&block).unwrap();
        let cell = |row: &str, qualifier: &str, timestamp, kind, value: &str| Cell {
            row: row.into(),
            family: b"f".to_vec(),
            qualifier: qualifier.into(),
            timestamp,
            kind,
            value: value.into(),
        };
        let expected = [
            cell("r", "q", 1_700_000_000_000, 8, ""),
            cell("r", "q", 1_700_000_000_000, PUT, "v1"),
            cell("s", "n", 1_700_000_000_001, PUT, ""),
            cell("s", "q", 1_700_000_000_000, PUT, "v1"),
        ];
        assert_eq!(cells, expected);
        let mut again = Vec::new();
        cells.iter().for_each(|cell| encode(cell, &mut again));
        assert_eq!(again, block);
    }

    #[test]
    fn every_cut_and_every_wrong_length_is_an_error_and_no_fault() {
        let block = hex::decode(RECORDED).unwrap();
        let whole = [27, 56, 83, 112];
        for end in 1..block.len() {
            assert_eq!(decode(&block[..end]).is_ok(), whole.contains(&end), "{end}");
        }
        for at in 0..block.len() {
            for value in [0, 0x7F, 0xFF] {
                let mut wrong = block.clone();
                wrong[at] = value;
                let _ = decode(&wrong);
            }
        }
    }
}
