//! Chunks in blob files: where they lie, how they come there, what is damaged.

pub(super) mod cache;
pub(super) mod chunk;
pub(super) mod files;
pub(super) mod header;
pub(super) mod recover;
pub(super) mod sync;
pub(super) mod table;
pub(super) mod verify;
pub(super) mod walk;
