//! Mounts made, changed and ended.
//!
//! Must not know what requests do.

pub mod abort;
pub mod mount;
pub mod remount;
pub mod unmount;
