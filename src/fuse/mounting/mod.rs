//! Mounts made, changed and ended.
//!
//! Must not know the requests one by one.

mod abort;
mod mount;
mod remount;
mod unmount;

pub use abort::{abort, abort_by, abort_file};
pub use mount::{MountSettings, Mounted};
pub use remount::remount;
pub use unmount::{Detach, unmount};
