//! What a flush or a compaction may drop (HBase: MinorCompactionScanQueryMatcher,
//! MajorCompactionScanQueryMatcher; our own rule for families with NEW_VERSION_BEHAVIOR).

use super::classic::{Counted, Counting, VersionTracker};
use super::delete_tracker::DeleteTracker;
use super::newversion;
use super::{Expiry, oldest};
use crate::Result;
use crate::model::{FamilyRules, Generation, KeepDeleted, Qualifier, StoredCell, Timestamp};

/// What becomes of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Keep,
    Drop,
}

/// What to do with tombstones.
#[derive(Clone, Copy, Debug)]
enum Tombstones {
    /// Flush and minor compaction.
    Keep,
    /// Major compaction; the smallest timestamp of a put in the family's flushed cells, all rows.
    Purge { earliest_put: Timestamp },
}

/// Flush and minor compaction: judges exactly the cells that are being written, in HBase's order.
///
/// One for each row and family. A minor compaction feeds only the cells of the generations it merges.
pub struct FlushMatcher<'a>(CompactionMatcher<'a>);

impl<'a> FlushMatcher<'a> {
    pub fn new(family: &'a FamilyRules, now: Timestamp) -> Self {
        Self(CompactionMatcher::new(family, now, Tombstones::Keep))
    }

    pub fn judge(&mut self, cell: &StoredCell) -> Verdict {
        // New-version families: nothing is judged before all that was written can be seen.
        if self.0.family.new_version_behavior { Verdict::Keep } else { self.0.judge(cell) }
    }
}

/// Major compaction of one row and family, cell by cell: tells every cell that may go.
///
/// What it drops of a column is told before anything of the next one, tombstones of the family at any time. A put
/// may be hidden by others that go: until all of its column has gone, the oldest must go first, and each tombstone
/// after the puts that it covers.
pub struct MajorMatcher<'a>(Major<'a>);

enum Major<'a> {
    Classic(Box<CompactionMatcher<'a>>),
    NewVersion(Box<newversion::Compaction<'a>>),
}

impl<'a> MajorMatcher<'a> {
    /// `earliest_put` is the smallest timestamp of a flushed put of the family, over all rows, before this
    /// compaction (classic families).
    pub fn new(family: &'a FamilyRules, now: Timestamp, earliest_put: Timestamp) -> Self {
        let tombstones = Tombstones::Purge { earliest_put };
        Self(match family.new_version_behavior {
            true => Major::NewVersion(Box::new(newversion::Compaction::new(family, now))),
            false => Major::Classic(Box::new(CompactionMatcher::new(family, now, tombstones))),
        })
    }

    /// Judges the next cell in HBase's order. Cells that are left out must all have been written after the others:
    /// such do not decide about them.
    pub fn push(&mut self, cell: StoredCell, drop: &mut impl FnMut(StoredCell) -> Result<()>) -> Result<()> {
        match &mut self.0 {
            Major::Classic(matcher) => match matcher.judge(&cell) {
                Verdict::Drop => drop(cell),
                Verdict::Keep => Ok(()),
            },
            Major::NewVersion(compaction) => compaction.push(cell, drop),
        }
    }

    /// All cells have been seen.
    pub fn finish(self, drop: &mut impl FnMut(StoredCell) -> Result<()>) -> Result<()> {
        match self.0 {
            Major::Classic(_) => Ok(()),
            Major::NewVersion(compaction) => compaction.finish(drop),
        }
    }
}

/// Major compaction of cells that are at hand: [`MajorMatcher`] over those that were flushed (generation not 0).
pub fn major_compaction(
    family: &FamilyRules,
    now: Timestamp,
    earliest_put: Timestamp,
    cells: impl Iterator<Item = Result<StoredCell>>,
    mut drop: impl FnMut(StoredCell) -> Result<()>,
) -> Result<()> {
    let mut matcher = MajorMatcher::new(family, now, earliest_put);
    for cell in cells.filter(|c| c.as_ref().map_or(true, |c| c.generation != Generation(0))) {
        matcher.push(cell?, &mut drop)?;
    }
    matcher.finish(&mut drop)
}

struct CompactionMatcher<'a> {
    family: &'a FamilyRules,
    now: Timestamp,
    oldest: i64,
    expiry: Expiry,
    tombstones: Tombstones,
    deletes: DeleteTracker,
    versions: VersionTracker,
    /// Restored versions take places of their own, so that they never push out a live one.
    restored: VersionTracker,
    /// The rest of this column goes.
    dropping: Option<Qualifier>,
}

