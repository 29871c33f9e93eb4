//! Which rows the last step of a question picks.

use super::answer::{Answer, From, last_of_all};
use super::marks::Mark;
use super::question::Pick;
use super::sample;
use crate::Result;
use crate::model::RowKey;
use crate::query::Scope;

impl Answer<'_> {
    /// Which rows `.first`, `.last` and `.sample` pick.
    pub fn mark(&self, seed: u64) -> Result<Mark> {
        match self.question.pick() {
            Pick::All => Ok(Mark::All),
            Pick::First(most) => {
                let (mut count, mut last) = (0, None);
                self.rows(From::Start, Some(most), |row| {
                    count += 1;
                    last = Some(row);
                    true
                })?;
                Ok(if count == most { last.map_or(Mark::All, Mark::Upto) } else { Mark::All })
            }
            Pick::Last(most) if self.scope == Scope::Rows => {
                let keys = |each: &mut dyn FnMut(RowKey) -> bool| self.rows(From::Start, None, each);
                last_of_all(most, &keys)
            }
            Pick::Last(most) => self.last_rows(most),
            Pick::Sample(most) => sample::rows(self, most, seed).map(Mark::These),
        }
    }
}
