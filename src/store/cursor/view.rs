//! What a read sees, and whether that may be less than what was acknowledged.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::model::{FamilyId, SeqNo};
use crate::store::layout::runs::Layout;
use crate::store::memory::memtable::Memtables;
use crate::{Error, ErrorKind, Result};

/// What a read sees: everything up to a sequence number, and the files that hold it.
#[derive(Clone)]
pub struct ReadView {
    pub read_point: SeqNo,
    pub tables: Arc<Memtables>,
    pub layout: Arc<Layout>,
    /// Up to which number the log has lost records that cannot be named: what a read finds may have been replaced by
    /// one of them, what it does not find may have been in one.
    pub doubt: Option<SeqNo>,
    /// Cells that reads have looked at.
    pub looks: Arc<AtomicU64>,
}

impl ReadView {
    /// Errors: it is not known what was lost.
    pub fn check_doubt(&self) -> Result<()> {
        self.doubt.map_or(Ok(()), |upto| Err(in_doubt(upto)))
    }

    /// Rows of a family in each of its runs; a row may be in several.
    pub fn rows_of_runs(&self, family: FamilyId) -> impl Iterator<Item = u64> {
        let runs = self.layout.runs(family).map(|runs| runs.runs.as_slice()).unwrap_or_default();
        runs.iter().map(|run| run.sum(|facts| facts.rows))
    }

    /// For those who have looked at each column themselves.
    pub fn without_doubt(&self) -> Self {
        Self { doubt: None, ..self.clone() }
    }
}

/// The refusal of a read that a lost record might have changed.
pub fn in_doubt(upto: SeqNo) -> Error {
    let text = format!(
        "the log was damaged and has lost records up to number {}, of which it is not known what they wrote: what is \
         stored may not be the newest. Restore from a backup what was written last, or go on without: \
         cellfs check --repair STORE",
        upto.0
    );
    Error::new(ErrorKind::Corrupt, text)
}
