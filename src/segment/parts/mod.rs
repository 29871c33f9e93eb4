//! The parts that a segment consists of, as bytes and as values.

pub(super) mod block;
pub(super) mod cell;
pub(super) mod chunks;
pub(super) mod columns;
pub(super) mod entry;
pub(super) mod facts;
pub(super) mod filter;
pub(super) mod index;
pub(super) mod piece;
pub(super) mod sketch;
pub(super) mod trailer;
