//! Open files and directories, and where a listing is.

pub(super) mod ahead;
pub(super) mod cursor;
pub(super) mod held;
pub(super) mod held_text;
pub(super) mod intake;
pub(super) mod passed;
pub(super) mod table;
