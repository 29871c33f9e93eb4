//! Path <-> key: the names of the tree, what a name in a directory stands for, and listings.
//!
//! Knows the backend's contract; must not know handles, inodes, errno or FUSE.

mod answer;
pub mod argument;
mod asked;
mod asked_list;
mod chosen;
mod complete;
mod count;
mod entries;
mod entry;
pub mod escape;
mod export;
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
mod marks;
mod path;
pub mod place;
pub mod qualifiers;
pub mod question;
pub mod resolve;
pub mod sample;
pub mod schema;
pub mod schema_constraint;
pub mod schema_family;
pub mod schema_index;
mod schema_place;
mod schema_splits;
mod spelling;
pub mod suffix;
pub mod times;
mod ungiven;
