//! Bytes between here and a server.

pub mod cell;
pub(super) mod compress;
pub(super) mod connection;
pub(super) mod stream;
pub(super) mod tls;
