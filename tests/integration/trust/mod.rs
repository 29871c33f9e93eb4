//! Damage, races, full disks, strangers: what a store must survive without a wrong value.

mod check;
mod full_disk;
mod many_cells;
mod races;
mod security;
mod slow_disk;
mod sync;
