//! The process that serves a mount: daemonizing, readiness, signals, and the control socket on both ends.

pub mod control;
pub mod find;
mod life;
mod numbers;

pub use control::served::{serve_to_the_end, serves_others};
pub use find::open::{Absent, left_behind, open_backend};
pub use life::guard::Guard;
pub use life::lifecycle::mount;
pub use life::request::MountRequest;
pub use numbers::DaemonNumbers;
