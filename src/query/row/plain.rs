//! Reads of the newest versions without more, whose rows may be read by other means.

use super::{RowQuery, Step};
use crate::model::{ReadSpec, Tells, Timestamp};

impl RowQuery {
    /// Whether every column of the rows shows its newest version and nothing else is asked: see
    /// [`crate::visibility::shows_by_itself`].
    pub fn is_plain(&self) -> bool {
        let ReadSpec { filter, max_per_family, offset_per_family, .. } = &self.read;
        let is_all = max_per_family.is_none() && *offset_per_family == 0 && self.answer.size.is_none();
        self.takes_lent() && is_all && filter.is_none() && self.answer.tells == Tells::Values
    }

    /// Whether no further row is wanted, before one of a plain read is read by other means.
    pub fn is_over(&self) -> bool {
        self.rows_left == Some(0)
    }

    /// After such a row, if it had something to show.
    pub fn count_row(&mut self) -> Step {
        self.rows_left = self.rows_left.map(|n| n.saturating_sub(1));
        if self.is_over() { Step::Stop } else { Step::Continue }
    }

    /// The clock by which it reads.
    pub fn now(&self) -> Timestamp {
        self.now
    }
}
