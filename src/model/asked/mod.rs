//! What a store is asked, and how it answers.

pub(super) mod check;
pub(super) mod draft;
pub(super) mod mutation;
pub(super) mod piece;
pub(super) mod query;
pub(super) mod ttl;
