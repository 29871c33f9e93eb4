//! What scenarios need of a store under test.

use cellfs::Result;
use cellfs::backend::CompactionKind;
use cellfs::model::{Condition, Get, Mutated, RowMutations, RowResult, Scan, TableSchema, Timestamp};

/// A store with one table and a clock that only moves when it is told to.
pub trait Subject {
    fn set_now(&mut self, now: Timestamp);
    fn mutate(&mut self, mutations: RowMutations, condition: Option<Condition>) -> Result<Mutated>;
    fn get(&mut self, get: &Get) -> Result<RowResult>;
    fn scan(&mut self, scan: &Scan) -> Result<Vec<RowResult>>;
    fn flush(&mut self) -> Result<()>;
    fn compact(&mut self, family: Option<&str>, kind: CompactionKind) -> Result<()>;
    /// Merges the `files` newest flushed files of each family; `None`: all but the oldest, at most 3.
    fn compact_files(&mut self, _files: Option<usize>) -> Result<()> {
        self.compact(None, CompactionKind::Minor)
    }
}

/// Makes an empty store with this table, the clock at its default.
pub type NewSubject = dyn Fn(TableSchema) -> Box<dyn Subject>;
