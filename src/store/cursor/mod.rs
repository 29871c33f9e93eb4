//! Forward walks over the cells of memtables and extents of a family as one sorted sequence, and what a read sees of them.

pub(super) mod front;
pub(super) mod lane;
pub(super) mod lent;
pub(super) mod looks;
pub(super) mod row_cells;
pub(super) mod row_place;
pub(super) mod view;
pub(super) mod walk;

#[cfg(test)]
mod tests;
