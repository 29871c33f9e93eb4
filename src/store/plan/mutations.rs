//! What the mutations of one row come to.

use super::planned::Plan;
use super::planner::{Planner, illegal};
use super::reckon;
use crate::Result;
use crate::model::{Mutation, TimeRange};
use crate::store::engine::family;

impl<'a> Planner<'a> {
    /// What is set on files stays where puts that set nothing are their next versions.
    pub fn keep_files(&self, mutations: &mut [Mutation]) -> Result<()> {
        for mutation in mutations {
            let Mutation::Put(cells) = mutation else { continue };
            for cell in cells.iter_mut().filter(|cell| cell.sets_nothing()) {
                let family = family(self.table, &cell.family)?;
                if let Some(newest) = self.newest(family, &cell.qualifier, TimeRange::ALL)? {
                    cell.keep(&newest.tags.file.of_next_version());
                }
            }
        }
        Ok(())
    }

    /// The cells of all mutations, in order. Reads see the row as it was before.
    pub fn plan(&self, mutations: Vec<Mutation>) -> Result<Plan<'a>> {
        let cells = mutations.iter().map(Mutation::cells).sum();
        let mut plan = Plan { cells: Vec::with_capacity(cells), results: Vec::new() };
        for mutation in mutations {
            match mutation {
                Mutation::Put(cells) => {
                    if cells.is_empty() {
                        return Err(illegal("No columns to put".into()));
                    }
                    for cell in cells {
                        plan.cells.push(self.put(cell)?);
                    }
                }
                Mutation::Restore(cell) => plan.cells.push(self.put(*cell)?),
                Mutation::Delete(markers) => self.delete(markers, &mut plan)?,
                Mutation::Increment(increment) => reckon::increment(self, increment, &mut plan)?,
                Mutation::Append(append) => reckon::append(self, append, &mut plan)?,
            }
        }
        Ok(plan)
    }
}
