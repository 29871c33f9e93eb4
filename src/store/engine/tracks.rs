//! What is known of families' stored cells without looking.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use crate::env::sync::RwLock;
use crate::format::key;
use crate::log::LogCell;
use crate::model::{FamilyId, SeqNo, Timestamp};
use crate::store::layout::runs::Layout;
use crate::store::memory::memtable::Memtables;
use crate::store::memory::recent::Recent;

/// What is known of a family's stored cells without looking.
#[derive(Default)]
pub struct FamilyTrack {
    /// No stored cell has a greater timestamp.
    pub max_timestamp: AtomicI64,
    /// What it was when the store was opened.
    pub opened_with: AtomicI64,
    /// No tombstone of a whole family that was written since then has a greater timestamp.
    pub latest_tombstone: AtomicI64,
    /// Whether any tombstone of a whole family may be stored.
    pub family_tombstones: AtomicBool,
    /// Whether any cell with a TTL of its own may be stored.
    pub expiring: AtomicBool,
    /// A tombstone of a column with a greater number was written after every put of the column that is not later.
    pub unordered_upto: AtomicU64,
}

/// Of all families; bounded by their number.
#[derive(Default)]
pub struct Tracks {
    families: RwLock<FxHashMap<FamilyId, Arc<FamilyTrack>>>,
    recent: Recent,
}

impl Tracks {
    pub fn of(&self, family: FamilyId) -> Arc<FamilyTrack> {
        if let Some(track) = self.families.read().get(&family) {
            return Arc::clone(track);
        }
        Arc::clone(self.families.write().entry(family).or_default())
    }

    /// As [`Tracks::of`], for a moment.
    pub fn with<T>(&self, family: FamilyId, with: impl FnOnce(&FamilyTrack) -> T) -> T {
        if let Some(track) = self.families.read().get(&family) {
            return with(track);
        }
        with(&self.of(family))
    }

    /// See [`ReadRules::settled_after`](crate::visibility::ReadRules); after the view was taken.
    pub fn settled_after(&self, family: FamilyId) -> SeqNo {
        SeqNo(self.with(family, |track| track.unordered_upto.load(Ordering::Acquire)))
    }

    /// Puts with numbers up to this one may lie behind tombstones of their column that were written before; before anyone
    /// sees them.
    pub fn note_unordered(&self, family: FamilyId, upto: SeqNo) {
        self.with(family, |track| track.unordered_upto.fetch_max(upto.0, Ordering::AcqRel));
    }

    /// No stored cell of a column, and no stored tombstone that covers it, is later. Under the row's lock.
    pub fn latest_of(&self, family: FamilyId, row: &[u8], qualifier: &[u8]) -> Timestamp {
        let before = self.with(family, |track| {
            track.opened_with.load(Ordering::Acquire).max(track.latest_tombstone.load(Ordering::Acquire))
        });
        Timestamp(before).max(self.recent.latest(family, row, qualifier))
    }

    /// Takes over what the extents of a layout say of families; before anyone sees these.
    pub fn take_runs(&self, layout: &Layout) {
        for (id, runs) in layout.families() {
            let track = self.of(id);
            track.max_timestamp.fetch_max(runs.greatest.0, Ordering::AcqRel);
            track.opened_with.fetch_max(runs.greatest.0, Ordering::AcqRel);
            track.expiring.fetch_or(runs.expiring, Ordering::AcqRel);
            track.family_tombstones.fetch_or(runs.family_tombstones, Ordering::AcqRel);
            let last = runs.runs.iter().flat_map(|run| run.facts()).map(|facts| facts.greatest_seq.0).max();
            track.unordered_upto.fetch_max(last.unwrap_or(0), Ordering::AcqRel);
        }
    }

    /// Takes over what the cells of memtables say of families; before anyone sees these.
    pub fn take_memory(&self, tables: &Memtables) {
        for (id, table) in tables.all().flat_map(|table| table.families()) {
            let track = self.of(id);
            let noted: std::result::Result<(), ()> = table.all(|cell| {
                let Some((timestamp, kind, seq)) = key::decode_suffix(cell.key()) else { return Ok(()) };
                track.unordered_upto.fetch_max(seq.0, Ordering::AcqRel);
                track.max_timestamp.fetch_max(timestamp.0, Ordering::AcqRel);
                track.opened_with.fetch_max(timestamp.0, Ordering::AcqRel);
                let expires = cell.tags().is_some_and(|tags| tags.ttl_ms.is_some());
                track.expiring.fetch_or(expires, Ordering::AcqRel);
                track.family_tombstones.fetch_or(kind.is_family_tombstone(), Ordering::AcqRel);
                Ok(())
            });
            debug_assert!(noted.is_ok());
        }
    }

    /// No cell that decides about a column, was written since the store was opened and is seen has a greater number; after
    /// the view was taken.
    pub fn written_upto(&self, family: FamilyId, row: &[u8], qualifier: &[u8]) -> SeqNo {
        // Tombstones of the family have an empty one.
        self.recent.written_upto(family, row, qualifier).max(self.recent.written_upto(family, row, &[]))
    }

    /// A cell is about to be seen; whether none that was written to its column since the store was opened is as late.
    pub fn note_cell(&self, cell: &LogCell<'_>, seq: SeqNo) -> bool {
        let before = self.recent.note((cell.family, cell.row, cell.qualifier), cell.timestamp, seq);
        self.with(cell.family, |track| {
            track.max_timestamp.fetch_max(cell.timestamp.0, Ordering::AcqRel);
            if cell.tags.ttl_ms.is_some() {
                track.expiring.store(true, Ordering::Release);
            }
            if cell.kind.is_family_tombstone() {
                track.latest_tombstone.fetch_max(cell.timestamp.0, Ordering::AcqRel);
                track.family_tombstones.store(true, Ordering::Release);
            }
        });
        before < cell.timestamp
    }
}
