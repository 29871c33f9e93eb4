//! From a path to a store, and to who serves it.

pub mod dead;
pub mod held;
pub mod left;
pub mod locate;
pub(super) mod open;
pub(super) mod places;
pub mod serving;
