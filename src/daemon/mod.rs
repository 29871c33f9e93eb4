//! The process that serves a mount: daemonizing, readiness, signals, and the control socket on both ends.

mod confine;
pub mod control;
pub mod find;
mod life;
pub mod mounts;
mod numbers;

pub use control::served::{serve_to_the_end, serves_others};
pub use find::left::{left_behind, store_left_at};
pub use find::open::{Absent, check_writable, open_backend, open_mounted};
pub use life::guard::Guard;
pub use life::lifecycle::mount;
pub use life::request::MountRequest;
pub use numbers::DaemonNumbers;
