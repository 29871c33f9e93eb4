//! The log: segments of checksummed records; the truth of the store.
//!
//! A segment is a header and records. A record is one atomic batch: a header and cell entries, each of
//! which verifies itself, so that a value is read with one positioned read. Must not know the index,
//! the memtable or any rule of visibility.

mod dead;
mod entry;
mod file;
mod log;
mod nothing;
mod reader;
mod record;
mod replay;
mod rescue;
mod rewrite;
mod salvage;
mod segments;
mod shift;
mod sum;
mod value;
mod varint;
mod waiting;
mod write;

pub use dead::{DeadFile, DeadMarks, append_all_dead, append_dead, look_at_dead, read_dead};
pub use entry::{Entry, Head};
pub(crate) use entry::{put_handle, put_tags, tag_flags, take_handle, take_tags};
pub use log::{Appended, Log, LogOptions, NewCell};
pub use reader::ValueReader;
pub use record::{RECORD_HEADER, SEGMENT_HEADER, SegmentOrigin, StoreId};
pub use replay::{Found, Headers, Replay, ReplayEvent, read_head, read_headers, replay_segment};
pub use rewrite::Rewriter;
pub use salvage::Salvage;
pub use segments::{Segment, Segments};
pub use shift::{Mending, mend, survey};
pub(crate) use sum::agree;
#[cfg(test)]
pub(crate) use sum::ignored;
pub use value::{Codec, Prepared, prepare};
pub(crate) use varint::{put_varint, take_varint};
pub use write::share_len;
