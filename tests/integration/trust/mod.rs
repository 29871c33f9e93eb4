//! Damage, races, full disks, strangers: what a store must survive without a wrong value.

mod check;
mod foreign_hands;
pub mod full_disk;
mod gone;
mod many_cells;
mod odd_files;
mod races;
mod rights;
mod security;
mod slow_disk;
mod sync;
mod told;
