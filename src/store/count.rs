//! How many rows a table has, by what its extents say of themselves.
//!
//! All rows of an extent that has nothing but puts which are alive show, and its trailer has their number. Rows that lie
//! elsewhere too (in the memtables, in other families, in smaller runs) are looked at one by one, if they are few.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::cursor::{Cursor, End, FAR, RowPlace, Snapshot};
use super::engine::Engine;
use super::layout::{Run, RunExtent};
use super::read::FEW;
use crate::Result;
use crate::backend::Versions;
use crate::format::key;
use crate::journal::Reference;
use crate::model::{FamilySchema, ReadSpec, Scan, TableSchema, TimeRange, Timestamp};
use crate::visibility::first_stays;

/// Rows that are known for each that is looked at: about the time of a walk over them.
const KNOWN_FOR_A_LOOK: u64 = 64;
/// Rows that are looked at however few are known.
const LEAST_LOOKS: u64 = 256;

/// Extents of a family whose keys do not overlap and whose rows all show.
struct Known<'t> {
    family: &'t FamilySchema,
    run: Arc<Run>,
    rows: u64,
}

impl Engine {
    /// See [`crate::backend::Backend::count_rows`].
    pub fn count_rows(&self, scan: &Scan) -> Result<Option<u64>> {
        let catalogue = self.catalogue.load();
        let table = self.table(&catalogue, &scan.table)?;
        let snapshot = self.snapshot();
        if !is_of_whole_rows(scan) || snapshot.doubt.is_some() {
            return Ok(None);
        }
        let (from, end) = range_of(scan);
        let families = table.families.values();
        let known = families.filter_map(|family| self.known(&snapshot, family, (&from, &end)));
        match known.max_by_key(|known| known.rows) {
            Some(known) => self.count_beside(&known, table, &snapshot, (&from, &end)),
            None => Ok(None),
        }
    }

