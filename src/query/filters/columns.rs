//! Filters that look at families, qualifiers and timestamps, or count columns.

use std::collections::BTreeSet;
use std::ops::Bound;

use super::compare::Comparison;
use super::filter::{Candidate, Decision, Filter, Hint};
use crate::Result;

/// KeyOnlyFilter: values are shown empty.
pub(in crate::query) struct KeyOnly;

impl Filter for KeyOnly {
    fn empties_values(&self) -> bool {
        true
    }
}

/// FirstKeyOnlyFilter: the first cell of each row.
#[derive(Default)]
pub(in crate::query) struct FirstKeyOnly {
    found: bool,
}

impl Filter for FirstKeyOnly {
    fn reset(&mut self) {
        self.found = false;
    }

    fn judge(&mut self, _cell: &mut Candidate<'_>) -> Result<Decision> {
        Ok(if std::mem::replace(&mut self.found, true) { Decision::NextRow } else { Decision::Include })
    }
}

/// FamilyFilter.
pub(in crate::query) struct Family(pub Comparison);

impl Filter for Family {
    fn judge(&mut self, cell: &mut Candidate<'_>) -> Result<Decision> {
        Ok(if self.0.holds(cell.version.family.as_bytes()) { Decision::Include } else { Decision::NextRow })
    }
}

/// QualifierFilter.
pub(in crate::query) struct Qualifier(pub Comparison);

impl Filter for Qualifier {
    fn judge(&mut self, cell: &mut Candidate<'_>) -> Result<Decision> {
        Ok(if self.0.holds(cell.qualifier()) { Decision::Include } else { Decision::Skip })
    }
}

/// ColumnPrefixFilter.
pub(in crate::query) struct ColumnPrefix(pub Vec<u8>);

impl Filter for ColumnPrefix {
    fn judge(&mut self, cell: &mut Candidate<'_>) -> Result<Decision> {
        let qualifier = cell.qualifier();
        Ok(if qualifier.starts_with(&self.0) {
            Decision::Include
        } else if qualifier < self.0.as_slice() {
            Decision::Seek
        } else {
            Decision::NextRow
        })
    }

    fn hint(&self) -> Option<Hint> {
        Some(Hint::Column(self.0.clone()))
    }

    fn is_hinting(&self) -> bool {
        true
    }
}

/// MultipleColumnPrefixFilter. As in HBase only the greatest prefix that is not above the qualifier is tried.
pub(in crate::query) struct ColumnPrefixes {
    prefixes: BTreeSet<Vec<u8>>,
    hint: Option<Vec<u8>>,
}

impl ColumnPrefixes {
    pub fn new(prefixes: BTreeSet<Vec<u8>>) -> Self {
        Self { prefixes, hint: None }
    }
}

impl Filter for ColumnPrefixes {
    fn judge(&mut self, cell: &mut Candidate<'_>) -> Result<Decision> {
        let qualifier = cell.qualifier();
        let upto = (Bound::Unbounded, Bound::Included(qualifier));
        let below = self.prefixes.range::<[u8], _>(upto).next_back();
        if below.is_some_and(|prefix| qualifier.starts_with(prefix)) {
            return Ok(Decision::Include);
        }
        let above = (Bound::Excluded(qualifier), Bound::Unbounded);
        self.hint = self.prefixes.range::<[u8], _>(above).next().cloned();
        Ok(if self.hint.is_some() { Decision::Seek } else { Decision::NextRow })
    }

    fn hint(&self) -> Option<Hint> {
        self.hint.clone().map(Hint::Column)
    }

    fn is_hinting(&self) -> bool {
        true
    }
}

/// ColumnRangeFilter; an empty bound is none.
pub(in crate::query) struct ColumnRange {
    pub min: Vec<u8>,
    pub min_inclusive: bool,
    pub max: Vec<u8>,
    pub max_inclusive: bool,
}

impl Filter for ColumnRange {
    fn judge(&mut self, cell: &mut Candidate<'_>) -> Result<Decision> {
        let qualifier = cell.qualifier();
        if qualifier < self.min.as_slice() {
            return Ok(Decision::Seek);
        }
        if !self.min.is_empty() && !self.min_inclusive && qualifier == self.min {
            return Ok(Decision::NextColumn);
        }
        let below = self.max.is_empty() || qualifier < self.max.as_slice();
        Ok(if below || self.max_inclusive && qualifier == self.max { Decision::Include } else { Decision::NextRow })
    }

    fn hint(&self) -> Option<Hint> {
        Some(Hint::Column(self.min.clone()))
    }

    fn is_hinting(&self) -> bool {
        true
    }
}

/// ColumnCountGetFilter: so many columns of a row.
pub(in crate::query) struct ColumnCount {
    limit: i64,
    count: i64,
}

impl ColumnCount {
    pub fn new(limit: i64) -> Self {
        Self { limit, count: 0 }
    }
}

impl Filter for ColumnCount {
    fn reset(&mut self) {
        self.count = 0;
    }

    fn is_done(&self) -> bool {
        self.count > self.limit
    }

    fn judge(&mut self, _cell: &mut Candidate<'_>) -> Result<Decision> {
        self.count += 1;
        Ok(if self.is_done() { Decision::NextColumn } else { Decision::IncludeNextColumn })
    }
}

/// ColumnPaginationFilter: `limit` columns of a row after the first `offset`.
pub(in crate::query) struct ColumnPagination {
    limit: i64,
    offset: i64,
    count: i64,
}

impl ColumnPagination {
    pub fn new(limit: i64, offset: i64) -> Self {
        Self { limit, offset, count: 0 }
    }
}

impl Filter for ColumnPagination {
    fn reset(&mut self) {
        self.count = 0;
    }

    fn judge(&mut self, _cell: &mut Candidate<'_>) -> Result<Decision> {
        if self.count >= self.offset.saturating_add(self.limit) {
            return Ok(Decision::NextRow);
        }
        let before = self.count < self.offset;
        self.count += 1;
        Ok(if before { Decision::NextColumn } else { Decision::IncludeNextColumn })
    }
}

/// TimestampsFilter.
pub(in crate::query) struct Timestamps(pub BTreeSet<i64>);

impl Filter for Timestamps {
    fn judge(&mut self, cell: &mut Candidate<'_>) -> Result<Decision> {
        let t = cell.version.timestamp.0;
        Ok(if self.0.contains(&t) {
            Decision::Include
        } else if self.0.first().is_none_or(|min| t < *min) {
            Decision::NextColumn
        } else {
            Decision::Skip
        })
    }
}
