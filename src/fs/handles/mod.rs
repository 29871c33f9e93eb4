//! Open files and directories, and where a listing is.

pub(super) mod ahead;
pub(super) mod closing;
pub(super) mod cookies;
pub(super) mod cursor;
pub(super) mod feeds;
pub(super) mod held;
pub(super) mod intake;
pub(super) mod passed;
pub(super) mod table;
