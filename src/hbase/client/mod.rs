//! A client of Apache HBase (2.4 and later) in blocking calls: rows, scans, tables, snapshots.
//!
//! A library of its own: it knows nothing of trees, mounts or backends, and imports no other room. Threads: one for each
//! connection, which reads; callers write and wait. Nothing is asked without a time limit.

#![expect(clippy::disallowed_types, reason = "a library of its own, which no simulation schedules")]

mod admin;
mod cluster;
mod deadline;
mod error;
mod find;
pub mod proto;
mod retry;
mod scanner;
mod table;
pub mod wire;

pub use cluster::{Cluster, Config};
pub use deadline::within;
pub use error::{Error, Kind, Result};
pub use find::address::{Address, is_address};
pub use find::region::Region;
pub use retry::random;
pub use scanner::{Part, Scanner};
pub use table::Applied;
pub use wire::cell::Cell;
pub use wire::compress::Compression;
pub use wire::connection::Server;
pub use wire::tls::TlsOptions;
