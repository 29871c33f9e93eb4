//! Reading a segment: its extents, their cells in order, and what is damaged of them.

pub(super) mod cache;
pub(super) mod cursor;
pub(super) mod draw;
pub(super) mod extent;
pub(super) mod rebuild;
pub(super) mod source;
pub(super) mod verify;
pub(super) mod window;
