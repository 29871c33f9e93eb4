//! The brackets and commas around objects: which end of an array has come, and where a row was lost.

use serde::{Deserialize, Serialize};

/// What of an array stands before a place between two records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Array {
    /// None is open: objects may stand one after the other, without commas.
    #[default]
    Closed,
    /// Its bracket.
    Begun,
    /// A comma behind a row.
    Awaits,
    /// A row.
    Row,
    /// A bracket or a comma where none may be, in an array.
    Torn,
    /// The same where no array is open.
    Stray,
}

impl Array {
    /// Behind a byte that stands between objects.
    #[must_use]
    pub fn behind_byte(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Closed, b'[') => Self::Begun,
            (Self::Begun | Self::Row, b']') => Self::Closed,
            (Self::Row, b',') => Self::Awaits,
            (Self::Begun | Self::Awaits | Self::Row, b'[' | b',' | b']') => Self::Torn,
            (Self::Closed, b',' | b']') => Self::Stray,
            (before, _) => before,
        }
    }

    /// Behind a record. One that is no object reaches up to the end of its line, with what stands there of the array.
    #[must_use]
    pub fn behind_record(self, record: &[u8]) -> Self {
        match (self, record.last()) {
            (before, None) => before,
            (Self::Closed | Self::Stray, _) => Self::Closed,
            (_, Some(b'}')) => Self::Row,
            (_, Some(b',')) => Self::Awaits,
            (_, Some(_)) => Self::Closed,
        }
    }

    /// Why an object that stands behind this cannot be taken.
    pub fn fault(self, record: &[u8]) -> Option<&'static str> {
        let lacks = "no comma separates it from the row before it in the array: write one, or a part is missing there";
        let torn = "a `[`, `]` or comma stands before it where none may be: take it away, or a part is missing there";
        match self {
            Self::Row => Some(lacks),
            Self::Torn | Self::Stray => Some(torn),
            Self::Closed | Self::Begun | Self::Awaits => None,
        }
        .filter(|_| record.starts_with(b"{"))
    }

    /// Why a stream may not end here.
    pub fn fault_at_end(self) -> Option<&'static str> {
        let open = "the array does not end: no `]` stands behind its rows, and some of them may be cut off";
        let torn = "a `[`, `]` or comma stands at the end where none may be: a part may be missing before it";
        match self {
            Self::Closed => None,
            Self::Begun | Self::Awaits | Self::Row => Some(open),
            Self::Torn | Self::Stray => Some(torn),
        }
    }
}
