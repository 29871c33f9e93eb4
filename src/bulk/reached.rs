//! How far an import has come, and what it has done up to there.

use super::read::array::Array;

/// A place in a stream between two records: bytes and lines before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    pub bytes: u64,
    pub lines: u64,
    /// Of `json`.
    pub array: Array,
}

/// What an import has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Changes of rows: neighbouring records of a row are one.
    pub rows: u64,
    pub cells: u64,
    /// Lines, or rows, that were not taken.
    pub bad: u64,
    /// A row came behind a later one, as in an export of a history: it may have come before, and is counted again.
    pub comes_back: bool,
}

/// A place in a stream, and what of the stream before it was done by this import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reached {
    pub at: Position,
    pub tally: Tally,
}
