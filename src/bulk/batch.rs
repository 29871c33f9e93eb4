//! Changes on their way to the store: many rows in one step.

use std::collections::BTreeMap;

use crate::model::{DeleteMarker, ManyRows, Mutation, Origin, PutCell, RowKey, TableName};

use super::read::change::{Change, Changes};

/// Bytes of keys and values, and cells, that are written in one step at the most; a single record may be more.
const BYTES: usize = 512 << 10;
const CELLS: usize = 4000;
/// Tombstones of a row that wait for its end at the most.
const WAITING: usize = 10_000;

/// A row of a batch, with the records that have said it.
#[derive(Default)]
struct Row {
    key: RowKey,
    /// Each with the number of its record in [`Batch::sources`].
    puts: Vec<(usize, PutCell)>,
    restores: Vec<(usize, PutCell)>,
    deletes: Vec<DeleteMarker>,
    /// Of what was taken of them, in that order.
    taken: Vec<usize>,
    /// Numbers of the first and the last of them in [`Batch::sources`].
    sources: (usize, usize),
}

/// A record of a batch: its line, and its bytes up to here in [`Batch::text`].
struct Source {
    line: u64,
    end: usize,
}

/// See the module.
#[derive(Default)]
pub(super) struct Batch {
    rows: Vec<Row>,
    sources: Vec<Source>,
    text: Vec<u8>,
    bytes: usize,
    cells: usize,
    /// All that is in it are tombstones that hide what was put before.
    hides: bool,
    /// Tombstones of the last row. They stand before what they hide in an export, and have to come behind it: in families
    /// with NEW_VERSION_BEHAVIOR a tombstone hides what was put before it.
    waiting: Vec<DeleteMarker>,
    last_row: RowKey,
    /// See [`super::reached::Tally`].
    pub comes_back: bool,
}

/// A record that a store has refused: line and bytes.
pub(super) type Refused<'b> = (u64, &'b [u8]);

impl Batch {
    /// Whether the batch must be written before this is added.
    pub fn is_full_for(&self, changes: &Changes) -> bool {
        let hides = changes.changes.iter().any(|change| matches!(change, Change::DeleteNow(_)));
        let bytes: usize = changes.changes.iter().map(Change::bytes).sum();
        self.cells > 0
            && (self.bytes + bytes > BYTES || self.cells + changes.changes.len() > CELLS || hides != self.hides)
    }

    /// Whether no more tombstones of a row can wait for its end.
    pub fn waits_long(&self) -> bool {
        self.waiting.len() > WAITING
    }

