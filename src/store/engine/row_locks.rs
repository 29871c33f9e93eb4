//! Locks of rows, and of values that are to be unique, which share them by hash.

use std::collections::BTreeSet;
use std::hash::BuildHasher;

use rustc_hash::FxBuildHasher;

use crate::env::sync::{Mutex, MutexGuard};
use crate::model::TableSchema;

/// So many for rows,
const STRIPES: usize = 1024;
/// and for values.
const OF_VALUES: usize = 256;

/// Locks of rows. Of a store that takes no changes there are none.
#[derive(Default)]
pub struct RowLocks(Vec<Mutex<()>>);

impl RowLocks {
    pub fn new() -> Self {
        Self((0..STRIPES).map(|_| Mutex::new(())).collect())
    }

    /// The lock of a row.
    pub fn lock(&self, table: &TableSchema, row: &[u8]) -> MutexGuard<'_, ()> {
        self.0[stripe(table, row)].lock()
    }

    /// The locks of two rows.
    pub fn lock_two(&self, one: (&TableSchema, &[u8]), other: (&TableSchema, &[u8])) -> Vec<MutexGuard<'_, ()>> {
        let mut stripes = [stripe(one.0, one.1), stripe(other.0, other.1)];
        // Order: ascending, so that two of these never wait for each other.
        stripes.sort_unstable();
        let distinct = if stripes[0] == stripes[1] { &stripes[..1] } else { &stripes[..] };
        distinct.iter().map(|&s| self.0[s].lock()).collect()
    }

    /// The locks of many rows of a table.
    pub fn lock_many<'r>(&self, table: &TableSchema, rows: impl Iterator<Item = &'r [u8]>) -> Vec<MutexGuard<'_, ()>> {
        // Order: ascending, as in [`RowLocks::lock_two`].
        let stripes: BTreeSet<usize> = rows.map(|row| stripe(table, row)).collect();
        stripes.into_iter().map(|stripe| self.0[stripe].lock()).collect()
    }
}

fn stripe(table: &TableSchema, row: &[u8]) -> usize {
    FxBuildHasher.hash_one((table.id.0, row)) as usize % STRIPES
}

/// Locks of values that are to be unique. Of a store that takes no changes there are none.
#[derive(Default)]
pub struct ValueLocks(Vec<Mutex<()>>);

impl ValueLocks {
    pub fn new() -> Self {
        Self((0..OF_VALUES).map(|_| Mutex::new(())).collect())
    }

    /// The locks of values by their hashes.
    pub fn lock_many(&self, hashes: impl Iterator<Item = u64>) -> Vec<MutexGuard<'_, ()>> {
        // Order: ascending, as in [`RowLocks::lock_two`].
        let stripes: BTreeSet<usize> = hashes.map(|hash| hash as usize % OF_VALUES).collect();
        stripes.into_iter().map(|stripe| self.0[stripe].lock()).collect()
    }
}
