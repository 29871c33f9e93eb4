//! cellfs: an HBase-model table store that is used as a filesystem.
//!
//! Rooms, imports only downwards: `cli`, `shell` > `daemon` > `fuse` > `fs` > `tree` > `backend` >
//! `store` > `index`, `wal` > `query` > `visibility` > `model`; `env` and `error` below all.
//!
//! What must stay true:
//! * The log is the truth; the index is derived from it and can be rebuilt.
//! * The checkpoint commits in the same transaction as the rows it covers.
//! * A segment is purged only when nothing durable points into it.
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
pub mod cli;
pub mod daemon;
pub mod env;
pub mod error;
pub mod fs;
pub mod fuse;
pub mod index;
pub mod model;
pub mod query;
pub mod shell;
pub mod store;
pub mod tree;
pub mod visibility;
pub mod wal;

pub use error::{Error, ErrorKind, Result};
