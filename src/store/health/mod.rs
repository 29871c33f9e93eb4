//! What was found damaged or lost, and how far the store had come: noted beside it.

pub(super) mod boot;
pub(super) mod damage;
pub(super) mod lost;
pub(super) mod progress;
pub(super) mod said;
