//! The client, the mount and the commands on a real HBase, which the tests fetch and start.

mod addresses;
mod agree;
mod client;
mod commands;
mod killed;
mod server;
mod tree;
