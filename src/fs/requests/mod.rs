//! What is counted, refused and measured of each request, whichever it is.

pub mod measured;
pub mod refused;
pub(super) mod writable;
