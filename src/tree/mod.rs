//! Path <-> key: the names of the tree, what a name in a directory stands for, and listings.
//!
//! Knows the backend's contract; must not know handles, inodes, errno or FUSE.

mod complete;
pub mod escape;
mod facts;
pub mod history;
mod history_list;
pub mod info;
mod inline;
pub mod json;
pub mod judged;
pub mod keys;
pub mod listing;
pub mod made;
pub mod place;
pub mod resolve;
pub mod schema;
mod spelling;
pub mod suffix;
pub mod times;
mod ungiven;
