//! What is declared: its changes, what they refuse, and what was dropped and may come back.

pub(super) mod attribute_times;
pub(super) mod change;
pub(super) mod complete;
pub(super) mod dropped;
mod emptied;
pub(super) mod events;
pub(super) mod index_states;
pub(super) mod prove;
pub(super) mod restore;
pub(super) mod tables;
pub(super) mod upkeep;
