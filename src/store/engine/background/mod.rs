//! Work that threads of the store do: who is told of it, at which pace it goes, who waits for it, who does what alone.

pub mod backlog;
pub mod chores;
pub mod hurry;
pub mod pace;
pub mod signals;
pub mod turns;