impl<'a> CompactionMatcher<'a> {
    fn new(family: &'a FamilyRules, now: Timestamp, tombstones: Tombstones) -> Self {
        let oldest = oldest(family, now);
        let versions = VersionTracker::new(Counting::Wildcard, family.versions, family.min_versions, oldest);
        Self {
            family,
            now,
            oldest,
            expiry: Expiry::default(),
            tombstones,
            deletes: DeleteTracker::default(),
            versions,
            restored: VersionTracker::new(Counting::Wildcard, family.versions, 0, oldest),
            dropping: None,
        }
    }

    fn judge(&mut self, cell: &StoredCell) -> Verdict {
        if self.dropping.as_ref() == Some(&cell.qualifier) {
            return Verdict::Drop;
        }
        if self.family.min_versions == 0 && cell.timestamp.0 < self.oldest {
            return self.drop_column(cell);
        }
        if self.expiry.ends(cell, self.now) {
            // What it ends may lie among cells that are not judged here.
            let ends_others = matches!(self.tombstones, Tombstones::Keep) && cell.kind.is_put() && cell.tags.erases;
            return if ends_others { Verdict::Keep } else { Verdict::Drop };
        }
        if cell.kind.is_put() { self.judge_put(cell) } else { self.judge_tombstone(cell) }
    }

    fn judge_put(&mut self, cell: &StoredCell) -> Verdict {
        if self.deletes.erased(cell) {
            return Verdict::Drop;
        }
        if let Some(end) = cell.tags.ended_at {
            return self.judge_restored(cell, end);
        }
        match self.deletes.deletion(cell) {
            Some(deletion) if deletion.ends_column() => self.drop_column(cell),
            Some(_) => Verdict::Drop,
            None => self.count(cell),
        }
    }

    fn judge_restored(&mut self, cell: &StoredCell, end: Timestamp) -> Verdict {
        let retained = self.retains(end) && !self.versions.ends_with(cell);
        if retained && self.restored.count(cell) == Counted::Included { Verdict::Keep } else { Verdict::Drop }
    }

    fn retains(&self, tombstone: Timestamp) -> bool {
        match self.family.keep_deleted {
            KeepDeleted::False => false,
            KeepDeleted::True => true,
            KeepDeleted::Ttl => tombstone.0 >= self.oldest,
        }
    }

    fn judge_tombstone(&mut self, cell: &StoredCell) -> Verdict {
        let retained = self.retains(cell.timestamp);
        if !retained {
            self.deletes.add(cell);
        }
        if cell.tags.erases {
            self.deletes.add_eraser(cell);
        }
        let Tombstones::Purge { earliest_put } = self.tombstones else { return Verdict::Keep };
        if self.too_young_to_purge(cell) {
            return Verdict::Keep;
        }
        match retained {
            false => Verdict::Drop,
            true if cell.timestamp < earliest_put => self.drop_column(cell),
            true => self.count(cell),
        }
    }

    fn too_young_to_purge(&self, tombstone: &StoredCell) -> bool {
        let wait = i64::try_from(self.family.time_to_purge_deletes_ms).unwrap_or(i64::MAX);
        wait > 0 && self.now.0.saturating_sub(tombstone.timestamp.0) <= wait
    }

    fn count(&mut self, cell: &StoredCell) -> Verdict {
        match self.versions.count(cell) {
            Counted::Included | Counted::IncludedLast => Verdict::Keep,
            Counted::Duplicate => Verdict::Drop,
            Counted::Excess => self.drop_column(cell),
        }
    }

    /// Drops the cell and the rest of its column. Cells with an empty qualifier are judged one by one,
    /// because tombstones of the family lie among them.
    fn drop_column(&mut self, cell: &StoredCell) -> Verdict {
        if !cell.qualifier.is_empty() {
            self.dropping = Some(cell.qualifier.clone());
        }
        Verdict::Drop
    }
}
