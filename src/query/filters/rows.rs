//! Filters that look at row keys or count rows.

use super::compare::Comparison;
use super::filter::{Candidate, Decision, Direction, Filter, Hint};
use crate::Result;
use crate::model::after_prefix;

/// PrefixFilter: rows that start with the prefix.
pub(in crate::query) struct Prefix {
    prefix: Vec<u8>,
    direction: Direction,
    passed: bool,
    excluded: bool,
    before: bool,
}

impl Prefix {
    pub fn new(prefix: Vec<u8>, direction: Direction) -> Self {
        Self { prefix, direction, passed: false, excluded: true, before: false }
    }
}

impl Filter for Prefix {
    fn reset(&mut self) {
        self.excluded = true;
    }

    fn is_done(&self) -> bool {
        self.passed
    }

    fn excludes_key(&mut self, row: &[u8]) -> bool {
        if self.passed {
            return true;
        }
        let to_prefix = row[..row.len().min(self.prefix.len())].cmp(&self.prefix);
        self.passed = self.direction.is_past(to_prefix);
        self.excluded = to_prefix.is_ne();
        self.before = self.excluded && !self.passed;
        self.passed
    }

    fn judge(&mut self, _cell: &mut Candidate<'_>) -> Result<Decision> {
        Ok(match (self.before, self.excluded) {
            (true, _) => Decision::Seek,
            (false, true) => Decision::NextRow,
            (false, false) => Decision::Include,
        })
    }

    fn hint(&self) -> Option<Hint> {
        let to_row = match self.direction {
            Direction::Forward => self.prefix.clone(),
            Direction::Reversed => after_prefix(&self.prefix),
        };
        Some(Hint::Row(to_row))
    }

    fn is_hinting(&self) -> bool {
        true
    }

    fn excludes_row(&mut self) -> bool {
        self.excluded
    }
}

/// InclusiveStopFilter: ends the scan after this row.
pub(in crate::query) struct InclusiveStop {
    stop: Vec<u8>,
    direction: Direction,
    done: bool,
}

impl InclusiveStop {
    pub fn new(stop: Vec<u8>, direction: Direction) -> Self {
        Self { stop, direction, done: false }
    }
}

impl Filter for InclusiveStop {
    fn is_done(&self) -> bool {
        self.done
    }

    fn excludes_key(&mut self, row: &[u8]) -> bool {
        self.done = self.done || self.direction.is_past(row.cmp(&self.stop));
        self.done
    }

    fn judge(&mut self, _cell: &mut Candidate<'_>) -> Result<Decision> {
        Ok(if self.done { Decision::NextRow } else { Decision::Include })
    }
}

/// RowFilter: rows whose key compares so.
pub(in crate::query) struct Row {
    comparison: Comparison,
    excluded: bool,
}

impl Row {
    pub fn new(comparison: Comparison) -> Self {
        Self { comparison, excluded: false }
    }
}

impl Filter for Row {
    fn reset(&mut self) {
        self.excluded = false;
    }

    fn excludes_key(&mut self, row: &[u8]) -> bool {
        self.excluded = self.excluded || !self.comparison.holds(row);
        self.excluded
    }

    fn judge(&mut self, _cell: &mut Candidate<'_>) -> Result<Decision> {
        Ok(if self.excluded { Decision::NextRow } else { Decision::Include })
    }

    fn excludes_row(&mut self) -> bool {
        self.excluded
    }
}

/// PageFilter: so many rows.
pub(in crate::query) struct Page {
    size: i64,
    accepted: i64,
}

impl Page {
    pub fn new(size: i64) -> Self {
        Self { size, accepted: 0 }
    }
}

impl Filter for Page {
    fn is_done(&self) -> bool {
        self.accepted >= self.size
    }

    fn judges_rows(&self) -> bool {
        true
    }

    fn excludes_row(&mut self) -> bool {
        self.accepted += 1;
        self.accepted > self.size
    }
}
