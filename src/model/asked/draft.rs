//! A value on its way to a cell, written piece by piece.

use crate::Result;
use crate::model::Value;

/// Bytes that a backend takes before it is told of the cell that they are for. What it began with is not changed, and
/// what is dropped leaves nothing behind.
pub trait Draft: Send {
    /// Bytes of the value as it is now.
    fn len(&self) -> u64;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of it that take room: what it is longer by reads as zeros.
    fn filled(&self) -> Result<u64> {
        Ok(self.len())
    }

    /// At most `len` bytes from `offset`; fewer at the end alone.
    fn read(&mut self, offset: u64, len: usize) -> Result<Vec<u8>>;

    /// Writes at `offset`; zeros come between the end and a place behind it. After an error, as of all that fails here,
    /// it is as it was.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<()>;

    /// Cuts it, or extends it with zeros. An empty one has no room to give back, and is as a new one.
    fn resize(&mut self, len: u64) -> Result<()>;

    /// The bytes as the value of a Put. The draft goes on, and what is written later is not in that value.
    fn value(&mut self) -> Result<Value>;
}
