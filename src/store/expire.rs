//! Segments in which everything has expired go as a whole: their rows leave the index, their files are deleted, and
//! neither is read for it.
//!
//! Only what no read can see any more, and what hides nothing: cells past their family's TTL where MIN_VERSIONS is 0,
//! and cells past their own.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use rustc_hash::FxHashMap;

use super::doomed::Gone;
use super::engine::Engine;
use super::flush::Dropped;
use super::pace::Pace;
use super::plan::Planned;
use crate::Result;
use crate::backend::Event;
use crate::index::{Direction, IndexRow, Lifetime, SegmentStats, key};
use crate::model::{Catalogue, FamilyId, FamilyRules, Origin, SegmentId, TableName, TableSchema, Timestamp};
use crate::visibility::past_family_ttl;

/// Rows of the index that are looked at between two rests.
const PIECE: usize = 4096;
/// A walk over the index of a family must find this part of it expired (one in so many) ...
const WORTH: u64 = 8;
/// ... unless it has fewer cells than this.
const SMALL: u64 = 1_000_000;

type Rules = FxHashMap<FamilyId, FamilyRules>;

/// Segments that are to go, and the families that have cells there.
#[derive(Default)]
struct Expired {
    segments: BTreeSet<SegmentId>,
    families: BTreeSet<FamilyId>,
    rows: u64,
}

impl Engine {
    /// Drops segments in which everything has expired, if they are worth the walk.
    pub fn expire_segments(&self, pace: &mut Pace<'_>) -> Result<()> {
        let rules = compacted_rules(&self.catalogue.load());
        let _one = self.compacting.lock();
        let mut expired = self.expired(&rules);
        expired.segments.retain(|id| self.log.segments().get(*id).is_some_and(|segment| segment.retire()));
        if expired.segments.is_empty() {
            return Ok(());
        }
        super::worker::doing(self, &format!("dropping {} expired segments", expired.segments.len()));
        let dropped = self.drop_expired(&expired, &rules, pace);
        super::worker::doing(self, "");
        if dropped.is_ok() {
            let gone = expired.segments.iter().filter(|id| self.log.segments().get(**id).is_none()).count();
            self.signals.state.lock().expired_segments += gone as u64;
        }
        for id in expired.segments {
            if let Some(segment) = self.log.segments().get(id) {
                segment.keep();
            }
        }
        dropped
    }

    /// The segments, if their rows are a part of their families that is worth the walk.
    fn expired(&self, rules: &Rules) -> Expired {
        let now = self.now();
        let meta = self.meta.lock();
        let mut expired = Expired::default();
        for (id, stats) in meta.segments.iter().filter(|(id, _)| **id < meta.checkpoint.segment) {
            if let Some(lifetimes) = all_past(stats, rules, now) {
                expired.segments.insert(*id);
                expired.families.extend(lifetimes.iter().map(|lifetime| lifetime.family));
                expired.rows += stats.live;
            }
        }
        let cells: u64 = expired.families.iter().filter_map(|id| meta.families.get(id)).map(|stats| stats.cells).sum();
        if cells > SMALL && expired.rows * WORTH < cells { Expired::default() } else { expired }
    }

    fn drop_expired(&self, expired: &Expired, rules: &Rules, pace: &mut Pace<'_>) -> Result<()> {
        for (id, rules) in expired.families.iter().filter_map(|id| Some((*id, rules.get(id)?))) {
            let (mut from, end) = (key::family_prefix(id), key::family_end(id));
            while let Some(next) = self.drop_expired_piece(expired, rules, &from, &end)? {
                from = next;
                if !pace.go_on() {
                    return Ok(());
                }
            }
        }
        self.with_reserve(|| self.purge_emptied(&expired.segments))
    }

    /// Some rows of a family; where to go on.
    fn drop_expired_piece(
        &self,
        expired: &Expired,
        rules: &FamilyRules,
        from: &[u8],
        end: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let now = self.now();
        let (mut gone, mut last) = (Vec::new(), Vec::new());
        let count = self.index.page(from, end, PIECE, Direction::Ascending, &mut |key, row| {
            last.clear();
            last.extend_from_slice(key);
            let inside = expired.segments.contains(&row.value.segment) || expired.segments.contains(&row.place().0);
            if inside && is_past(key, &row, rules, now) {
                gone.push(Gone { key: key.to_vec(), row });
            }
            Ok(())
        })?;
        if !gone.is_empty() {
            self.with_reserve(|| self.drop_rows(&gone, &expired.segments))?;
        }
        last.push(0);
        Ok((count == PIECE).then_some(last))
    }

    /// What a rebuild would find again in a segment that goes needs no mark: nobody can see it.
    fn drop_rows(&self, gone: &[Gone], segments: &BTreeSet<SegmentId>) -> Result<()> {
        let mut elsewhere = Dropped::default();
        for one in gone.iter().filter(|one| !segments.contains(&one.row.place().0)) {
            elsewhere.add(&one.row);
        }
        self.mark_dead(&elsewhere)?;
        self.remove_rows(gone)
    }
}

impl Engine {
    /// Whether any cell of a table may expire.
    pub fn may_expire(&self, table: &TableName) -> bool {
        let catalogue = self.catalogue.load();
        let mut families = catalogue.tables.get(table).into_iter().flat_map(|table| table.families.values());
        families.any(|f| f.rules.ttl_ms.is_some() || self.track(f.id).expiring.load(Ordering::Acquire))
    }

    /// What is told once the first cells with a TTL of their own have come to a family: names of its directories
    /// may not be kept for good any more. Before they are written.
    pub fn first_ttl(&self, table: &TableSchema, cells: &[Planned<'_>]) -> Option<Event> {
        let is_first = |cell: &Planned<'_>| {
            cell.tags.ttl_ms.is_some() && !self.track(cell.family.id).expiring.load(Ordering::Acquire)
        };
        cells.iter().any(is_first).then(|| Event::Table { table: table.name.clone(), origin: Origin(0) })
    }
}

/// The rules of families whose tables are compacted by themselves.
fn compacted_rules(catalogue: &Catalogue) -> Rules {
    let tables = catalogue.tables.values().filter(|table| table.compaction_enabled());
    tables.flat_map(|table| table.families.values()).map(|family| (family.id, family.rules.clone())).collect()
}

/// The lifetimes of what is in a segment if all of it is past.
fn all_past<'s>(stats: &'s SegmentStats, rules: &Rules, now: Timestamp) -> Option<&'s [Lifetime]> {
    let lifetimes = stats.lifetimes.of_families()?;
    let past = |lifetime: &Lifetime| {
        let rules = rules.get(&lifetime.family);
        rules.is_some_and(|rules| lifetime.alive_until < now.0 || past_family_ttl(rules, lifetime.newest, now))
    };
    (stats.live > 0 && lifetimes.iter().all(past)).then_some(lifetimes)
}

fn is_past(key: &[u8], row: &IndexRow, rules: &FamilyRules, now: Timestamp) -> bool {
    let Some((timestamp, ..)) = key::decode_suffix(key) else { return false };
    let own = row.tags.alive_until(timestamp).filter(|_| !row.tags.erases);
    own.is_some_and(|last| last < now.0) || past_family_ttl(rules, timestamp, now)
}
