//! Thin adaptor to `fuser`: each request becomes one call of `fs`, each answer one reply.
//!
//! The only room that knows `fuser`. A panic in a handler is caught: the request gets EIO, the thread lives on.

mod adaptor;
mod answer;
mod apart;
mod behind;
mod convert;
mod idling;
mod mounting;
mod notify;
mod threads;

pub use idling::Idle;
pub use mounting::{Detach, MountSettings, Mounted, abort, abort_by, abort_file, remount, unmount};
