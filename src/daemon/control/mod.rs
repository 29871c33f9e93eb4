//! The control socket, from both sides.

pub mod client;
pub(super) mod connection;
pub(super) mod crowd;
pub(super) mod line;
pub(super) mod listening;
pub(super) mod parts;
pub(super) mod pieces;
pub(super) mod process;
pub mod protocol;
pub(super) mod served;
pub(super) mod server;
