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

mod area;
mod block;
mod cache;
mod cell;
mod chunks;
mod columns;
mod cursor;
mod draw;
mod entry;
mod extent;
mod extent_writer;
mod facts;
mod filter;
mod gather;
mod index;
mod output;
mod piece;
mod rebuild;
mod sketch;
mod source;
mod trailer;
mod verify;
mod window;
mod writer;

#[cfg(test)]
mod tests;

pub use cache::{Cache, Caching};
pub use cell::{CellRef, NewCell, StoredValue, TagsRef, ValuePlace};
pub use chunks::ChunkSet;
pub use columns::ColumnFacts;
pub use cursor::{ExtentCursor, Reading};
pub use extent::{Extent, Segment};
pub use facts::{DUE_MOMENTS, ExtentFacts, Place, TombstoneCounts};
pub use filter::FilterKind;
pub use sketch::Sketch;
pub use writer::{ExtentOptions, SegmentWriter};
