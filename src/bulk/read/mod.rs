//! Records on their way into a table: bytes cut into records, records read as changes of a row.
//!
//! Holds one record. Must not know where the bytes come from, nor what becomes of the changes.

pub(super) mod array;
pub(super) mod change;
pub(super) mod delimited;
pub(super) mod json;
pub(super) mod records;
pub(super) mod split;
