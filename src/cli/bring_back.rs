//! Cells on their way back into a row, together: what a row requires comes with what requires it.

use std::sync::Arc;

use crate::Result;
use crate::backend::Backend;
use crate::model::{ColumnKey, Mutation, Origin, PutCell, RowKey, RowMutations, TableName, to_string_binary};

/// Cells and bytes of a row that are put in one step at the most.
const CELLS: usize = 10_000;
const BYTES: u64 = 16 << 20;

/// See the module. Holds one step.
pub(super) struct BringBack {
    backend: Arc<dyn Backend>,
    row: Option<(TableName, RowKey)>,
    cells: Vec<PutCell>,
    /// Of their values.
    bytes: u64,
    /// Cells that the table does not take.
    pub left: u64,
}

impl BringBack {
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self { backend, row: None, cells: Vec::new(), bytes: 0, left: 0 }
    }

    /// Adds a cell; those of a row come one after the other.
    pub fn add(&mut self, column: &ColumnKey, cell: PutCell) -> Result<()> {
        let is_of = |(table, row): &(TableName, RowKey)| *table == column.table && *row == column.row;
        let len = cell.value.len();
        if !self.row.as_ref().is_some_and(is_of) || self.cells.len() >= CELLS || self.bytes + len > BYTES {
            self.put()?;
            self.row = Some((column.table.clone(), column.row.clone()));
        }
        self.bytes += len;
        self.cells.push(cell);
        Ok(())
    }

    /// Puts what is gathered; of what is not taken together each cell that is taken by itself. The others are told.
    pub fn put(&mut self) -> Result<()> {
        let Some((table, row)) = self.row.take() else { return Ok(()) };
        let cells = std::mem::take(&mut self.cells);
        self.bytes = 0;
        let put = |cells: Vec<PutCell>| {
            let (table, row, mutations) = (table.clone(), row.clone(), vec![Mutation::Put(cells)]);
            self.backend
                .mutate(RowMutations { table, row, mutations, durability: None, origin: Origin::default() }, None)
        };
        if cells.len() > 1 {
            match put(cells.clone()) {
                Err(e) if e.kind.is_of_what_is_put() => {}
                done => return done.map(drop),
            }
        }
        for cell in cells {
            let column = format!("{}:{}", cell.family, to_string_binary(&cell.qualifier));
            match put(vec![cell]) {
                Err(e) if e.kind.is_of_what_is_put() => {
                    self.left += 1;
                    let row = to_string_binary(&row);
                    super::complain(&format!("{table} {row} {column} is not brought back: {}", e.message));
                }
                done => drop(done?),
            }
        }
        Ok(())
    }
}
