//! cellfs: an HBase-model table store that is used as a filesystem.
//!
//! Rooms, imports only downwards: `cli`, `shell` > `daemon` > `fuse` > `fs` > `tree` > `bulk`, `store`, `hbase` > `backend` >
//! `journal`, `log`, `blob`, `query` > `visibility`, `segment` > `format`, `spill` > `env` > `model` > `error`.
//!
//! What must stay true:
//! * What exists is what the journal of edits says: one record is one change of all that counts.
//! * A file of the log goes only after an edit says that its cells are in segments; a segment or a blob only after an
//!   edit, on the disk twice, names it no more, and no reader has it.
//! * Files that edits name are on the disk before the edit is.
//! * What was synced and acknowledged survives a power cut; what was acknowledged survives the process.
//! * After a failed sync nothing is acknowledged any more.
//! * `model`, `visibility` and `query` do no I/O of their own and read no clock.
//! * `fs` does not know `fuser`; `store` does not know of mounts.
//! * No kernel notification is sent from a request handler or under a lock.
//! * Every request is answered exactly once.
//! * In new-version families a read's answer never depends on when a compaction ran; in classic
//!   families it depends on it exactly as HBase's does.
//! * Memory is bounded independently of the size of tables, histories and listings.

pub mod backend;
pub mod blob;
pub mod bulk;
pub mod cli;
pub mod daemon;
pub mod env;
pub mod error;
pub mod format;
pub mod fs;
pub mod fuse;
pub mod hbase;
pub mod journal;
pub mod log;
pub mod model;
pub mod query;
pub mod segment;
pub mod shell;
pub mod spill;
pub mod store;
pub mod tree;
pub mod visibility;

pub use error::{Error, ErrorKind, Result};
