//! Listings: pages of entries, resumed by key.

pub mod entries;
pub mod entry;
pub mod few;
pub mod listing;
