//! Reads of classic families: HBase's NormalUserScanQueryMatcher, RawScanQueryMatcher and their two
//! column trackers.

use super::delete_tracker::{DeleteTracker, Deletion};
use super::visible::{Flow, VisibleCell};
use super::{Expiry, ReadRules, View};
use crate::model::{CellKind, KeepDeleted, Qualifier, StoredCell, Timestamp};

/// A version: what only the last put of counts.
type Version = (Qualifier, Timestamp);

fn is_version(version: Option<&Version>, cell: &StoredCell) -> bool {
    version.is_some_and(|(q, t)| *t == cell.timestamp && *q == cell.qualifier)
}

/// Judges the cells of one row and family, one after the other.
pub(super) struct ClassicMatcher<'a> {
    rules: ReadRules<'a>,
    oldest: i64,
    expiry: Expiry,
    deletes: DeleteTracker,
    versions: VersionTracker,
    kept: VersionTracker,
    /// Restored versions matter: the range ends in the past, or they are listed.
    wants_restored: bool,
    /// A restored deleted version: kept unless a live put of the same timestamp follows.
    pending: Option<StoredCell>,
    /// A put of this version has been judged.
    settled: Option<Version>,
}

impl<'a> ClassicMatcher<'a> {
    pub fn new(rules: ReadRules<'a>) -> Self {
        let (oldest, min_versions) = (rules.oldest(), rules.family.min_versions);
        let counting =
            if rules.columns.is_some() && rules.view != View::Raw { Counting::Explicit } else { Counting::Wildcard };
        let versions = VersionTracker::new(counting, limit(&rules), min_versions, oldest);
        let kept = VersionTracker::new(Counting::Wildcard, rules.family.versions, 0, oldest);
        let in_the_past = rules.time_range.max < i64::MAX;
        let wants_restored =
            rules.family.keep_deleted != KeepDeleted::False && (in_the_past || rules.view == View::WithKept);
        Self {
            rules,
            oldest,
            expiry: Expiry::default(),
            deletes: DeleteTracker::default(),
            versions,
            kept,
            wants_restored,
            pending: None,
            settled: None,
        }
    }

    /// Judges the next cell; what is visible goes to `out`.
    pub fn push(&mut self, cell: StoredCell, out: &mut impl Extend<VisibleCell>) -> Flow {
        let follows = self
            .pending
            .as_ref()
            .is_some_and(|p| p.timestamp == cell.timestamp && p.qualifier == cell.qualifier && cell.kind.is_put());
        if !follows {
            self.finish(out);
        }
        if self.rules.family.min_versions == 0 && cell.timestamp.0 < self.oldest {
            return Flow::NextColumn;
        }
        if self.expiry.ends(&cell, self.rules.now) {
            return Flow::Next;
        }
        if self.rules.view != View::Raw {
            if !cell.kind.is_put() {
                self.track(&cell);
                return Flow::Next;
            }
            if cell.tags.ended_at.is_some() {
                return self.restored(cell);
            }
            if let Some(deletion) = self.deletes.deletion(&cell) {
                // Of several puts of a timestamp the last counts, here the restored one.
                return if self.pending.is_some() { Flow::Next } else { self.deleted(cell, deletion, out) };
            }
            self.pending = None;
            if self.wants_restored {
                self.settled = Some((cell.qualifier.clone(), cell.timestamp));
            }
        }
        self.counted(cell, out)
    }

    /// No put of the pending version follows: it is kept.
    pub fn finish(&mut self, out: &mut impl Extend<VisibleCell>) {
        let Some(cell) = self.pending.take() else { return };
        let end = cell.tags.ended_at.unwrap_or(cell.timestamp);
        self.settled = Some((cell.qualifier.clone(), cell.timestamp));
        if self.rules.view == View::WithKept {
            self.keep(cell, end, out);
        } else if self.rules.time_range.is_before(end, cell.tags.written_at) {
            self.counted(cell, out);
        }
    }

    /// A put with its end: never live, ends and hides nothing.
    fn restored(&mut self, cell: StoredCell) -> Flow {
        if self.wants_restored
            && !self.deletes.erased(&cell)
            && self.pending.is_none()
            && !is_version(self.settled.as_ref(), &cell)
        {
            self.pending = Some(cell);
        }
        Flow::Next
    }

    fn keep(&mut self, cell: StoredCell, end: Timestamp, out: &mut impl Extend<VisibleCell>) {
        let hidden_from = Some(if self.deletes.covers_exactly(&cell) { cell.timestamp } else { end });
        if self.rules.time_range.contains(cell.timestamp, cell.tags.written_at) && self.kept.count(&cell).is_included()
        {
            out.extend([VisibleCell { cell, deleted_at: Some(end), hidden_from }]);
        }
    }

