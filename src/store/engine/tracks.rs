//! What is known of families' stored cells without looking.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use rustc_hash::FxHashMap;

use crate::env::sync::RwLock;
use crate::format::key;
use crate::log::LogCell;
use crate::model::{FamilyId, Timestamp};
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

    /// A cell of the column is about to be seen.
    pub fn note(&self, column: (FamilyId, &[u8], &[u8]), timestamp: Timestamp) {
        self.recent.note(column, timestamp);
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
        }
    }

    /// Takes over what the cells of memtables say of families; before anyone sees these.
    pub fn take_memory(&self, tables: &Memtables) {
        for (id, table) in tables.all().flat_map(|table| table.families()) {
            let track = self.of(id);
            let noted: std::result::Result<(), ()> = table.all(|cell| {
                let Some((timestamp, kind, _)) = key::decode_suffix(cell.key()) else { return Ok(()) };
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

    /// A cell is about to be seen. Takes the sequence of reads of a family's track.
    pub fn note_cell(&self, cell: &LogCell<'_>) {
        self.note((cell.family, cell.row, cell.qualifier), cell.timestamp);
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
    }
}
