//! Flush: the oldest frozen memtable goes into the index, as far as the rules of visibility keep it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustc_hash::{FxHashMap, FxHashSet};

use super::cursor::stored_cell;
use super::engine::Engine;
use super::memtable::{Frozen, Indexed, Memtable, Memtables};
use crate::Result;
use crate::index::{Change, ColumnChanges, Index, IndexRow, Meta, RowPart, ShareChanges, Sums, key};
use crate::model::{Catalogue, FamilyId, FamilyRules, Generation, SegmentId, SeqNo, Timestamp};
use crate::visibility::{FlushMatcher, Verdict};
use crate::wal::{NewCell, append_all_dead};

/// Offsets of entries that were dropped, by segment.
#[derive(Default)]
pub struct Dropped(BTreeMap<SegmentId, Vec<u64>>);

impl Dropped {
    /// Adds the entry of a cell.
    pub fn add(&mut self, row: &IndexRow) {
        let (segment, offset) = row.place();
        self.0.entry(segment).or_default().push(offset);
    }
}

/// Sums over rows that are written to the index in order.
#[derive(Default)]
pub struct Counted {
    meta: Meta,
    sums: Sums,
    /// What keys of the last row start with.
    row: Vec<u8>,
    now: Timestamp,
}

impl Counted {
    pub fn new(meta: Meta, now: Timestamp) -> Self {
        let sums = Sums { columns: ColumnChanges::new(&meta), ..Sums::default() };
        Self { meta, sums, row: Vec::new(), now }
    }

    /// Counts the next row.
    pub fn add(&mut self, key: &[u8], row: &IndexRow) {
        let is_first = self.row.is_empty() || !key.starts_with(&self.row);
        if is_first {
            self.row.clear();
            self.row.extend_from_slice(&key[..key::row_prefix_len(key).unwrap_or(key.len())]);
        }
        let at = RowPart { len: self.row.len(), is_first };
        self.meta.count_in(key, row, at, self.now.0, &mut self.sums);
    }

    /// A row that is dropped instead, whose value others may share.
    pub fn pass_by(&mut self, row: &IndexRow) {
        self.meta.pass_by(row, &mut self.sums.shares);
    }

    /// Writes shares that a rebuild has counted so far, so that they take no more memory.
    pub fn unload_shares(&mut self, index: &Index, most: usize) -> Result<()> {
        if self.sums.shares.entries() > most {
            self.sums.shares.orphan_all();
            index.fill_shares(&self.sums, &mut self.meta)?;
            self.sums.shares = ShareChanges::default();
        }
        Ok(())
    }

    pub fn meta(&mut self) -> &mut Meta {
        &mut self.meta
    }

    pub fn finish(self) -> (Meta, Sums) {
        (self.meta, self.sums)
    }
}

/// The rules of all families whose cells are kept.
pub fn rules_by_id(catalogue: &Catalogue) -> FxHashMap<FamilyId, FamilyRules> {
    catalogue.stored_families().map(|family| (family.id, family.rules.clone())).collect()
}

impl Engine {
    /// Moves everything that was written before the call into the index.
    pub fn flush(&self) -> Result<()> {
        self.freeze();
        let flushed = self.flush_frozen();
        self.wake(|state| state.compact = true);
        flushed
    }

    /// Flushes what is frozen, oldest first.
    pub fn flush_frozen(&self) -> Result<()> {
        let _one = self.flushing.lock();
        self.flush_up_to(SeqNo(u64::MAX))
    }

    /// As [`Engine::flush_frozen`], of what was frozen up to a sequence number. The caller holds `flushing`.
    pub fn flush_up_to(&self, seq: SeqNo) -> Result<()> {
        while let Some(oldest) = self.tables.load().frozen.first().filter(|one| one.checkpoint.seq <= seq).cloned() {
            let mut in_pieces = self.disk.is_short();
            let flushed = self.with_reserve(|| self.flush_one(&oldest, std::mem::replace(&mut in_pieces, true)));
            self.note_flush(&flushed);
            flushed?;
        }
        Ok(())
    }

    /// `in_pieces`: in transactions that SQLite's own log has room for on a disk that is almost full.
    fn flush_one(&self, frozen: &Frozen, in_pieces: bool) -> Result<()> {
        // After a failed sync rows would point to what may be in the page cache alone; a restart reads what was rescued.
        self.log.check_poison()?;
        // Order: the log before the index that points into it.
        self.log.sync_to(frozen.checkpoint.seq)?;
        // Somebody else's sync may have failed meanwhile: what was rescued is elsewhere then.
        self.log.check_poison()?;
        let rules = rules_by_id(&self.catalogue.load());
        let gone = self.judge(&frozen.table, &rules)?;
        let _alone = self.maintenance.lock();
        let generation = Generation(self.meta.lock().generation.0 + 1);
        if in_pieces {
            for upto in frozen.table.pieces(self.disk.sizes.piece_cells) {
                self.flush_piece(&frozen.table, &gone, generation, |meta| meta.checkpoint.seq = upto)?;
            }
        }
        self.flush_piece(&frozen.table, &gone, generation, |meta| {
            meta.checkpoint = frozen.checkpoint;
            meta.flushes += 1;
        })?;
        self.retire(frozen);
        Ok(())
    }

