//! The requests about open files.

pub(super) mod asked;
pub(super) mod close;
pub(super) mod create;
pub(super) mod io;
pub(super) mod open;
