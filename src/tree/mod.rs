//! Path <-> key: the names of the tree, what a name in a directory stands for, and listings.
//!
//! Knows the backend's contract; must not know handles, inodes, errno or FUSE.

pub mod asking;
pub mod base;
pub mod facts;
pub mod found;
pub mod history;
pub mod list;
pub mod made;
pub mod named;
pub mod names;
pub mod path;
pub mod place;
pub mod resolve;
pub mod schema;
pub mod stored;
pub mod texts;
pub mod ungiven;
pub mod view;
