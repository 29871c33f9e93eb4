//! The requests about names and attributes, one file each.

pub mod attr;
pub mod directory;
pub mod files;
pub mod list_ahead;
pub mod listing;
pub mod remove;
pub(super) mod removing;
pub mod rename;
pub(super) mod rename_cell;
pub(super) mod rename_table;
pub mod setattr;
pub mod xattr;
