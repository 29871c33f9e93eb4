//! The filesystem as programs see it, on a real mount.

mod backup;
mod cache;
mod cells;
mod commands;
mod directories;
mod dropped;
mod errors;
mod expiry;
pub mod fixture;
mod info;
mod inline;
mod large;
mod lifecycle;
mod limits;
mod model;
mod names;
mod operator;
mod programs;
mod random_store;
mod real_tree;
mod refusals;
mod renames;
mod service;
mod shortened;
mod snapshots;
mod stopped;
mod uncommitted;
