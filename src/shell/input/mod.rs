//! Lines that are typed, pasted or read from a script.

pub(super) mod interactive;
pub(super) mod lines;
