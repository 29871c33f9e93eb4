//! The index made anew: all segments are read, in sorted batches, and what it says of itself is counted.

use std::collections::BTreeSet;

use super::flush::Counted;
use super::recovery::{Recovery, Tail};
use crate::Result;
use crate::index::{Change, Checkpoint, Direction, IndexRow, Meta, key};
use crate::model::{Generation, SegmentId};
use crate::wal::{DeadMarks, Found};

/// Cells that are sorted at once.
const BATCH: usize = 200_000;
/// Entries whose values are shared that are counted at once.
const SHARES: usize = 20_000;

impl Recovery<'_> {
    /// Fills an empty index from all segments, in sorted batches.
    pub(super) fn rebuild(&mut self) -> Result<Meta> {
        self.rebuilding = true;
        let mut meta = Meta { generation: Generation(1), ..Meta::default() };
        let mut batch = Vec::new();
        if self.end == Tail::Mend {
            self.remove_stillborn(&Meta::default())?;
        }
        let former = self.index.former(self.segments.store_id(), self.witness);
        if let Some((former, state)) = former.as_ref().and_then(|former| Some((former, former.meta.as_ref()?))) {
            // What it covers was on the disk before.
            self.synced = self.synced.max(state.checkpoint.seq);
            self.covered = self.covered.max(state.checkpoint.seq);
            if former.is_latest {
                self.look_for_lost(state);
            }
        }
        self.walk(&Checkpoint::default(), &mut |recovery, id, found, dead| {
            recovery.collect(id, found, dead, &mut batch);
            if batch.len() < BATCH { Ok(()) } else { recovery.fill(&mut batch) }
        })?;
        self.fill(&mut batch)?;
        self.tell_lost()?;
        if let Some(former) = &former {
            self.carry_over(former, &mut batch)?;
        }
        // Where nothing can be added to the last segment, the log goes on in another.
        if let Some(tail) = self.tail.or_else(|| self.segments.ids().last().copied()) {
            let offset = self.segments.get(tail).map_or(0, |segment| segment.len());
            meta.checkpoint = Checkpoint { seq: self.last, segment: tail, offset };
            // Order: on the disk before the index covers it.
            self.secure()?;
            self.drop_repeated()?;
        }
        let mut counted = Counted::new(meta, self.segments.env().now());
        self.count(&mut counted)?;
        let state = counted.finish();
        let meta = self.index.write(&mut std::iter::empty(), || state)?;
        self.take_stats(&meta);
        drop(former);
        self.index.forget_former()?;
        Ok(meta)
    }

    fn collect(&mut self, id: SegmentId, found: Vec<Found>, dead: &DeadMarks, batch: &mut Vec<(Vec<u8>, IndexRow)>) {
        for one in found {
            let entry = one.entry;
            // Records of a compaction have no number of their own.
            self.last = self.last.max(entry.seq);
            if dead.contains(one.offset) || !self.families.contains(&entry.family) {
                continue;
            }
            let own = one.shared.then_some((id, one.offset));
            if one.shared && self.segments.get(one.value.segment).is_none() {
                log::warn!("segment {}, offset {}: it shares bytes of a segment that is gone", id.0, one.offset);
                continue;
            }
            let key = key::cell_key(entry.family, &entry.row, &entry.qualifier, entry.timestamp, entry.kind, entry.seq);
            let row = IndexRow { value: one.value, generation: Generation(1), tags: entry.tags, own };
            batch.push((key, row));
        }
    }

    pub(super) fn fill(&self, batch: &mut Vec<(Vec<u8>, IndexRow)>) -> Result<()> {
        batch.sort_by(|a, b| a.0.cmp(&b.0));
        let write = || self.index.fill(&mut batch.iter().map(|(key, row)| Ok(Change::Put(key.clone(), row.clone()))));
        self.with_any_room(write)?;
        batch.clear();
        Ok(())
    }

    /// Sums over all rows.
    fn count(&self, counted: &mut Counted) -> Result<()> {
        self.pages(&mut |page| {
            page.iter().for_each(|(key, row)| counted.add(key, row));
            counted.unload_shares(self.index, SHARES)
        })?;
        counted.unload_shares(self.index, 0)?;
        let shared: BTreeSet<SegmentId> =
            counted.meta().segments.iter().filter(|(_, stats)| stats.shares > 0).map(|(id, _)| *id).collect();
        if shared.is_empty() {
            return Ok(());
        }
        self.pages(&mut |page| {
            let own = page.into_iter().map(|(_, row)| row).filter(|row| row.own.is_none());
            let rows: Vec<IndexRow> = own.filter(|row| shared.contains(&row.value.segment)).collect();
            if rows.is_empty() { Ok(()) } else { self.index.mark_originals(&rows) }
        })?;
        self.index.count_orphans(counted.meta())
    }

    /// All rows of the index, page by page.
    fn pages(&self, each: &mut dyn FnMut(Vec<(Vec<u8>, IndexRow)>) -> Result<()>) -> Result<()> {
        let mut from = Vec::new();
        loop {
            let mut page = Vec::new();
            let count = self.index.page(&from, &[0xFF; 8], 4096, Direction::Ascending, &mut |key, row| {
                page.push((key.to_vec(), row));
                Ok(())
            })?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            from.clone_from(last);
            from.push(0);
            each(page)?;
            if count < 4096 {
                return Ok(());
            }
        }
    }
}
