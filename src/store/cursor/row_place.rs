//! The row that several cursors read together.

use super::{Cursor, SharedCursor};
use crate::Result;
use crate::format::key;
use crate::model::RowKey;

/// Cells of a column that are passed one by one before the rest is jumped over.
const STEPS: usize = 8;

/// See the module. Its buffers are used again, so that a row costs no allocation.
#[derive(Default)]
pub struct RowPlace {
    prefix: Vec<u8>,
    end: Vec<u8>,
}

impl RowPlace {
    /// Goes to the least row of these keys, at which cursors stand; whether there is one.
    pub fn enter(&mut self, each: impl FnOnce(&mut dyn FnMut(&[u8]))) -> bool {
        let (mut found, prefix) = (false, &mut self.prefix);
        each(&mut |key| {
            let row = key::row_prefix_len(key).and_then(|len| key.get(..len)).unwrap_or(key);
            if !found || row < prefix.as_slice() {
                prefix.clear();
                prefix.extend_from_slice(row);
                found = true;
            }
        });
        key::set_prefix_end(&self.prefix, &mut self.end);
        found
    }

    /// What the keys of its cells begin with.
    pub fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// The first key that is past them.
    pub fn end(&self) -> &[u8] {
        &self.end
    }

    /// Goes to the least row at which one of the cursors stands; whether there is one.
    pub fn enter_least<'c>(&mut self, cursors: impl Iterator<Item = &'c SharedCursor>) -> bool {
        self.enter(|take| cursors.for_each(|cursor| cursor.lock().key().into_iter().for_each(&mut *take)))
    }

    /// Whether a cursor that has come to the row stands in it.
    pub fn holds(&self, cursor: &Cursor) -> bool {
        cursor.key().is_some_and(|key| key < self.end())
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

    /// Its key; `None`: none was entered yet.
    pub fn row(&self) -> Option<RowKey> {
        key::row_of(&self.prefix)
    }
}
