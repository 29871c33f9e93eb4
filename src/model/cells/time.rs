//! Timestamps of cells and ranges of them.

use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Result};

/// Milliseconds since 1970 UTC; stored values are 0 to 2^63-2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Largest timestamp that a cell can have (HConstants.LATEST_TIMESTAMP itself means "now").
    pub const MAX: Timestamp = Timestamp(i64::MAX - 1);
    pub const ZERO: Timestamp = Timestamp(0);

    /// As a date and a time of day in UTC, for people; the number where there is no such date.
    pub fn iso(self) -> String {
        jiff::Timestamp::from_millisecond(self.0).map_or_else(|_| self.to_string(), |time| format!("{time:.3}"))
    }

    /// The next millisecond, saturating at [`Timestamp::MAX`].
    #[must_use]
    pub fn next(self) -> Timestamp {
        Timestamp(self.0.saturating_add(1).min(Self::MAX.0))
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// How far timestamps that are given in haste may run ahead of the clock, which waits for them, in milliseconds. Past it
/// a version in the future was the reason, not many writes within a millisecond.
pub const AHEAD_MS: i64 = 60_000;

/// Half-open range of timestamps `[min, max)` (HBase: TimeRange).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TimeRange {
    pub min: i64,
    pub max: i64,
    /// What is later belongs to the range only if it was written by then, by the clock.
    pub as_of: i64,
}

impl TimeRange {
    /// Everything: `[0, MAX)`.
    pub const ALL: TimeRange = TimeRange { min: 0, max: i64::MAX, as_of: i64::MAX };

    /// `[min, max)`; negative bounds or `max < min` are refused as in HBase. `min == max` is empty.
    pub fn new(min: i64, max: i64) -> Result<Self> {
        if min < 0 || max < 0 {
            let text = format!("Timestamp cannot be negative. minStamp:{min}, maxStamp:{max}");
            return Err(Error::new(ErrorKind::IllegalArgument, text));
        }
        if max < min {
            return Err(Error::new(ErrorKind::IllegalArgument, "maxStamp is smaller than minStamp"));
        }
        Ok(Self { min, max, ..Self::ALL })
    }

    /// Exactly one timestamp: `[t, t+1)`.
    pub fn at(t: Timestamp) -> Self {
        Self { min: t.0, max: t.0.saturating_add(1), ..Self::ALL }
    }

    /// Everything up to and including `t`.
    pub fn until(t: Timestamp) -> Self {
        Self { min: 0, max: t.0.saturating_add(1), ..Self::ALL }
    }

    /// What there was when the clock showed `t`: also what had run ahead of it by then.
    pub fn as_of(t: Timestamp) -> Self {
        Self { as_of: t.0, ..Self::until(Timestamp(t.0.saturating_add(AHEAD_MS))) }
    }

    /// What is in both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let min = self.min.max(other.min);
        Self { min, max: self.max.min(other.max).max(min), as_of: self.as_of.min(other.as_of) }
    }

    /// Whether the range has what has this timestamp, and was written at that time if it ran ahead of the clock then.
    pub fn contains(&self, t: Timestamp, written: Option<Timestamp>) -> bool {
        self.min <= t.0 && !self.is_before(t, written)
    }

    /// Whether what has this timestamp is later than the range; see [`Self::contains`].
    pub fn is_before(&self, t: Timestamp, written: Option<Timestamp>) -> bool {
        t.0 >= self.max || t.0 > self.as_of && written.is_none_or(|at| at.0 > self.as_of)
    }
}

impl Default for TimeRange {
    fn default() -> Self {
        Self::ALL
    }
}
