//! The client, the mount and the commands on a real HBase, which the tests fetch and start.

mod addresses;
mod agree;
mod calls;
mod client;
mod commands;
mod control;
mod copy;
mod cut;
mod faults;
mod hidden;
mod killed;
mod masterless;
mod moves;
mod own_tables;
mod read_only;
mod regions;
mod scenarios;
mod server;
mod servers;
mod shell;
mod stalled;
mod tls;
mod tree;
mod writers;
