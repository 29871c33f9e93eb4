//! What the kernel is shown of nodes: what is there, its attributes, how long they may be kept.

pub(super) mod access;
pub(super) mod attr;
pub(super) mod entry;
pub(super) mod expiry;
pub(super) mod kernel;
pub(super) mod known;
pub(super) mod touch;
