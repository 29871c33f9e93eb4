//! What a rebuild takes over from the index of before: cells whose records are damaged. A read of one is an error then,
//! and not an older version.

use std::num::NonZeroUsize;

use lru::LruCache;

use super::check::lookup;
use super::recovery::Recovery;
use super::reserve;
use crate::index::{FormerIndex, IndexRow, key};
use crate::model::{Generation, SegmentId};
use crate::wal::{DeadMarks, read_dead};
use crate::{ErrorKind, Result};

/// Segments whose marks are held in memory.
const MARKS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(15);
/// Rows that are written at once.
const BATCH: usize = 20_000;

impl Recovery<'_> {
    /// Adds the rows of `former` that the new index lacks although nothing says that their cells went. Nothing can be
    /// missing where nothing was found to be damaged, now or before.
    pub(super) fn carry_over(&mut self, former: &FormerIndex, batch: &mut Vec<(Vec<u8>, IndexRow)>) -> Result<()> {
        if !self.damages.any() && !self.is_short {
            return Ok(());
        }
        let (mut marks, mut count) = (LruCache::new(MARKS), 0u64);
        let is_latest = former.is_latest;
        former.rows(&mut |key, row| {
            if !self.is_missed(key, &row, is_latest, &mut marks)? {
                return Ok(());
            }
            if self.tail.is_some_and(|tail| self.is_behind_the_end(tail, &row)) {
                // What comes next must not get the place of what is missing.
                self.tail = None;
            }
            count += 1;
            self.last = self.last.max(key::decode_suffix(key).map(|(.., seq)| seq).unwrap_or_default());
            batch.push((key.to_vec(), IndexRow { generation: Generation(1), ..row }));
            if batch.len() < BATCH { Ok(()) } else { self.fill(batch) }
        })?;
        self.fill(batch)?;
        if count > 0 {
            let text = format!(
                "{count} cells of which no whole record is left were taken over from the index of before: what cannot \
                 be read of them is an error, not an older version"
            );
            self.damages.add(&text);
        }
        Ok(())
    }

    fn is_missed(
        &self,
        key: &[u8],
        row: &IndexRow,
        is_latest: bool,
        marks: &mut LruCache<SegmentId, DeadMarks>,
    ) -> Result<bool> {
        let stored = key::family_of(key).is_some_and(|family| self.families.contains(&family));
        let (segment, offset) = row.place();
        // An older index points into what was purged since.
        let there = |id: SegmentId| is_latest || self.segments.get(id).is_some();
        if !stored || !there(segment) || !there(row.value.segment) || lookup(self.index, key)?.is_some() {
            return Ok(false);
        }
        let dropped = marks.try_get_or_insert(segment, || read_dead(self.segments, segment))?.contains(offset);
        Ok(!dropped)
    }

    fn is_behind_the_end(&self, tail: SegmentId, row: &IndexRow) -> bool {
        let end = self.segments.get(tail).map_or(0, |segment| segment.len());
        let place = row.place();
        place.0 == tail && place.1 >= end || row.value.segment == tail && row.value.offset >= end
    }

    /// Writes to the index; on a full disk with the room of the reserve, then with that of the index of before, if that
    /// has nothing to say so far.
    pub(super) fn with_any_room(&self, write: impl Fn() -> Result<()>) -> Result<()> {
        let full = |result: &Result<()>| result.as_ref().is_err_and(|e| e.kind == ErrorKind::NoSpace);
        let mut written = write();
        let store = self.segments.dir().parent().unwrap_or(self.segments.dir());
        while full(&written) && reserve::remove(&**self.segments.env(), store) {
            written = write();
        }
        if full(&written) && !self.damages.any() && self.index.forget_former()? {
            written = write();
        }
        written
    }
}
