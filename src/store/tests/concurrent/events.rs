//! What happens to a place while others happen: an operation with a beginning and an end, or a read.

use std::collections::{BTreeMap, BTreeSet};

/// Order of beginnings and ends.
pub type Tick = u64;
/// What a column shows: the number of a put, or nothing.
pub type Shown = Option<u64>;

/// What a table shows that is there; no value has this number.
pub const EXISTS: u64 = 0;

/// A column of a table, or the table's being there (with an empty name of the row).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub table: String,
    pub row: String,
    pub qualifier: String,
}

impl Place {
    pub fn column(table: &str, row: &str, qualifier: &str) -> Self {
        Self { table: table.into(), row: row.into(), qualifier: qualifier.into() }
    }

    pub fn table(table: &str) -> Self {
        Self::column(table, "", "")
    }
}

/// What the columns of a table may have shown at some moment.
pub type Content = BTreeMap<(String, String), BTreeSet<Shown>>;

/// What an event puts.
#[derive(Clone, Debug)]
pub enum Puts {
    OneOf(BTreeSet<Shown>),
    /// What another place shows meanwhile, but for nothing.
    CopyOf(Place),
    /// What another place shows meanwhile.
    SameAs(Place),
}

/// How sure an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    Sure,
    /// Its answer was an error that does not tell, or the machine stopped.
    Unknown,
    /// It was not done at all, but may have been seen.
    Refused,
}

/// What a stop of the machine leaves of an event that was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It is on the disk.
    Always,
    /// The process has written it.
    Process,
    /// Memory alone has it.
    Nowhere,
}

#[derive(Clone, Debug)]
pub struct Event {
    pub puts: Puts,
    pub begin: Tick,
    /// `None`: it goes on.
    pub end: Option<Tick>,
    pub certainty: Certainty,
    pub kept: Kept,
    pub what: Kind,
    /// Events of one operation share a number; 0: it has no other.
    pub operation: u64,
    /// What it is a copy of: if that is lost, so is this.
    pub source: Option<Puts>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A record of the log.
    Record,
    Other,
    /// What was read.
    Seen,
}

/// A running operation on one place.
pub type EventId = (Place, usize);
