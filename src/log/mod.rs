//! The write-ahead log: records of cells that are in no extent yet, one file for each memtable.
//!
//! A record is one atomic batch; each of its cells verifies itself. Must not know the memtable, nor when a file is
//! covered.

mod batch;
mod bytes;
mod cell;
mod file;
mod nothing;
mod past;
mod record;
mod replay;
mod tail;
mod turns;
mod whole;
mod words;
mod writer;

pub use batch::{Batch, NoCells, TakeCell};
pub use bytes::Bytes;
pub use cell::{FoundCell, LogCell};
pub use file::{FileHeader, HEADER, list, path_of};
pub use past::{Becomes, counting, header_of, last_edit, list_past, past_path, prune, retire, store_of};
pub use record::RECORD_HEADER;
pub use replay::{Damage, Record, Walk, read};
pub use tail::Tail;
pub use whole::{Whole, write_whole};
pub use writer::{Log, Written};

#[cfg(test)]
mod tests;
