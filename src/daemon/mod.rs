//! The process that serves a mount: daemonizing, readiness, signals, and the control socket on both ends.

pub mod client;
mod confine;
mod connection;
mod crowd;
pub mod dead;
mod ending;
mod guard;
pub mod held;
mod inherited;
mod lifecycle;
mod line;
mod listening;
pub mod locate;
mod made;
mod numbers;
mod open;
mod parts;
mod pieces;
mod places;
mod process;
pub mod protocol;
mod read_only;
mod request;
mod served;
mod server;
mod service;
pub mod sockets;
mod told;

pub use guard::Guard;
pub use lifecycle::mount;
pub use numbers::DaemonNumbers;
pub use open::{Absent, left_behind, open_backend};
pub use request::MountRequest;
pub use served::{serve_to_the_end, serves_others};
