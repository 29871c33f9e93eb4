//! The index: an SQLite database that says where each cell's value lies. Derived from the log.
//!
//! The only room that knows SQLite. Every row is verified against its own checksum when it is read,
//! because SQLite does not see damage to its pages. Must not know rules of visibility.

mod db;
pub mod key;
mod meta;
mod readers;
mod row;
mod spill;

pub use db::{Change, Direction, Index, Opened};
pub use meta::{Checkpoint, FamilyStats, Meta, SegmentStats};
pub use row::IndexRow;
pub use spill::{SpillMap, first_part, join_key, past_key};
