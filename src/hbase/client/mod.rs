//! A client of Apache HBase (2.4 and later) in blocking calls: rows, scans, tables, snapshots.
//!
//! A library of its own: it knows nothing of trees, mounts or backends, and imports no other room. Threads: one for each
//! connection, which reads; callers write and wait. Nothing is asked without a time limit.

#![expect(clippy::disallowed_types, reason = "a library of its own, which no simulation schedules")]

mod address;
mod admin;
mod admin_regions;
pub mod cell;
mod cluster;
mod compress;
mod connection;
mod deadline;
mod error;
mod locate;
mod meta;
pub mod proto;
mod region;
mod registry;
mod retry;
mod scanner;
mod snapshots;
mod stream;
mod table;
mod tls;
mod zookeeper;

pub use address::{Address, is_address};
pub use cell::Cell;
pub use cluster::{Cluster, Config};
pub use compress::Compression;
pub use connection::Server;
pub use deadline::within;
pub use error::{Error, Kind, Result};
pub use region::Region;
pub use retry::random;
pub use scanner::{Part, Scanner};
pub use table::Applied;
pub use tls::TlsOptions;
