//! How many versions of a column new-version families keep.

use crate::model::{FamilyRules, Timestamp};

/// Versions that KEEP_VERSIONS_FOR keeps of a column at most: what an editor saves in an hour, not what a program writes.
pub(super) const MOST: u32 = 100;

/// VERSIONS, and for how long after a newer one what is beyond them stays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit {
    pub versions: u32,
    keep_for_ms: u64,
}

impl Limit {
    pub fn of(family: &FamilyRules) -> Self {
        Self { versions: family.versions, keep_for_ms: family.keep_versions_for_ms }
    }

    /// Whether one more version was kept at a moment where there were so many newer ones, the oldest of them `least`:
    /// until then the next one was the newest.
    pub fn has_room(self, newer: u32, least: Timestamp, at: Timestamp) -> bool {
        newer < self.versions || newer < MOST && self.is_recent(least, at)
    }

    /// Whether what is beyond VERSIONS stays for some time.
    pub fn keeps_recent(self) -> bool {
        self.keep_for_ms > 0
    }

    /// Whether at a moment so long has not passed since `ended`.
    pub fn is_recent(self, ended: Timestamp, at: Timestamp) -> bool {
        self.keep_for_ms > 0 && at.0 < ended.0.saturating_add_unsigned(self.keep_for_ms)
    }
}