    fn known<'t>(
        &self,
        snapshot: &Snapshot,
        family: &'t FamilySchema,
        (from, end): (&[u8], &[u8]),
    ) -> Option<Known<'t>> {
        let now = self.now();
        let is_within = |extent: &RunExtent| extent.first_key() >= from && extent.last_key() < end;
        let extents = snapshot.layout.runs(family.id)?.runs.iter().flat_map(|run| &run.extents);
        let shown = extents.filter(|extent| is_within(extent) && shows_all_rows(extent, family, now));
        let run = Run::of(disjoint(shown.collect())?);
        let shared = run.extents.windows(2).filter(|pair| shares_row(&pair[0], &pair[1])).count() as u64;
        Some(Known { family, rows: run.sum(|facts| facts.rows) - shared, run })
    }

    /// The rows that are known, and those beside them; `None`: these are too many.
    fn count_beside(
        &self,
        known: &Known<'_>,
        table: &TableSchema,
        snapshot: &Snapshot,
        (from, end): (&[u8], &End),
    ) -> Result<Option<u64>> {
        let most = (known.rows / KNOWN_FOR_A_LOOK).max(LEAST_LOOKS);
        let Some(mut beside) = beside(known, table, snapshot, (from, end, most))? else { return Ok(None) };
        let mut shown = Cursor::of_runs(known.family.id, &[], from, end.clone())?.with_run(&known.run, from)?;
        let (mut count, mut looks, mut place) = (known.rows, 0, RowPlace::default());
        while place.enter(|take| beside.iter().filter_map(Cursor::key).for_each(take)) {
            looks += 1;
            if looks > most {
                return Ok(None);
            }
            shown.seek(place.prefix())?;
            let is_known = shown.key().is_some_and(|key| key < place.end());
            match (is_known, self.row_is_there(snapshot, table, place.prefix())?) {
                (false, true) => count += 1,
                (true, false) => count -= 1,
                (true, true) | (false, false) => {}
            }
            beside.iter_mut().try_for_each(|cursor| cursor.pass_row(place.end()))?;
        }
        Ok(Some(count))
    }

    fn row_is_there(&self, snapshot: &Snapshot, table: &TableSchema, prefix: &[u8]) -> Result<bool> {
        for family in table.families.values() {
            let mut cursor = self.row_cursor(snapshot, family.id, prefix, FEW)?;
            if self.shows(&mut cursor, family, prefix.to_vec(), (TimeRange::ALL, Versions::Live))? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a row is in the answer if anything of it shows.
fn is_of_whole_rows(scan: &Scan) -> bool {
    let Scan { start_inclusive, stop_inclusive, reversed, limit, batch, read, by, .. } = scan;
    // How much of a row is wanted decides nothing.
    let all = ReadSpec {
        max_versions: read.max_versions.max(1),
        max_per_family: read.max_per_family.map(|most| most.max(1)),
        ..ReadSpec::default()
    };
    let is_range = *start_inclusive && !stop_inclusive && !reversed;
    is_range && limit.is_none() && batch.is_none() && by.is_none() && *read == all
}

/// The keys of a scan's rows: from the first, before the second.
fn range_of(scan: &Scan) -> (Vec<u8>, End) {
    let from = if scan.start.is_empty() { Vec::new() } else { key::row_prefix(&scan.start) };
    let end = if scan.stop.is_empty() { FAR.into() } else { key::row_prefix(&scan.stop).into() };
    (from, end)
}

/// Whether it has nothing but puts, none of which is or will be hidden by another cell of it, and none has expired.
fn shows_all_rows(extent: &RunExtent, family: &FamilySchema, now: Timestamp) -> bool {
    let is_alive = |least: Timestamp| first_stays(&family.rules, now, least);
    !extent.is_trimmed()
        && extent.facts().is_some_and(|facts| facts.has_plain_puts() && is_alive(facts.least_timestamp))
}

/// The larger ones of these whose keys do not overlap, ascending; `None`: there are none.
fn disjoint(mut extents: Vec<&RunExtent>) -> Option<Vec<RunExtent>> {
    extents.sort_by_key(|extent| std::cmp::Reverse(extent.facts().map_or(0, |facts| facts.rows)));
    let mut chosen: BTreeMap<&[u8], &RunExtent> = BTreeMap::new();
    for extent in extents {
        let before = chosen.range(..=extent.first_key()).next_back();
        let behind = chosen.range(extent.first_key()..).next();
        let is_free = before.is_none_or(|(_, before)| before.last_key() < extent.first_key())
            && behind.is_none_or(|(first, _)| extent.last_key() < *first);
        if is_free {
            chosen.insert(extent.first_key(), extent);
        }
    }
    (!chosen.is_empty()).then(|| chosen.into_values().cloned().collect())
}

/// Whether the row with which one ends is that with which the next one begins.
fn shares_row(one: &RunExtent, next: &RunExtent) -> bool {
    let prefix = |key: &[u8]| key::row_prefix_len(key);
    let (last, first) = (one.last_key(), next.first_key());
    prefix(last).is_some_and(|len| prefix(first) == Some(len) && last[..len] == first[..len])
}

/// What is stored in a range beside what is known; `None`: that has more rows than `most`.
fn beside(
    known: &Known<'_>,
    table: &TableSchema,
    snapshot: &Snapshot,
    (from, end, most): (&[u8], &End, u64),
) -> Result<Option<Vec<Cursor>>> {
    let names: BTreeSet<Reference> = known.run.extents.iter().map(|extent| extent.reference).collect();
    let mut cursors = Vec::new();
    for family in table.families.values() {
        let mut cursor = Cursor::in_memory(snapshot, family.id, from, end.clone(), FEW)?;
        for run in snapshot.layout.runs(family.id).iter().flat_map(|runs| &runs.runs) {
            let others = run.extents.iter().filter(|extent| !names.contains(&extent.reference)).cloned();
            let run = Run::of(others.collect());
            let is_within = |facts: &crate::segment::ExtentFacts| *facts.first_key >= *from && *facts.last_key < **end;
            if run.facts().any(|facts| is_within(facts) && facts.rows > most) {
                return Ok(None);
            }
            if !run.extents.is_empty() {
                cursor = cursor.with_run(&run, from)?;
            }
        }
        cursors.push(cursor);
    }
    Ok(Some(cursors))
}
