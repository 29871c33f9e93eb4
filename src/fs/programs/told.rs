//! What was said once and is not said again: what a dated name means, and what a directory of the past may lack.

use std::collections::VecDeque;

use crate::env::sync::Mutex;
use crate::model::{ColumnKey, TableName};
use crate::tree::place::NodeKey;

/// Families that are remembered as told.
const FAMILIES: usize = 1000;

/// Families in which somebody was told what a dated name means.
#[derive(Default)]
pub(in crate::fs) struct ToldFamilies(Mutex<Vec<(TableName, String)>>);

impl ToldFamilies {
    /// Whether this is the first time.
    pub(in crate::fs) fn first(&self, column: &ColumnKey) -> bool {
        let mut told = self.0.lock();
        let known = told.iter().any(|(table, family)| *table == column.table && *family == column.family);
        if !known && told.len() < FAMILIES {
            told.push((column.table.clone(), column.family.clone()));
        }
        !known
    }
}

/// Directories of which it was said lately.
const DIRECTORIES: usize = 1000;

/// Directories of which somebody was told that something may lack.
#[derive(Default)]
pub(in crate::fs) struct ToldDirectories(Mutex<VecDeque<NodeKey>>);

impl ToldDirectories {
    pub(in crate::fs) fn has(&self, key: &NodeKey) -> bool {
        self.0.lock().contains(key)
    }

    pub(in crate::fs) fn add(&self, key: &NodeKey) {
        let mut told = self.0.lock();
        if told.len() == DIRECTORIES {
            told.pop_front();
        }
        told.push_back(key.clone());
    }
}
