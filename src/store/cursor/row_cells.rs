//! The cells of a row that a cursor walks over.

use std::sync::Arc;

use super::walk::Cursor;
use crate::Result;
use crate::env::sync::Mutex;
use crate::format::key;
use crate::model::StoredCell;
use crate::visibility::CellSource;

/// One row of a cursor.
pub struct RowCells<'c> {
    cursor: &'c mut Cursor,
    prefix: Vec<u8>,
    end: Vec<u8>,
}

/// As [`RowCells`], of a cursor that goes on to other rows later.
pub struct SharedRow {
    cursor: SharedCursor,
    prefix: Vec<u8>,
    end: Vec<u8>,
}

/// A cursor that several rows are read from, one after the other.
pub type SharedCursor = Arc<Mutex<Cursor>>;

impl SharedRow {
    pub fn new(cursor: &SharedCursor, prefix: Vec<u8>) -> Self {
        Self { cursor: Arc::clone(cursor), end: key::prefix_end(&prefix), prefix }
    }
}

impl<'c> RowCells<'c> {
    /// The cells of a row, whose keys begin with `prefix`, before `end`.
    pub fn until(cursor: &'c mut Cursor, prefix: Vec<u8>, end: Vec<u8>) -> Self {
        Self { cursor, prefix, end }
    }
}

fn after_column(prefix: &[u8], qualifier: &[u8]) -> Vec<u8> {
    key::prefix_end(&key::column_prefix(prefix, qualifier))
}

impl CellSource for RowCells<'_> {
    fn next(&mut self) -> Result<Option<StoredCell>> {
        self.cursor.next_before(&self.end, self.prefix.len())
    }

    fn skip_column(&mut self, qualifier: &[u8]) -> Result<()> {
        self.cursor.seek(&after_column(&self.prefix, qualifier))
    }

    fn seek_column(&mut self, qualifier: &[u8]) -> Result<()> {
        self.cursor.seek(&key::column_prefix(&self.prefix, qualifier))
    }
}

impl CellSource for SharedRow {
    fn next(&mut self) -> Result<Option<StoredCell>> {
        self.cursor.lock().next_before(&self.end, self.prefix.len())
    }

    fn skip_column(&mut self, qualifier: &[u8]) -> Result<()> {
        self.cursor.lock().seek(&after_column(&self.prefix, qualifier))
    }

    fn seek_column(&mut self, qualifier: &[u8]) -> Result<()> {
        self.cursor.lock().seek(&key::column_prefix(&self.prefix, qualifier))
    }
}

impl Cursor {
    /// The cells of one row, from where the cursor is.
    pub fn row(&mut self, prefix: Vec<u8>) -> RowCells<'_> {
        let end = key::prefix_end(&prefix);
        RowCells::until(self, prefix, end)
    }
}
