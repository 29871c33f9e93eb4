//! The filesystem as programs see it, on a real mount.

mod backup;
mod cache;
mod cells;
mod directories;
mod errors;
mod fixture;
mod lifecycle;
mod model;
mod names;
mod random_store;
mod real_tree;
mod renames;
