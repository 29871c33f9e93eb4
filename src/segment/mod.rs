//! Segments: immutable sorted files of cells, in extents, one sorted run of one family each.
//!
//! ```text
//! header | extent | extent ... | trailer | trailer again | footer
//! extent: group | group ... | list of groups | qualifiers | chunks | sketch
//! group:  block, its value area | block, its value area ... | index | filter | filter of family tombstones
//! ```
//! Every part lies under a check bound to store, file and place. A group ends when its index has 4 KiB, so that an index, as a
//! page of a filter, is one read. What an extent says about itself ([`ExtentFacts`]) is all that choosing, expiring and
//! passing by need.
//!
//! Must not know of other segments, of the log, nor which cells are visible.

mod parts;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use parts::cell::{CellRef, NewCell, StoredValue, TagsRef, ValuePlace};
pub use parts::chunks::ChunkSet;
pub use parts::columns::ColumnFacts;
pub use parts::facts::{DUE_MOMENTS, ExtentFacts, Place, TombstoneCounts};
pub use parts::filter::FilterKind;
pub use parts::sketch::Sketch;
pub use read::cache::{Cache, Caching};
pub use read::cursor::{ExtentCursor, Reading};
pub use read::extent::{Extent, Segment};
pub use write::writer::{ExtentOptions, SegmentWriter};
