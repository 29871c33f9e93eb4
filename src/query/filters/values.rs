//! Filters that look at values.

use std::collections::HashSet;

use super::compare::Comparison;
use super::filter::{Candidate, Decision, Filter, Version};
use crate::Result;

/// A column named in a filter.
#[derive(Clone, Debug)]
pub(in crate::query) struct NamedColumn {
    pub family: String,
    pub qualifier: Vec<u8>,
}

impl NamedColumn {
    fn is(&self, version: &Version<'_>) -> bool {
        version.is_column(&self.family, &self.qualifier)
    }
}

/// ValueFilter.
pub(in crate::query) struct Value(pub Comparison);

impl Filter for Value {
    fn judge(&mut self, cell: &mut Candidate<'_>) -> Result<Decision> {
        Ok(if self.0.holds(cell.value()?) { Decision::Include } else { Decision::Skip })
    }
}

/// ColumnValueFilter: only that column, where its value compares so.
pub(in crate::query) struct ColumnValue {
    column: NamedColumn,
    comparison: Comparison,
    found: bool,
}

impl ColumnValue {
    pub fn new(column: NamedColumn, comparison: Comparison) -> Self {
        Self { column, comparison, found: false }
    }
}

impl Filter for ColumnValue {
    fn reset(&mut self) {
        self.found = false;
    }

    fn judge(&mut self, cell: &mut Candidate<'_>) -> Result<Decision> {
        if !self.column.is(&cell.version) {
            return Ok(if self.found { Decision::NextRow } else { Decision::NextColumn });
        }
        self.found = true;
        Ok(if self.comparison.holds(cell.value()?) { Decision::Include } else { Decision::Skip })
    }

    fn needs_family(&self, family: &str) -> bool {
        self.column.family == family
    }
}

/// Whether a row's own cell of the tested column is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::query) enum Tested {
    Shown,
    /// SingleColumnValueExcludeFilter.
    Hidden,
}

/// SingleColumnValueFilter: rows in which that column's value compares so.
pub(in crate::query) struct SingleColumnValue {
    column: NamedColumn,
    comparison: Comparison,
    tested: Tested,
    /// Rows without the column are excluded.
    pub filter_if_missing: bool,
    /// Older versions are not looked at.
    pub latest_version_only: bool,
    found: bool,
    matched: bool,
}

impl SingleColumnValue {
    pub fn new(column: NamedColumn, comparison: Comparison, tested: Tested) -> Self {
        Self {
            column,
            comparison,
            tested,
            filter_if_missing: false,
            latest_version_only: true,
            found: false,
            matched: false,
        }
    }
}

impl Filter for SingleColumnValue {
    fn reset(&mut self) {
        self.found = false;
        self.matched = false;
    }

    fn excludes_key(&mut self, _row: &[u8]) -> bool {
        false
    }

    fn judge(&mut self, cell: &mut Candidate<'_>) -> Result<Decision> {
        if self.matched {
            return Ok(Decision::Include);
        }
        if self.latest_version_only && self.found {
            return Ok(Decision::NextRow);
        }
        if !self.column.is(&cell.version) {
            return Ok(Decision::Include);
        }
        self.found = true;
        self.matched = self.comparison.holds(cell.value()?);
        Ok(if !self.matched && self.latest_version_only { Decision::NextRow } else { Decision::Include })
    }

    fn needs_family(&self, family: &str) -> bool {
        !self.filter_if_missing || self.column.family == family
    }

    fn judges_rows(&self) -> bool {
        true
    }

    fn keeps(&self, version: &Version<'_>) -> bool {
        self.tested == Tested::Shown || !self.column.is(version)
    }

    fn excludes_row(&mut self) -> bool {
        if self.found { !self.matched } else { self.filter_if_missing }
    }
}

/// DependentColumnFilter: cells whose timestamp is one of the named column's in that row.
pub(in crate::query) struct DependentColumn {
    column: NamedColumn,
    comparison: Option<Comparison>,
    tested: Tested,
    timestamps: HashSet<i64>,
}

impl DependentColumn {
    pub fn new(column: NamedColumn, tested: Tested, comparison: Option<Comparison>) -> Self {
        Self { column, comparison, tested, timestamps: HashSet::new() }
    }
}

impl Filter for DependentColumn {
    fn reset(&mut self) {
        self.timestamps.clear();
    }

    fn judge(&mut self, cell: &mut Candidate<'_>) -> Result<Decision> {
        if !self.column.is(&cell.version) {
            return Ok(Decision::Include);
        }
        if let Some(comparison) = &self.comparison
            && !comparison.holds(cell.value()?)
        {
            return Ok(Decision::Skip);
        }
        self.timestamps.insert(cell.version.timestamp.0);
        Ok(if self.tested == Tested::Hidden { Decision::Skip } else { Decision::Include })
    }

    fn judges_rows(&self) -> bool {
        true
    }

    fn keeps(&self, version: &Version<'_>) -> bool {
        self.timestamps.contains(&version.timestamp.0)
    }
}
