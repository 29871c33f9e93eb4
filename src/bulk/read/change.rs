//! What a record says, and what is wrong with one.

use crate::model::{DeleteMarker, FileChange, FileTime, PutCell, RowKey, Timestamp, check_row, parse_cell_ttl};

/// Why a record cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Of `csv` and `tsv` the number of the field, else of the byte in its line; from 1.
    pub column: Option<u64>,
    pub reason: String,
}

impl Fault {
    pub fn new(column: u64, reason: impl Into<String>) -> Self {
        Self { column: Some(column), reason: reason.into() }
    }

    /// Of the record as a whole.
    pub fn whole(reason: impl Into<String>) -> Self {
        Self { column: None, reason: reason.into() }
    }
}

/// One change of a row.
#[derive(Clone, Debug)]
pub enum Change {
    Put(PutCell),
    /// A tombstone whose time the record says.
    Delete(DeleteMarker),
    /// One whose time is that of the import: it hides what the records before it have put.
    DeleteNow(DeleteMarker),
}

impl Change {
    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Put(put) => size_of::<Self>() + put.qualifier.len() + usize::try_from(put.value.len()).unwrap_or(0),
            Self::Delete(_) | Self::DeleteNow(_) => size_of::<Self>(),
        }
    }

    /// The family that it is about.
    pub fn family(&self) -> &str {
        use crate::model::DeleteKind::{Column, Family, FamilyVersion, Row, Version};
        match self {
            Self::Put(put) => &put.family,
            Self::Delete(marker) | Self::DeleteNow(marker) => match &marker.kind {
                Version { family, .. } | Column { family, .. } | Family { family } | FamilyVersion { family } => family,
                Row => "",
            },
        }
    }
}

/// A record, read.
#[derive(Clone, Debug)]
pub struct Changes {
    pub row: RowKey,
    pub changes: Vec<Change>,
}

/// What records are read by.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Of what says no timestamp itself: one for all of an import, so that a record that is read again changes nothing.
    pub time: Timestamp,
    /// Of the same, if it is another.
    pub mtime: Option<FileTime>,
    /// Longest value in bytes.
    pub value_limit: u64,
}

impl Terms {
    /// Refuses keys that no row has.
    pub fn row(row: Vec<u8>, column: u64) -> Result<RowKey, Fault> {
        match check_row(&row) {
            Ok(()) => Ok(row),
            Err(e) => Err(Fault::new(column, e.message)),
        }
    }

    /// What is set on the file of a cell that says no timestamp.
    pub fn file(&self) -> FileChange {
        FileChange::of_time(self.mtime)
    }

    /// Refuses a value that the store would.
    pub fn check_len(&self, len: usize, column: u64) -> Result<(), Fault> {
        if len as u64 <= self.value_limit {
            return Ok(());
        }
        let text = format!("the value has {len} bytes; this store takes {} at most", self.value_limit);
        Err(Fault::new(column, text))
    }

    /// A timestamp as it is written.
    pub fn timestamp(text: &str, column: u64) -> Result<Timestamp, Fault> {
        let wanted = || format!("`{}` is no timestamp: milliseconds since 1970, 0 to {}", shown(text), Timestamp::MAX);
        match text.parse() {
            Ok(at) if (0..=Timestamp::MAX.0).contains(&at) => Ok(Timestamp(at)),
            _ => Err(Fault::new(column, wanted())),
        }
    }

    /// A TTL as it is written.
    pub fn ttl(text: &str, column: u64) -> Result<u64, Fault> {
        parse_cell_ttl(text).map_err(|e| Fault::new(column, e.message))
    }
}

/// A text of a record in a sentence: its beginning.
pub fn shown(text: &str) -> String {
    const SHOWN: usize = 40;
    let cut: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(SHOWN).is_some() { cut + "..." } else { cut }
}
