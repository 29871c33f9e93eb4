//! Who tells the kernel what has changed.

pub(super) mod changed;
pub mod notices;
