//! Entries of secondary indexes: how they are keyed, and which a batch of cells needs.
//!
//! An entry is a put without a value in the hidden family of its index. The row of its key is a 1 byte (the form of
//! entries) and the indexed value's first bytes, the qualifier is the row that has it, the timestamp is always 0: so a
//! value that is written again makes no more of them, and they sort by value, then by row.

use std::collections::BTreeSet;

use crate::Result;
use crate::format::key;
use crate::model::{
    By, Catalogue, CellKind, FamilyId, FamilySchema, IndexColumn, IndexSchema, SeqNo, TableSchema, Tags, Timestamp,
    Value,
};
use crate::store::engine::Engine;
use crate::store::plan::batch::{Prepared, Ready};
use crate::store::plan::planned::Planned;

/// Bytes of a value that its entry has; longer ones share it, and the rows tell them apart.
pub const CUT: usize = 256;
/// The form of entries, and the first byte of what is no entry of this form.
const FORM: u8 = 1;
const BEHIND: u8 = FORM + 1;
/// Of every entry.
pub const TIME: Timestamp = Timestamp::ZERO;

/// What an entry has of a value.
pub fn cut(value: &[u8]) -> &[u8] {
    &value[..value.len().min(CUT)]
}

/// The row of an entry's key.
pub fn entry_row(value: &[u8]) -> Vec<u8> {
    [&[FORM], cut(value)].concat()
}

/// The key of an entry, without a sequence number.
pub fn entry_key(value: &[u8], row: &[u8]) -> Vec<u8> {
    key::cell_key(&entry_row(value), row, TIME, CellKind::Put, SeqNo(0))
}

/// What the keys of all entries of a value begin with.
pub fn value_prefix(value: &[u8]) -> Vec<u8> {
    key::row_prefix(&entry_row(value))
}

/// The keys between which all entries lie that a question may need: from one on, and before another.
pub fn range_of(by: &By) -> (Vec<u8>, Vec<u8>) {
    let (from, before) = (&by.within.from, &by.within.before);
    let end = match before.len() {
        0 => vec![BEHIND],
        // A greater value may have the same first bytes as the bound.
        len if len > CUT => key::prefix_end(&value_prefix(before)),
        _ => value_prefix(before),
    };
    (value_prefix(from), end)
}

/// The value's first bytes and the row of an entry's key; `None`: it is none.
pub fn decode(key: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let parts = key::decode(key)?;
    let value = parts.row.strip_prefix(&[FORM])?.to_vec();
    Some((value, parts.qualifier))
}

/// Whether a column is the one that the entries of an index are of.
fn is_of(index: &IndexSchema, family: &FamilySchema, qualifier: &[u8]) -> bool {
    let is_it = |column: &IndexColumn| column.family == family.name && column.qualifier == qualifier;
    index.columns.first().is_some_and(is_it)
}

/// An entry that a batch needs.
pub struct Entry<'a> {
    table: &'a TableSchema,
    family: &'a FamilySchema,
    value: Vec<u8>,
    row: &'a [u8],
}

impl<'a> Entry<'a> {
    /// As a cell of the same batch.
    pub fn ready(&'a self) -> Ready<'a> {
        let cell = Planned {
            family: self.family,
            qualifier: self.row.to_vec(),
            timestamp: TIME,
            kind: CellKind::Put,
            tags: Tags::default(),
            value: Value::Bytes(Vec::new()),
        };
        Ready::new((self.table, &self.value), cell, Prepared::Bytes(Vec::new()))
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        (self.value.len() + self.row.len()) as u64
    }
}

/// The entries of the puts of a batch, each once.
pub fn entries_of<'a>(engine: &Engine, batch: &[Ready<'a>]) -> Result<Vec<Entry<'a>>> {
    let mut entries = Vec::new();
    let mut seen = BTreeSet::new();
    #[cfg(test)]
    if engine.breaks(crate::store::options::Broken::WritesNoEntries) {
        return Ok(entries);
    }
    for cell in batch.iter().filter(|cell| cell.kind.is_put() && !cell.table.indexes.is_empty()) {
        // The entries of another index are not indexed: its family is none of the table's.
        let is_own = cell.table.families.get(&cell.family.name).is_some_and(|own| own.id == cell.family.id);
        for index in cell.table.indexes.values().filter(|_| is_own) {
            if is_of(index, cell.family, &cell.qualifier) {
                let value = entry_row(&engine.values.of_memory(&cell.cell, 0, CUT)?);
                if batch.len() == 1 || seen.insert((index.entries.id, value.clone(), cell.row)) {
                    entries.push(Entry { table: cell.table, family: &index.entries, value, row: cell.row });
                }
            }
        }
    }
    Ok(entries)
}

/// The hidden families of the indexes of a catalogue that answers can be made by.
pub fn complete_entries(catalogue: &Catalogue) -> BTreeSet<FamilyId> {
    let indexes = catalogue.tables.values().flat_map(|table| table.indexes.values());
    indexes.filter(|index| index.is_complete()).map(|index| index.entries.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ColumnSlice;

    #[test]
    fn entries_sort_as_values_do_and_ranges_hold_theirs() {
        let long = |last: u8| [vec![7; CUT + 3], vec![last]].concat();
        let values: Vec<Vec<u8>> =
            vec![vec![], vec![0], vec![0, 0], vec![0, 1], vec![1], b"a".to_vec(), long(1), long(2), vec![0xFF; 300]];
        let mut sorted = values.clone();
        sorted.sort();
        let keys: Vec<Vec<u8>> = sorted.iter().map(|value| value_prefix(value)).collect();
        assert!(keys.is_sorted());
        for from in &sorted {
            for before in &sorted {
                let within = ColumnSlice { from: from.clone(), before: before.clone() };
                let (first, end) = range_of(&By { within: within.clone(), ..By::default() });
                for value in sorted.iter().filter(|value| within.contains(value)) {
                    let key = key::cell_key(&entry_row(value), b"row", TIME, CellKind::Put, SeqNo(9));
                    assert!(key >= first && key < end, "{value:?} in {within:?}");
                    assert_eq!(decode(&key), Some((cut(value).to_vec(), b"row".to_vec())));
                }
            }
        }
    }
}
