//! The filesystem as programs see it, on a real mount.

mod cache;
mod cells;
mod directories;
mod errors;
mod expiry;
mod fixture;
mod info;
pub mod fixture;
mod lifecycle;
mod model;
mod names;
mod programs;
mod real_tree;
mod refusals;
mod renames;
