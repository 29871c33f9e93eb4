//! Cells on their way back into their rows, many rows in one step: what a row requires comes with what requires it.

use std::sync::Arc;

use crate::backend::Backend;
use crate::model::{ColumnKey, ManyRows, Mutation, Origin, PutCell, RowKey, RowMutations, TableName, to_string_binary};
use crate::{ErrorKind, Result};

/// Cells and bytes that are put in one step at the most.
const CELLS: usize = 10_000;
const BYTES: u64 = 16 << 20;

/// Whether some of the cells may be taken: others are refused, or something was written there meanwhile.
fn is_of_some(kind: ErrorKind) -> bool {
    kind.is_of_what_is_put() || kind == ErrorKind::Overtaken
}

/// Bytes that a cell takes in a step, about.
fn held(row: &RowKey, cell: &PutCell) -> u64 {
    cell.value.len() + (row.len() + cell.qualifier.len()) as u64
}

/// See the module. Holds one step.
pub(super) struct BringBack {
    backend: Arc<dyn Backend>,
    table: Option<TableName>,
    /// Of the table, each once, in the order in which they came.
    rows: Vec<(RowKey, Vec<PutCell>)>,
    /// In all rows, and bytes that they take.
    cells: usize,
    bytes: u64,
    /// Cells that the table does not take, or over which something was written meanwhile.
    pub left: u64,
}

impl BringBack {
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self { backend, table: None, rows: Vec::new(), cells: 0, bytes: 0, left: 0 }
    }

    /// Adds a cell; those of a row come one after the other.
    pub fn add(&mut self, column: &ColumnKey, cell: PutCell) -> Result<()> {
        let len = held(&column.row, &cell);
        if self.table.as_ref().is_some_and(|table| *table != column.table) {
            self.put()?;
        }
        if self.is_full(len) {
            // A row that has begun stays together, where it fits.
            let begun = self.rows.pop_if(|(row, _)| *row == column.row);
            self.put()?;
            let (row, cells) = begun.unwrap_or_default();
            cells.into_iter().for_each(|cell| self.hold(&row, cell));
        }
        if self.is_full(len) {
            self.put()?;
        }
        self.table = Some(column.table.clone());
        self.hold(&column.row, cell);
        Ok(())
    }

    /// Whether a step has no room for a cell that takes `len` bytes.
    fn is_full(&self, len: u64) -> bool {
        self.cells > 0 && (self.cells >= CELLS || self.bytes + len > BYTES)
    }

    fn hold(&mut self, row: &RowKey, cell: PutCell) {
        self.cells += 1;
        self.bytes += held(row, &cell);
        match self.rows.last_mut() {
            Some((last, cells)) if last == row => cells.push(cell),
            _ => self.rows.push((row.clone(), vec![cell])),
        }
    }

    /// Puts what is gathered; of what is not taken together each row, then each cell that is taken by itself. The others
    /// are told.
    pub fn put(&mut self) -> Result<()> {
        let Some(table) = self.table.clone() else { return Ok(()) };
        let rows = std::mem::take(&mut self.rows);
        (self.cells, self.bytes) = (0, 0);
        if rows.len() > 1 {
            let all = rows.iter().map(|(row, cells)| (row.clone(), vec![Mutation::Put(cells.clone())])).collect();
            let (durability, origin) = (None, Origin::default());
            let many = ManyRows { table: table.clone(), rows: all, durability, origin, keeps_files: false };
            match self.backend.mutate_rows(many) {
                Err(e) if is_of_some(e.kind) => {}
                done => return done,
            }
        }
        rows.into_iter().try_for_each(|(row, cells)| self.put_row(&table, &row, cells))
    }

    fn put_row(&mut self, table: &TableName, row: &RowKey, cells: Vec<PutCell>) -> Result<()> {
        let put = |cells: Vec<PutCell>| {
            let (table, row, mutations) = (table.clone(), row.clone(), vec![Mutation::Put(cells)]);
            self.backend
                .mutate(RowMutations { table, row, mutations, durability: None, origin: Origin::default() }, None)
        };
        if cells.len() > 1 {
            match put(cells.clone()) {
                Err(e) if is_of_some(e.kind) => {}
                done => return done.map(drop),
            }
        }
        for cell in cells {
            let column = format!("{}:{}", cell.family, to_string_binary(&cell.qualifier));
            match put(vec![cell]) {
                Err(e) if is_of_some(e.kind) => {
                    self.left += 1;
                    let row = to_string_binary(row);
                    super::complain(&format!("{table} {row} {column} is not brought back: {}", e.message));
                }
                done => drop(done?),
            }
        }
        Ok(())
    }
}
