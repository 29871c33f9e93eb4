//! Bytes that are being written, from open(2) to the version that they become.

pub(super) mod append;
pub(super) mod commit;
pub(super) mod expired;
pub(super) mod load;
pub(super) mod moving;
pub(super) mod refused;
pub(super) mod told;
pub(super) mod write;
