//! The mounts that the kernel has, where their daemons listen, and daemons that it holds.

pub mod held;
pub mod locate;
pub(super) mod places;
pub(super) mod watched;
