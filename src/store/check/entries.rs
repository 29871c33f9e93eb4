//! Entries of secondary indexes beside the puts that they are of: a row without its entry is in no answer.
//!
//! Only what is flushed is looked at of the puts, with the entries in extents and in the log or in memory: a put that is
//! not flushed has its entry in the same record. Holds a row's values, and of a store that nobody has open the entries in
//! its log.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::walk::Checker;
use crate::Result;
use crate::blob::{Blobs, Root};
use crate::format::key;
use crate::journal::State;
use crate::log::Record;
use crate::model::{
    CellKind, CheckEvent, FamilySchema, Finding, IndexColumn, IndexSchema, SeqNo, Severity, TableSchema, Tags,
    ValueBytes, to_string_binary,
};
use crate::store::cursor::view::ReadView;
use crate::store::cursor::walk::Cursor;
use crate::store::layout::far::FAR;
use crate::store::layout::runs::{File, Layout};
use crate::store::memory::memtable::{MemCell, Memtable, Memtables};
use crate::store::secondary::entry::{CUT, TIME, cut, entry_row};
use crate::store::secondary::unique::shown;
use crate::{Error, ErrorKind};

/// Rows without their entries that are told of an index one by one.
const TOLD: u64 = 10;

/// What a store that nobody has open has in extents.
pub(super) fn layout_of(state: &Arc<State>, files: &[Arc<File>]) -> Arc<Layout> {
    let families = state.catalogue.stored_families().map(|family| family.id);
    let unknown = |number| {
        let segment = Err(Error::new(ErrorKind::Corrupt, format!("segment {number} is not there")));
        Arc::new(File { number, segment })
    };
    let mut open = |number| files.iter().find(|file| file.number == number).cloned().unwrap_or_else(|| unknown(number));
    Arc::new(Layout::default().changed(state, families, &mut open))
}

/// What it would show of its extents, and of the entries in its log.
pub(super) fn as_stored(layout: Arc<Layout>, records: &[Record]) -> ReadView {
    let entries: BTreeSet<_> = layout.state.catalogue.entry_families().map(|family| family.id).collect();
    let active = Memtable::default();
    let cells = records.iter().flat_map(|record| &record.cells);
    for cell in cells.filter(|cell| entries.contains(&cell.family)) {
        let column = (cell.row.as_slice(), cell.qualifier.as_slice());
        let put_key = |out: &mut Vec<u8>| key::put_cell_key(out, column, (TIME, CellKind::Put, SeqNo(0)));
        active.insert(cell.family, MemCell::new(put_key, &Tags::default(), ValueBytes::Bytes(&[])));
    }
    let tables = Arc::new(Memtables { active: Arc::new(active), frozen: Vec::new() });
    ReadView { read_point: SeqNo(u64::MAX), tables, layout, doubt: None, looks: Arc::default() }
}

impl Checker<'_> {
    /// Tells of rows that an index lacks which is believed to have them all.
    pub fn entries(&mut self, view: &ReadView, blobs: &Blobs) -> Result<()> {
        let catalogue = Arc::clone(&view.layout.state.catalogue);
        for table in catalogue.tables.values() {
            for index in table.indexes.values().filter(|index| index.is_complete()) {
                match self.entries_of_index(view, blobs, (table, index)) {
                    // It is told where blocks, chunks and the log are checked.
                    Err(e) if e.kind == ErrorKind::Corrupt => {}
                    done => done?,
                }
            }
        }
        Ok(())
    }

    fn entries_of_index(
        &mut self,
        view: &ReadView,
        blobs: &Blobs,
        (table, index): (&TableSchema, &IndexSchema),
    ) -> Result<()> {
        let Some(column) = index.columns.first() else { return Ok(()) };
        let Some(family) = table.families.get(&column.family) else { return Ok(()) };
        let Some(runs) = view.layout.runs(family.id) else { return Ok(()) };
        let mut cursor = Cursor::of_runs(family.id, &runs.runs, &[], FAR)?;
        let mut missing = 0;
        while let Some(key) = cursor.key() {
            let Some((prefix, row)) = key::row_prefix_len(key).and_then(|len| {
                let prefix = key[..len].to_vec();
                key::row_of(&prefix).map(|row| (prefix, row))
            }) else {
                return Err(Error::new(ErrorKind::Corrupt, "a stored cell has a key that is none"));
            };
            let column_prefix = key::column_prefix(&prefix, &column.qualifier);
            let end = key::prefix_end(&column_prefix);
            cursor.seek(&column_prefix)?;
            while cursor.key().is_some_and(|key| key < end.as_slice()) {
                if let Some(value) = first_bytes(&mut cursor, blobs)?
                    && !has_entry(view, &index.entries, &value, &row)?
                {
                    missing += 1;
                    if missing <= TOLD {
                        self.missing((table, index), column, (&row, &value))?;
                    }
                }
                cursor.advance()?;
            }
            cursor.seek(&key::prefix_end(&prefix))?;
        }
        match missing {
            0..=TOLD => Ok(()),
            more => {
                self.damage(named(table, index), None, format!("{more} versions have no entry, the first are told"))
            }
        }
    }

    fn missing(
        &mut self,
        (table, index): (&TableSchema, &IndexSchema),
        column: &IndexColumn,
        (row, value): (&[u8], &[u8]),
    ) -> Result<()> {
        self.summary.damages += 1;
        let text = format!(
            "it has no entry of {}, and does not find this row by it; `cellfs check --repair` has the index built anew, or \
             drop it and make it again",
            shown(&[value.to_vec()])
        );
        let column = format!("{}:{}", column.family, to_string_binary(&column.qualifier));
        let cell = Some(format!("row {}, column {column}", to_string_binary(row)));
        let (severity, file) = (Severity::Damage, named(table, index));
        (self.tell)(CheckEvent::Finding(Finding { severity, file, offset: None, cell, text }))
    }
}

fn named(table: &TableSchema, index: &IndexSchema) -> String {
    format!("index {} of table {}", index.name, table.name)
}

/// What an entry has of the value of the next cell; `None`: it is no put, or its value is lost.
fn first_bytes(cursor: &mut Cursor, blobs: &Blobs) -> Result<Option<Vec<u8>>> {
    let is_put = cursor.key().and_then(key::decode_suffix).is_some_and(|(_, kind, _)| kind.is_put());
    let Some((is_root, is_damaged)) = cursor.cell().map(|cell| (cell.is_root(), cell.is_damaged())) else {
        return Ok(None);
    };
    if !is_put || is_damaged {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    cursor.load_value(&mut bytes)?;
    if is_root {
        let root = Root::decode(&bytes).ok_or_else(crate::store::engine::values::no_root)?;
        return blobs.read(&root, 0, CUT).map(Some);
    }
    Ok(Some(cut(&bytes).to_vec()))
}

fn has_entry(view: &ReadView, entries: &FamilySchema, value: &[u8], row: &[u8]) -> Result<bool> {
    let prefix = key::column_prefix(&key::row_prefix(&entry_row(value)), row);
    Ok(Cursor::new(view, entries.id, &prefix, key::prefix_end(&prefix), 1)?.key().is_some())
}
