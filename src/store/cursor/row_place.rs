//! The row that several cursors read together.

use super::row_cells::SharedCursor;
use super::walk::Cursor;
use crate::Result;
use crate::format::key;
use crate::model::{KeyList, RowKey};

/// Cells of a column that are passed one by one before the rest is jumped over.
const STEPS: usize = 8;

/// See the module. Its buffers are used again, so that a row costs no allocation.
#[derive(Default)]
pub struct RowPlace {
    prefix: Vec<u8>,
    /// Whether a byte of the row is escaped in the prefix.
    is_escaped: bool,
}

impl RowPlace {
    /// Goes to the least row of these keys, at which cursors stand; whether there is one.
    pub fn enter(&mut self, each: impl FnOnce(&mut dyn FnMut(&[u8]))) -> bool {
        let mut found = false;
        each(&mut |key| {
            if !found || key < self.prefix.as_slice() {
                self.set_prefix(key);
                found = true;
            }
        });
        found
    }

    /// As [`RowPlace::enter`], of one cursor.
    #[inline]
    pub fn enter_at(&mut self, key: Option<&[u8]>) -> bool {
        let Some(key) = key else { return false };
        self.set_prefix(key);
        true
    }

    #[inline]
    fn set_prefix(&mut self, key: &[u8]) {
        // A key that is none stands for itself.
        let (len, is_escaped) = key::row_part(key).unwrap_or((key.len(), true));
        self.prefix.clear();
        self.prefix.extend_from_slice(&key[..len]);
        self.is_escaped = is_escaped;
    }

    /// What the keys of its cells begin with.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Goes to the least row at which one of the cursors stands; whether there is one.
    pub fn enter_least<'c>(&mut self, cursors: impl Iterator<Item = &'c SharedCursor>) -> bool {
        self.enter(|take| cursors.for_each(|cursor| cursor.lock().key().into_iter().for_each(&mut *take)))
    }

    /// Whether a cursor that has come to the row stands in it.
    pub fn holds(&self, cursor: &Cursor) -> bool {
        cursor.key().is_some_and(|key| key.starts_with(&self.prefix))
    }

    /// Whether a cursor stands where tombstones of its family may be, which have the empty qualifier and so stand first.
    pub fn begins_empty(&self, cursor: &Cursor) -> bool {
        let is_empty = |key: &[u8]| key.len() <= self.prefix.len() + key::EMPTY + key::SUFFIX;
        self.holds(cursor) && cursor.key().is_some_and(is_empty)
    }

    /// Passes the cells of the column in which the cursor stands; whether it is still in the row then.
    pub fn pass_column(&self, column: &[u8], cursor: &mut Cursor) -> Result<bool> {
        for _ in 0..STEPS {
            cursor.advance()?;
            if !cursor.goes_on_with(column) {
                return Ok(cursor.goes_on_with(&self.prefix));
            }
        }
        cursor.seek(&key::prefix_end(column))?;
        Ok(self.holds(cursor))
    }

    /// Appends its key to others.
    #[inline]
    pub fn put_row(&self, rows: &mut KeyList) {
        match self.prefix.len().checked_sub(key::EMPTY) {
            Some(len) if !self.is_escaped => rows.push(&self.prefix[..len]),
            _ => self.row().into_iter().for_each(|row| rows.push(&row)),
        }
    }

    /// Its key; `None`: none was entered yet.
    pub fn row(&self) -> Option<RowKey> {
        key::row_of(&self.prefix)
    }
}

impl Cursor {
    /// Moves past a row, before whose end all of its lanes are in that row.
    pub fn pass_row(&mut self, row: &RowPlace) -> Result<()> {
        if row.holds(self) { self.leave_row(row) } else { Ok(()) }
    }

    /// As [`Cursor::pass_row`], of a row in which it stands.
    pub fn leave_row(&mut self, row: &RowPlace) -> Result<()> {
        self.leave(row.prefix())
    }
}