    /// Whether all of what was added is in it: nothing waits for the end of a row.
    pub fn is_whole(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A record is about a row that goes another way; whether it is another than that of the record before.
    pub fn comes_to(&mut self, row: &RowKey) -> bool {
        let is_new = *row != self.last_row;
        if is_new {
            self.comes_back |= *row < self.last_row;
            self.last_row.clone_from(row);
        }
        is_new
    }

    /// Adds what a record says; whether its row is another than that of the record before.
    pub fn add(&mut self, changes: Changes, line: u64, text: &[u8]) -> bool {
        let is_new = changes.row != self.last_row;
        if is_new {
            self.end_row();
            self.comes_back |= changes.row < self.last_row;
            self.last_row.clone_from(&changes.row);
        }
        self.text.extend_from_slice(text);
        self.sources.push(Source { line, end: self.text.len() });
        self.bytes += text.len().max(changes.row.len());
        let source = self.sources.len() - 1;
        let at = self.open(source);
        let row = &mut self.rows[at];
        row.sources.1 = source;
        self.cells += changes.changes.len();
        for change in changes.changes {
            self.bytes += change.bytes();
            match change {
                Change::Put(put) if put.ended_at.is_some() => row.restores.push((source, put)),
                Change::Put(put) => row.puts.push((source, put)),
                Change::Delete(marker) => self.waiting.push(marker),
                Change::DeleteNow(marker) => {
                    self.hides = true;
                    row.deletes.push(marker);
                }
            }
        }
        is_new
    }

    /// The number of the last row, if it is that of the record that is added; else of a new one.
    fn open(&mut self, source: usize) -> usize {
        if self.rows.last().is_none_or(|row| row.key != self.last_row) {
            self.rows.push(Row { key: self.last_row.clone(), sources: (source, source), ..Row::default() });
        }
        self.rows.len() - 1
    }

    /// No more is said of the last row: its tombstones follow.
    pub fn end_row(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let waiting = std::mem::take(&mut self.waiting);
        let source = self.sources.len().saturating_sub(1);
        let at = self.open(source);
        self.rows[at].deletes.extend(waiting);
        self.cells += 1;
    }

    /// All of it for the store, in the order of its rows, some of which may have nothing; it still knows its records,
    /// until [`Batch::clear`].
    pub fn take(&mut self, table: &TableName) -> ManyRows {
        let rows = self.rows.iter_mut().map(|row| {
            let mut mutations = Vec::with_capacity(1);
            row.taken = row.puts.iter().chain(&row.restores).map(|(source, _)| *source).collect();
            if !row.puts.is_empty() {
                mutations.push(Mutation::Put(row.puts.drain(..).map(|(_, put)| put).collect()));
            }
            mutations.extend(row.restores.drain(..).map(|(_, put)| Mutation::Restore(Box::new(put))));
            // Each by itself: a tombstone of a family takes the place of those before it in one Delete.
            mutations.extend(row.deletes.drain(..).map(|marker| Mutation::Delete(vec![marker])));
            (row.key.clone(), mutations)
        });
        ManyRows {
            table: table.clone(),
            rows: rows.collect(),
            durability: None,
            origin: Origin::default(),
            keeps_files: true,
        }
    }

    /// What was taken of a row, record by record in their order, each with the number of its record. Tombstones follow: some
    /// of them have waited for the end of the row.
    pub fn apart(&self, row: usize, mutations: &[Mutation]) -> Vec<(usize, Vec<Mutation>)> {
        let Some(row) = self.rows.get(row) else { return Vec::new() };
        if row.sources.0 == row.sources.1 {
            return vec![(row.sources.0, mutations.to_vec())];
        }
        let (mut parts, mut deletes) = (BTreeMap::<usize, Vec<Mutation>>::new(), Vec::new());
        let mut sources = row.taken.iter().copied();
        let mut next = || sources.next().unwrap_or(row.sources.1);
        for mutation in mutations {
            match mutation {
                Mutation::Put(cells) => {
                    for cell in cells {
                        let part = parts.entry(next()).or_default();
                        match part.last_mut() {
                            Some(Mutation::Put(cells)) => cells.push(cell.clone()),
                            _ => part.push(Mutation::Put(vec![cell.clone()])),
                        }
                    }
                }
                Mutation::Restore(_) => parts.entry(next()).or_default().push(mutation.clone()),
                _ => deletes.push(mutation.clone()),
            }
        }
        let mut parts: Vec<_> = parts.into_iter().collect();
        if !deletes.is_empty() {
            parts.push((row.sources.1, deletes));
        }
        parts
    }

    /// A record of it, by its number.
    pub fn record(&self, number: usize) -> Option<Refused<'_>> {
        let start = number.checked_sub(1).map_or(0, |before| self.sources[before].end);
        let source = self.sources.get(number)?;
        Some((source.line, &self.text[start..source.end]))
    }

    /// Begins the next one; what waits for the end of a row still does.
    pub fn clear(&mut self) {
        let (waiting, last_row) = (std::mem::take(&mut self.waiting), std::mem::take(&mut self.last_row));
        self.rows.clear();
        self.sources.clear();
        self.text.clear();
        (self.bytes, self.cells, self.hides) = (0, 0, false);
        (self.waiting, self.last_row) = (waiting, last_row);
    }
}
