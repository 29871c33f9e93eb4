//! The bytes of the log: files, records, cells.

pub(super) mod batch;
pub(super) mod bytes;
pub(super) mod cell;
pub(super) mod file;
pub(super) mod record;
pub(super) mod words;
