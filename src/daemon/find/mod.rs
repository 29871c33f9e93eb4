//! From a path to a store, and to who serves it.

pub mod dead;
pub mod left;
pub(super) mod open;
pub mod reach;
pub mod serving;
