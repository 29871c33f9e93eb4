//! Opening a store: who has it, who it is, and how its parts are made from what its directory has.

pub(super) mod identity;
pub(super) mod lock;
pub(super) mod opening;
pub(super) mod reading;
pub(super) mod twofold;
