//! Reads of the newest versions without more, whose rows may be read by other means.

use super::{RowQuery, Step};
use crate::model::{ColumnSlice, ReadSpec, Tells, TimeRange, Timestamp};
use crate::query::filter::Direction;

impl RowQuery {
    /// Whether every column of the rows shows its newest version and nothing else is asked: see
    /// [`crate::visibility::shows_by_itself`].
    pub fn is_plain(&self) -> bool {
        let ReadSpec {
            columns,
            time_range,
            family_time_ranges,
            max_versions,
            filter,
            max_per_family,
            offset_per_family,
            raw,
            slice,
        } = &self.read;
        let is_newest = *time_range == TimeRange::ALL && family_time_ranges.is_empty() && *max_versions == 1;
        let is_whole = columns.values().all(Option::is_none) && max_per_family.is_none() && *offset_per_family == 0;
        let is_forward = self.direction == Direction::Forward && self.answer.size.is_none();
        let is_forward = is_forward && self.answer.tells == Tells::Values;
        let is_whole = is_whole && *slice == ColumnSlice::default();
        is_newest && is_whole && is_forward && filter.is_none() && !raw
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
