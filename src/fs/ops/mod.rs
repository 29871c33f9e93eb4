//! The requests about names and attributes, one file each.

pub(super) mod attr;
pub(super) mod directory;
pub(super) mod files;
pub(super) mod list_ahead;
pub(super) mod listing;
pub(super) mod remove;
pub(super) mod removing;
pub(super) mod rename;
pub(super) mod rename_cell;
pub(super) mod rename_table;
pub(super) mod setattr;
pub(super) mod xattr;
