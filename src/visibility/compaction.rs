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

/// Major compaction of one row and family: tells `drop` every cell that may go, in no particular order.
///
/// `cells` are the stored ones in HBase's order. Unflushed ones (generation 0) may be among them and
/// are never dropped; nor do they decide about others, which were all written before them.
/// `earliest_put` is the smallest timestamp of a flushed put of the family, over all rows, before this
/// compaction (classic families).
pub fn major_compaction(
    family: &FamilyRules,
    now: Timestamp,
    earliest_put: Timestamp,
    cells: impl Iterator<Item = Result<StoredCell>>,
    mut drop: impl FnMut(StoredCell) -> Result<()>,
) -> Result<()> {
    let flushed = cells.filter(|c| c.as_ref().map_or(true, |c| c.generation != Generation(0)));
    if family.new_version_behavior {
        return newversion::compact(family, now, flushed, &mut drop);
    }
    let mut matcher = CompactionMatcher::new(family, now, Tombstones::Purge { earliest_put });
    for cell in flushed {
        let cell = cell?;
        if matcher.judge(&cell) == Verdict::Drop {
            drop(cell)?;
        }
    }
    Ok(())
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