    fn track(&mut self, tombstone: &StoredCell) {
        let range = &self.rules.time_range;
        let t = tombstone.timestamp;
        let seen = match self.rules.family.keep_deleted {
            KeepDeleted::False => t.0 >= range.min,
            KeepDeleted::True | KeepDeleted::Ttl => {
                self.rules.view == View::WithKept || range.contains(t, tombstone.tags.written_at)
            }
        };
        if seen {
            self.deletes.add(tombstone);
        }
        if tombstone.tags.erases {
            self.deletes.add_eraser(tombstone);
        }
    }

    fn deleted(&mut self, cell: StoredCell, deletion: Deletion, out: &mut impl Extend<VisibleCell>) -> Flow {
        let lists_kept = self.rules.view == View::WithKept && self.rules.family.keep_deleted != KeepDeleted::False;
        if !lists_kept {
            return if deletion.ends_column() { Flow::NextColumn } else { Flow::Next };
        }
        if !self.deletes.erased(&cell) && !is_version(self.settled.as_ref(), &cell) {
            self.settled = Some((cell.qualifier.clone(), cell.timestamp));
            self.keep(cell, deletion.at, out);
        }
        Flow::Next
    }

    fn counted(&mut self, cell: StoredCell, out: &mut impl Extend<VisibleCell>) -> Flow {
        if self.rules.time_range.is_before(cell.timestamp, cell.tags.written_at) {
            return Flow::Next;
        }
        if cell.timestamp.0 < self.rules.time_range.min {
            return Flow::NextColumn;
        }
        let counted = self.versions.count(&cell);
        if counted.is_included() {
            out.extend([VisibleCell::live(cell)]);
        }
        match counted {
            Counted::Excess | Counted::IncludedLast if self.rules.view != View::WithKept => Flow::NextColumn,
            _ => Flow::Next,
        }
    }
}

/// Versions of a column that pass before a filter is asked.
fn limit(rules: &ReadRules<'_>) -> u32 {
    match (rules.view, rules.filtered) {
        (View::Raw, true) => u32::MAX,
        (View::Raw, false) => rules.max_versions,
        (_, true) => rules.family.versions,
        (_, false) => rules.max_versions.min(rules.family.versions),
    }
}

/// What a version count says about a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    Included,
    /// Included, and the column has nothing more to give.
    IncludedLast,
    /// Shadowed by one of the same timestamp.
    Duplicate,
    /// Beyond the limit: neither this nor anything older.
    Excess,
}

impl Counted {
    pub fn is_included(self) -> bool {
        matches!(self, Counted::Included | Counted::IncludedLast)
    }
}

/// HBase counts differently for reads that name their columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counting {
    /// ScanWildcardColumnTracker.
    Wildcard,
    /// ExplicitColumnTracker.
    Explicit,
}

/// Counts the versions of a column, and starts again with the next one.
pub(super) struct VersionTracker {
    counting: Counting,
    limit: u32,
    min_versions: u32,
    oldest: i64,
    column: Option<Qualifier>,
    count: u32,
    last: Option<(Timestamp, CellKind)>,
    finished: bool,
}

impl VersionTracker {
    pub fn new(counting: Counting, limit: u32, min_versions: u32, oldest: i64) -> Self {
        Self { counting, limit, min_versions, oldest, column: None, count: 0, last: None, finished: false }
    }

    /// Whether the last cell that was included is a put of this one's version.
    pub fn ends_with(&self, cell: &StoredCell) -> bool {
        self.last == Some((cell.timestamp, CellKind::Put)) && self.column.as_ref() == Some(&cell.qualifier)
    }

    pub fn count(&mut self, cell: &StoredCell) -> Counted {
        self.enter(&cell.qualifier);
        match self.counting {
            Counting::Wildcard => self.count_wildcard(cell),
            Counting::Explicit => self.count_explicit(cell),
        }
    }

    fn enter(&mut self, qualifier: &[u8]) {
        if self.column.as_deref() != Some(qualifier) {
            self.column = Some(qualifier.to_vec());
            self.count = 0;
            self.last = None;
            self.finished = false;
        }
    }

    fn count_wildcard(&mut self, cell: &StoredCell) -> Counted {
        let this = (cell.timestamp, cell.kind);
        if self.last == Some(this) {
            return Counted::Duplicate;
        }
        if cell.kind.is_put() {
            self.count = self.count.saturating_add(1);
        }
        let expired = cell.timestamp.0 < self.oldest;
        if self.count > self.limit || (self.count > self.min_versions && expired) {
            return Counted::Excess;
        }
        self.last = Some(this);
        Counted::Included
    }

    fn count_explicit(&mut self, cell: &StoredCell) -> Counted {
        if self.finished {
            return Counted::Excess;
        }
        if self.last.is_some_and(|(t, _)| t == cell.timestamp) {
            return Counted::Duplicate;
        }
        self.count = self.count.saturating_add(1);
        self.last = Some((cell.timestamp, cell.kind));
        let expired = cell.timestamp.0 < self.oldest;
        self.finished = self.count >= self.limit || (self.count >= self.min_versions && expired);
        if self.finished { Counted::IncludedLast } else { Counted::Included }
    }
}