    /// Writes what is not in the index yet up to a sequence number. The place from which the log is replayed stays
    /// until the last piece: the replay passes by what the number covers.
    fn flush_piece(
        &self,
        table: &Memtable,
        gone: &FxHashSet<Vec<u8>>,
        generation: Generation,
        covers: impl FnOnce(&mut Meta),
    ) -> Result<()> {
        let mut meta = self.meta.lock().clone();
        meta.generation = generation;
        covers(&mut meta);
        let upto = meta.checkpoint.seq;
        let counted = std::cell::RefCell::new(Counted::new(meta, self.now()));
        let mut changes = table.unflushed(upto).filter_map(|(key, mut row)| {
            if gone.contains(&key) {
                if self.may_be_shared(row.value.segment) {
                    counted.borrow_mut().pass_by(&row);
                }
                return None;
            }
            row.generation = generation;
            counted.borrow_mut().add(&key, &row);
            Some(Ok(Change::Put(key, row)))
        });
        let meta = self.index.write(&mut changes, || counted.take().finish())?;
        *self.meta.lock() = meta;
        table.note_flushed(upto);
        Ok(())
    }

    /// Whether unflushed rows share values of a segment.
    pub fn may_be_shared(&self, segment: SegmentId) -> bool {
        self.log.segments().get(segment).is_some_and(|segment| segment.shares() > 0)
    }

    /// The rows are in the index: the memtable goes.
    fn retire(&self, frozen: &Frozen) {
        let indexed = Arc::new(Indexed::of(&self.meta.lock()));
        self.log.pause(|_, _| {
            // Order: in one step, so that no snapshot lacks a memtable and what the index has of it.
            let mut tables: Memtables = (**self.tables.load()).clone();
            tables.indexed = indexed;
            tables.frozen.retain(|other| !Arc::ptr_eq(&other.table, &frozen.table));
            self.tables.store(Arc::new(tables));
        });
        for id in frozen.table.shares() {
            if let Some(segment) = self.log.segments().get(id) {
                segment.remove_shares(1);
            }
        }
        let _room = self.room.lock();
        self.room_made.notify_all();
    }

    /// Keys of cells that do not reach the index; those that the rules drop are marked dead first.
    fn judge(&self, table: &Memtable, rules: &FxHashMap<FamilyId, FamilyRules>) -> Result<FxHashSet<Vec<u8>>> {
        let now = self.now();
        let mut gone = FxHashSet::default();
        let mut dropped = Dropped::default();
        let mut judge = RowJudge { prefix: Vec::new(), matcher: None, now };
        for (key, row) in table.unflushed(SeqNo(u64::MAX)) {
            let Some(rules) = key::family_of(&key).and_then(|family| rules.get(&family)) else {
                // Its family was dropped; no mark is needed, no rebuild takes it.
                gone.insert(key);
                continue;
            };
            if rules.new_version_behavior {
                continue;
            }
            if judge.judge(&key, &row, rules) == Verdict::Drop {
                dropped.add(&row);
                gone.insert(key);
            }
        }
        self.mark_dead(&dropped)?;
        Ok(gone)
    }

    /// Makes durable that entries were dropped.
    pub fn mark_dead(&self, dropped: &Dropped) -> Result<()> {
        // Order: before the index forgets them; all at once, or a rebuild in between would bring back a put whose
        // tombstone, or what had masked it, is marked already.
        let marks = dropped.0.iter().map(|(id, offsets)| (*id, offsets.iter().copied().collect())).collect();
        append_all_dead(self.log.segments(), &marks)
    }

    /// Takes the sequence of reads of a family's track.
    pub fn note_cell(&self, cell: &NewCell<'_>) {
        let track = self.track(cell.family);
        track.max_timestamp.fetch_max(cell.timestamp.0, Ordering::AcqRel);
        self.recent.note((cell.family, cell.row, &cell.qualifier), cell.timestamp);
        if cell.tags.ttl_ms.is_some() {
            track.expiring.store(true, Ordering::Release);
        }
        if cell.kind.is_family_tombstone() {
            track.latest_tombstone.fetch_max(cell.timestamp.0, Ordering::AcqRel);
            track.family_tombstones.store(true, Ordering::Release);
        }
    }
}

/// Runs a matcher for each row and family that goes by.
struct RowJudge<'a> {
    prefix: Vec<u8>,
    matcher: Option<FlushMatcher<'a>>,
    now: Timestamp,
}

impl<'a> RowJudge<'a> {
    fn judge(&mut self, key: &[u8], row: &IndexRow, rules: &'a FamilyRules) -> Verdict {
        if self.matcher.is_none() || !key.starts_with(&self.prefix) {
            let len = key::row_prefix_len(key).unwrap_or(key.len());
            self.prefix = key[..len].to_vec();
            self.matcher = Some(FlushMatcher::new(rules, self.now));
        }
        let cell = stored_cell(key, row.clone(), self.prefix.len());
        match (&mut self.matcher, cell) {
            (Some(matcher), Some(cell)) => matcher.judge(&cell),
            _ => Verdict::Keep,
        }
    }
}
