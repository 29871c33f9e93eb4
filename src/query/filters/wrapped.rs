//! SKIP and WHILE (HBase: SkipFilter, WhileMatchFilter).

use super::filter::{Candidate, Decision, Filter};
use crate::Result;

/// Drops the row if a cell is not simply included. Row keys are not asked about, as in HBase.
pub(in crate::query) struct Skip {
    inner: Box<dyn Filter>,
    excluded: bool,
}

impl Skip {
    pub fn new(inner: Box<dyn Filter>) -> Self {
        Self { inner, excluded: false }
    }
}

impl Filter for Skip {
    fn reset(&mut self) {
        self.inner.reset();
        self.excluded = false;
    }

    fn excludes_key(&mut self, _row: &[u8]) -> bool {
        false
    }

    fn judge(&mut self, cell: &mut Candidate<'_>) -> Result<Decision> {
        let decision = self.inner.judge(cell)?;
        self.excluded = self.excluded || decision != Decision::Include;
        Ok(decision)
    }

    fn empties_values(&self) -> bool {
        self.inner.empties_values()
    }

    fn needs_family(&self, family: &str) -> bool {
        self.inner.needs_family(family)
    }

    fn judges_rows(&self) -> bool {
        true
    }

    fn excludes_row(&mut self) -> bool {
        self.excluded
    }
}

/// Ends the scan when a row or a cell is not simply included.
pub(in crate::query) struct WhileMatch {
    inner: Box<dyn Filter>,
    done: bool,
}

impl WhileMatch {
    pub fn new(inner: Box<dyn Filter>) -> Self {
        Self { inner, done: false }
    }

    fn note(&mut self, rejected: bool) {
        self.done = self.done || rejected;
    }
}

impl Filter for WhileMatch {
    fn reset(&mut self) {
        self.inner.reset();
    }

    fn is_done(&self) -> bool {
        self.done || self.inner.is_done()
    }

    fn excludes_key(&mut self, row: &[u8]) -> bool {
        if self.is_done() {
            return true;
        }
        let excluded = self.inner.excludes_key(row);
        self.note(excluded);
        excluded
    }

    fn judge(&mut self, cell: &mut Candidate<'_>) -> Result<Decision> {
        let decision = self.inner.judge(cell)?;
        self.note(decision != Decision::Include);
        Ok(decision)
    }

    fn empties_values(&self) -> bool {
        self.inner.empties_values()
    }

    fn needs_family(&self, family: &str) -> bool {
        self.inner.needs_family(family)
    }

    fn judges_rows(&self) -> bool {
        true
    }

    fn excludes_row(&mut self) -> bool {
        let excluded = self.inner.excludes_row();
        self.note(excluded);
        excluded
    }
}
