//! What the kernel holds: nodes, their numbers and identities, what is known of them beside the store.

pub(super) mod astray;
pub(super) mod identities;
pub(super) mod modes;
pub(super) mod node;
pub(super) mod numbers;
pub(super) mod running;
pub(super) mod table;
pub(super) mod times;
