//! Bytes that are being written, from open(2) to the version that they become.

pub(super) mod append;
pub(super) mod closing;
pub(super) mod commit;
pub(super) mod content;
pub(super) mod copies;
pub(super) mod running;
pub(super) mod told;
pub(super) mod write;
