//! Cells on their way into extents: of a memtable, of a load past it.

pub(super) mod flush;
pub(super) mod gathered;
pub(super) mod writing;
