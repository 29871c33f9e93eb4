//! The index: an SQLite database that says where each cell's value lies. Derived from the log.
//!
//! The only room that knows SQLite. Every row is verified against its own checksum when it is read,
//! because SQLite does not see damage to its pages. Must not know rules of visibility.

mod columns;
mod connect;
mod copy;
mod db;
mod former;
pub mod key;
mod lifetime;
mod look;
mod meta;
#[cfg(test)]
pub(crate) mod pages;
mod readers;
mod row;
mod shares;
mod shrink;
mod spill;
mod state;
mod verify;
mod view;
mod witness;

pub use columns::{COLUMNS_MAX, ColumnChanges, ColumnStats};
pub use copy::IndexCopy;
pub use db::{Change, Direction, Index, Opened};
pub use former::FormerIndex;
pub use lifetime::{Lifetime, Lifetimes};
pub use look::set_index_aside;
pub use meta::{
    Checkpoint, ColumnsKept, FamilyStats, Layer, Meta, RowPart, SegmentStats, Sums, own_entry_bytes, same_row,
};
pub use row::IndexRow;
pub use shares::ShareChanges;
pub use spill::{SpillMap, first_part, join_key, past_key};
pub use verify::Verified;
pub use view::IndexView;
pub use witness::Witness;
