//! Which server has what.

pub(super) mod address;
pub(super) mod locate;
pub(super) mod meta;
pub(super) mod region;
pub(super) mod registry;
pub(super) mod zookeeper;
