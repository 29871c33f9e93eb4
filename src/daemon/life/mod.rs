//! A mount from its command to its end: daemonizing, readiness, signals, rights.

pub(super) mod ending;
pub(super) mod guard;
pub(super) mod inherited;
pub(super) mod lifecycle;
pub(super) mod made;
pub(super) mod read_only;
pub(super) mod request;
pub(super) mod service;
pub(super) mod told;
