//! Which state of the store a part of the tree shows.

use crate::model::{TimeRange, Timestamp};

/// Which state of the store a part of the tree shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum View {
    /// Newest versions; takes writes.
    #[default]
    Plain,
    /// What there was at this time; read-only.
    At(Timestamp),
    /// Every version by its own name, live or kept: what a backup copies and a restore writes.
    History,
}

impl View {
    /// The range of timestamps that reads of this view see.
    pub fn time_range(self) -> TimeRange {
        match self {
            View::Plain | View::History => TimeRange::ALL,
            View::At(t) => TimeRange::as_of(t),
        }
    }
}
