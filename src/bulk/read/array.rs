//! The brackets and commas around objects: which end of an array has come, and where a row was lost.

use serde::{Deserialize, Serialize};

/// What of an array stands before a place between two records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Array {
    /// None is open: objects may stand one after the other, without commas.
    #[default]
    Closed,
    /// Its bracket, or a comma behind a row.
    Awaits,
    /// A row.
    Row,
}

impl Array {
    /// Behind a byte that stands between objects.
    #[must_use]
    pub fn behind_byte(self, byte: u8) -> Self {
        match (self, byte) {
            (_, b']') => Self::Closed,
            (Self::Closed, b'[') | (Self::Row, b',') => Self::Awaits,
            (before, _) => before,
        }
    }

    /// Behind a record. One that is no object reaches up to the end of its line, with what stands there of the array.
    #[must_use]
    pub fn behind_record(self, record: &[u8]) -> Self {
        match (self, record.last()) {
            (before, None) => before,
            (Self::Closed, _) => Self::Closed,
            (_, Some(b'}')) => Self::Row,
            (_, Some(b',')) => Self::Awaits,
            (_, Some(_)) => Self::Closed,
        }
    }

    /// Whether a record is a row of it that no comma separates from the one before.
    pub fn lacks_comma(self, record: &[u8]) -> bool {
        self == Self::Row && record.starts_with(b"{")
    }

    pub fn is_open(self) -> bool {
        self != Self::Closed
    }
}
