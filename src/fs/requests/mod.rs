//! What is counted, refused and measured of each request, whichever it is.

pub(super) mod measured;
pub(super) mod refused;
pub(super) mod writable;
