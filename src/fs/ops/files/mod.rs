//! The requests about open files.

pub mod asked;
pub mod close;
pub mod create;
pub mod io;
pub mod open;
