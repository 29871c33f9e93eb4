//! Writing a segment, extent after extent.

pub(super) mod area;
pub(super) mod extent_writer;
pub(super) mod gather;
pub(super) mod output;
pub(super) mod writer;
