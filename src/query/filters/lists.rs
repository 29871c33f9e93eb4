//! AND and OR (HBase: FilterListWithAND, FilterListWithOR).

use super::filter::{Candidate, Decision, Direction, Filter, Hint, Version};
use crate::Result;

type Filters = Vec<Box<dyn Filter>>;

/// All must pass: the longest step forward wins.
pub(in crate::query) struct AllOf {
    filters: Filters,
    /// Those that answered with a hint for the current cell.
    seeking: Vec<usize>,
    direction: Direction,
}

impl AllOf {
    pub fn new(filters: Filters, direction: Direction) -> Self {
        Self { filters, seeking: Vec::new(), direction }
    }

    /// After a rejection only filters that can give a hint are asked, so that the longest jump is found.
    fn ask_hinting(&mut self, from: usize, cell: &mut Candidate<'_>) -> Result<()> {
        for (at, filter) in self.filters.iter_mut().enumerate().skip(from) {
            if filter.is_hinting() && filter.judge(cell)? == Decision::Seek {
                self.seeking.push(at);
            }
        }
        Ok(())
    }
}

/// The longer of two steps; a step on to the next column does not make a rejected cell included.
fn longest(a: Decision, b: Decision) -> Decision {
    match (a, b) {
        (Decision::Skip, Decision::IncludeNextColumn) | (Decision::IncludeNextColumn, Decision::Skip) => {
            Decision::NextColumn
        }
        _ => a.max(b),
    }
}

impl Filter for AllOf {
    fn reset(&mut self) {
        self.filters.iter_mut().for_each(|f| f.reset());
        self.seeking.clear();
    }

    fn is_done(&self) -> bool {
        self.filters.iter().any(|f| f.is_done())
    }

    fn excludes_key(&mut self, row: &[u8]) -> bool {
        let mut excluded = false;
        // Every filter must learn of the row: no early end.
        for filter in &mut self.filters {
            excluded |= filter.is_done() || filter.excludes_key(row);
        }
        excluded
    }

    fn judge(&mut self, cell: &mut Candidate<'_>) -> Result<Decision> {
        self.seeking.clear();
        let mut merged = Decision::Include;
        for at in 0..self.filters.len() {
            if self.filters[at].is_done() {
                merged = Decision::NextRow;
                self.ask_hinting(at + 1, cell)?;
                break;
            }
            let decision = self.filters[at].judge(cell)?;
            if decision == Decision::Seek {
                self.seeking.push(at);
            }
            merged = longest(merged, decision);
            if !decision.includes() {
                self.ask_hinting(at + 1, cell)?;
                break;
            }
        }
        Ok(if self.seeking.is_empty() { merged } else { Decision::Seek })
    }

    fn hint(&self) -> Option<Hint> {
        let open = self.seeking.iter().map(|at| &self.filters[*at]).filter(|f| !f.is_done());
        open.filter_map(|f| f.hint()).max_by(|a, b| a.compare(b, self.direction))
    }

    fn empties_values(&self) -> bool {
        self.filters.iter().any(|f| f.empties_values())
    }

    fn needs_family(&self, family: &str) -> bool {
        self.filters.iter().any(|f| f.needs_family(family))
    }

    fn judges_rows(&self) -> bool {
        self.filters.iter().any(|f| f.judges_rows())
    }

    fn keeps(&self, version: &Version<'_>) -> bool {
        self.filters.iter().all(|f| f.keeps(version))
    }

    fn excludes_row(&mut self) -> bool {
        self.filters.iter_mut().any(|f| f.excludes_row())
    }
}

/// One must pass: the shortest step forward wins, so each filter's own jump is remembered.
pub(in crate::query) struct AnyOf {
    branches: Vec<Branch>,
    direction: Direction,
}

struct Branch {
    filter: Box<dyn Filter>,
    /// Its last answer, and the family and column that the answer was about; their buffers are used again.
    previous: Option<Decision>,
    family: String,
    qualifier: Vec<u8>,
    included: bool,
}

impl Branch {
    /// The answer that follows from an earlier jump, if the cell lies within it.
    fn jumped(&self, cell: &Candidate<'_>, direction: Direction) -> Option<Decision> {
        let decision = self.previous.as_ref()?;
        let same_family = self.family == cell.version.family;
        match decision {
            Decision::Include | Decision::Skip => None,
            Decision::Seek => {
                let hint = self.filter.hint()?;
                // A hint is a place in the family it was given for; families after it lie behind the hint.
                let ahead = match direction {
                    _ if matches!(hint, Hint::Row(_)) => true,
                    Direction::Forward => same_family && hint.is_ahead_of(cell.qualifier(), direction),
                    Direction::Reversed => !same_family || hint.is_ahead_of(cell.qualifier(), direction),
                };
                ahead.then_some(Decision::Seek)
            }
            Decision::NextColumn | Decision::IncludeNextColumn => {
                (same_family && self.qualifier == cell.qualifier()).then_some(Decision::NextColumn)
            }
            Decision::NextRow => same_family.then_some(Decision::NextRow),
        }
    }

