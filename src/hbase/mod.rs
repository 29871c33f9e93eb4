//! Apache HBase as a store: a client of its own, and the backend's contract on it.

pub mod client;
