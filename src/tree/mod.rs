//! Path <-> key: the names of the tree, what a name in a directory stands for, and listings.
//!
//! Knows the backend's contract; must not know handles, inodes, errno or FUSE.

pub mod escape;
pub mod info;
pub mod json;
pub mod listing;
pub mod made;
pub mod place;
pub mod resolve;
pub mod schema;
pub mod suffix;
pub mod times;
