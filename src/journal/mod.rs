//! The journal of edits: which extents, blobs, tables and snapshots count. Every change of a store's structure is one
//! record of it, and nothing else is asked what exists.
//!
//! Must not know what is in an extent, nor who reads it.

mod delta;
mod edit;
mod files;
mod fold;
mod named;
mod record;
mod state;

pub use delta::CatalogueDelta;
pub use edit::{Edit, Item, Reference, SnapshotRecord};
pub use files::{Found, Journal, Opened, Seen, Unsaved};
pub use fold::Problem;
pub use state::{BlobRecord, Held, State};

#[cfg(test)]
mod tests;