    fn judge(&mut self, cell: &mut Candidate<'_>, direction: Direction) -> Result<Decision> {
        let decision = match self.jumped(cell, direction) {
            Some(decision) => decision,
            None => self.filter.judge(cell)?,
        };
        self.included = decision.includes();
        self.previous = Some(decision);
        cell.version.family.clone_into(&mut self.family);
        cell.qualifier().clone_into(&mut self.qualifier);
        Ok(decision)
    }
}

impl AnyOf {
    pub fn new(filters: Filters, direction: Direction) -> Self {
        let branch =
            |filter| Branch { filter, previous: None, family: String::new(), qualifier: Vec::new(), included: false };
        Self { branches: filters.into_iter().map(branch).collect(), direction }
    }
}

/// The shorter of two steps; how far a hint goes is not known, so it counts as a skip beside others.
fn shortest(a: Decision, b: Decision) -> Decision {
    use Decision::{Include, IncludeNextColumn, NextColumn, NextRow, Seek, Skip};
    match (a, b) {
        (Seek, Seek) => Seek,
        (x, y) if x.includes() || y.includes() => match (x, y) {
            (IncludeNextColumn, IncludeNextColumn | NextColumn | NextRow)
            | (NextColumn | NextRow, IncludeNextColumn) => IncludeNextColumn,
            _ => Include,
        },
        (Seek, _) | (_, Seek) => Skip,
        _ => a.min(b),
    }
}

impl Filter for AnyOf {
    fn reset(&mut self) {
        for branch in &mut self.branches {
            branch.filter.reset();
            branch.previous = None;
            branch.included = false;
        }
    }

    fn is_done(&self) -> bool {
        self.branches.iter().all(|b| b.filter.is_done())
    }

    fn excludes_key(&mut self, row: &[u8]) -> bool {
        // Every filter must learn of the row.
        self.branches.iter_mut().fold(true, |excluded, b| {
            let passes = !b.filter.is_done() && !b.filter.excludes_key(row);
            excluded && !passes
        })
    }

    fn judge(&mut self, cell: &mut Candidate<'_>) -> Result<Decision> {
        let mut merged: Option<Decision> = None;
        for branch in &mut self.branches {
            branch.included = false;
            if branch.filter.is_done() {
                continue;
            }
            let decision = branch.judge(cell, self.direction)?;
            merged = Some(merged.map_or(decision, |m| shortest(m, decision)));
        }
        Ok(merged.unwrap_or(Decision::Skip))
    }

    fn hint(&self) -> Option<Hint> {
        let hints: Option<Vec<Hint>> =
            self.branches.iter().filter(|b| !b.filter.is_done()).map(|b| b.filter.hint()).collect();
        hints?.into_iter().min_by(|a, b| a.compare(b, self.direction))
    }

    fn empties_values(&self) -> bool {
        self.branches.iter().any(|b| b.included && b.filter.empties_values())
    }

    fn needs_family(&self, family: &str) -> bool {
        self.branches.iter().any(|b| b.filter.needs_family(family))
    }

    fn judges_rows(&self) -> bool {
        self.branches.iter().any(|b| b.filter.judges_rows())
    }

    fn keeps(&self, version: &Version<'_>) -> bool {
        self.branches.iter().all(|b| b.filter.keeps(version))
    }

    fn excludes_row(&mut self) -> bool {
        self.branches.iter_mut().all(|b| b.filter.excludes_row())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Decision::{Include, IncludeNextColumn, NextColumn, NextRow, Seek, Skip};

    #[test]
    fn and_takes_the_longest_step() {
        assert_eq!(longest(Include, IncludeNextColumn), IncludeNextColumn);
        assert_eq!(longest(IncludeNextColumn, Skip), NextColumn);
        assert_eq!(longest(Skip, NextRow), NextRow);
    }

    #[test]
    fn or_takes_the_shortest_step() {
        assert_eq!(shortest(Include, NextRow), Include);
        assert_eq!(shortest(IncludeNextColumn, NextColumn), IncludeNextColumn);
        assert_eq!(shortest(IncludeNextColumn, Skip), Include);
        assert_eq!(shortest(Seek, NextRow), Skip);
        assert_eq!(shortest(NextColumn, NextRow), NextColumn);
    }
}
