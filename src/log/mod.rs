//! The write-ahead log: records of cells that are in no extent yet, one file for each memtable.
//!
//! A record is one atomic batch; each of its cells verifies itself. Must not know the memtable, nor when a file is
//! covered.

mod form;
mod nothing;
mod past;
mod replay;
mod room;
mod tail;
mod turns;
mod whole;
mod writer;

pub use form::batch::{Batch, NoCells, TakeCell};
pub use form::bytes::Bytes;
pub use form::cell::{FoundCell, LogCell};
pub use form::file::{FileHeader, HEADER, list, path_of};
pub use form::record::RECORD_HEADER;
pub use past::{Becomes, Headers, counting, header_of, headers, list_past, past_path, prune, retire, store_of};
pub use replay::{Damage, Record, Walk, read};
pub use tail::Tail;
pub use whole::{Whole, write_whole};
pub use writer::{Log, Written};

#[cfg(test)]
mod tests;
