//! Thin adaptor to `fuser`: each request becomes one call of `fs`, each answer one reply.
//!
//! The only room that knows `fuser`. A panic in a handler is caught: the request gets EIO, the thread lives on.

mod abort;
mod adaptor;
mod answer;
mod apart;
mod behind;
mod convert;
mod mount;
mod notify;
mod remount;
mod threads;
mod unmount;

pub use abort::{abort, abort_by, abort_file};
pub use mount::{MountSettings, Mounted};
pub use remount::remount;
pub use unmount::{Detach, unmount};
