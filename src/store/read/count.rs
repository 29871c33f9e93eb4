//! How many rows a table has, by what its extents say of themselves.
//!
//! All rows of an extent that has nothing but puts which are alive show, and its trailer has their number. Rows that lie
//! elsewhere too (in the memtables, in other families, in smaller runs) are looked at one by one, if they are few.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::point::{FEW, FamilyWalk};
use crate::Result;
use crate::backend::Versions;
use crate::format::key;
use crate::journal::Reference;
use crate::model::{FamilySchema, ReadSpec, Scan, TableSchema, TimeRange, Timestamp};
use crate::segment::{ExtentFacts, Reading};
use crate::store::cursor::row_place::RowPlace;
use crate::store::cursor::view::ReadView;
use crate::store::cursor::walk::{Cursor, End};
use crate::store::engine::Engine;
use crate::store::layout::far::FAR;
use crate::store::layout::runs::{Run, RunExtent};
use crate::store::read::point;
use crate::visibility::first_stays;

/// Rows that have to be known for each step of a walk over others.
const ROWS_OF_A_STEP: u64 = 2;
/// Steps that are made however few are known.
const LEAST_STEPS: u64 = 4096;
/// A look at a row that is known, in such steps.
const LOOK: u64 = 16;

/// What is counted: the rows that show something of a range of times, from a key on and before another.
struct Asked {
    from: Vec<u8>,
    end: End,
    range: TimeRange,
}

impl Asked {
    fn has(&self, (first, last): (&[u8], &[u8])) -> bool {
        first >= self.from.as_slice() && last < &*self.end
    }

    /// Whether all of an extent counts, and is nothing but puts of the times that are asked for, which no cell of it hides and
    /// which have not expired.
    fn shows_all_rows(&self, extent: &RunExtent, family: &FamilySchema, now: Timestamp) -> bool {
        extent.facts().is_some_and(|facts| {
            let is_whole = extent.first_key() == facts.first_key && self.has((&facts.first_key, &facts.last_key));
            let of_range =
                [facts.least_timestamp, facts.greatest_timestamp].iter().all(|t| self.range.contains(*t, None));
            is_whole && of_range && facts.has_plain_puts() && first_stays(&family.rules, now, facts.least_timestamp)
        })
    }
}

/// Extents of a family whose keys do not overlap and whose rows all show.
struct Known<'t> {
    family: &'t FamilySchema,
    run: Arc<Run>,
    rows: u64,
}

/// See [`crate::backend::Backend::count_rows`].
pub fn count_rows(engine: &Engine, scan: &Scan) -> Result<Option<u64>> {
    let catalogue = engine.catalogue.load();
    let table = engine.table(&catalogue, &scan.table)?;
    let view = engine.view();
    if !is_of_whole_rows(scan) || view.doubt.is_some() {
        return Ok(None);
    }
    let asked = asked_of(scan);
    let known = table.families.values().filter_map(|family| known(engine, &view, family, &asked));
    match known.max_by_key(|known| known.rows) {
        Some(known) => count_beside(engine, &known, table, &view, &asked),
        None => Ok(None),
    }
}

fn known<'t>(engine: &Engine, view: &ReadView, family: &'t FamilySchema, asked: &Asked) -> Option<Known<'t>> {
    let now = engine.now();
    let extents = view.layout.runs(family.id)?.runs.iter().flat_map(|run| &run.extents);
    let run = Run::of(disjoint(extents.filter(|extent| asked.shows_all_rows(extent, family, now)).collect())?);
    let shared = run.extents.windows(2).filter(|pair| shares_row(&pair[0], &pair[1])).count() as u64;
    Some(Known { family, rows: run.sum(|facts| facts.rows) - shared, run })
}

/// The rows that are known, and those beside them; `None`: these are too many.
fn count_beside(
    engine: &Engine,
    known: &Known<'_>,
    table: &TableSchema,
    view: &ReadView,
    asked: &Asked,
) -> Result<Option<u64>> {
    let most = (known.rows / ROWS_OF_A_STEP).max(LEAST_STEPS);
    let Some(mut beside) = beside(engine, (known, most), table, view, asked)? else { return Ok(None) };
    let mut shown = Cursor::of_runs(known.family.id, &[], &asked.from, asked.end.clone())?;
    shown = shown.with_run(&known.run, &asked.from, Reading::Point)?;
    let (mut count, mut steps, mut place) = (known.rows, 0, RowPlace::default());
    let wanted = point::wanted(engine, asked.range, Versions::Live);
    while steps < most && place.enter(|take| beside.iter().filter_map(|walk| walk.cursor.key()).for_each(take)) {
        shown.seek(place.prefix())?;
        if !place.holds(&shown) {
            steps += 1;
            count += u64::from(point::row_shows(&mut beside, &place, wanted)?);
            continue;
        }
        steps += LOOK;
        count -= u64::from(!row_is_there(engine, view, table, (place.prefix(), asked.range))?);
        beside.iter_mut().try_for_each(|walk| walk.cursor.pass_row(&place))?;
    }
    Ok((steps < most).then_some(count))
}

/// What is stored in a range beside what is known; `None`: that has more rows than `most`.
fn beside(
    engine: &Engine,
    (known, most): (&Known<'_>, u64),
    table: &TableSchema,
    view: &ReadView,
    asked: &Asked,
) -> Result<Option<Vec<FamilyWalk>>> {
    let names: BTreeSet<Reference> = known.run.extents.iter().map(|extent| extent.reference).collect();
    let is_within = |facts: &&ExtentFacts| asked.has((&facts.first_key, &facts.last_key));
    let mut walks = Vec::new();
    let mut rows = 0;
    for family in table.families.values() {
        let mut cursor = Cursor::in_memory(view, family.id, &asked.from, asked.end.clone(), FEW)?;
        for run in view.layout.runs(family.id).iter().flat_map(|runs| &runs.runs) {
            let others = run.extents.iter().filter(|extent| !names.contains(&extent.reference)).cloned();
            let run = Run::of(others.collect());
            // Each is a step at least.
            rows += run.facts().filter(is_within).map(|facts| facts.rows).sum::<u64>();
            if rows > most {
                return Ok(None);
            }
            if !run.extents.is_empty() {
                cursor = cursor.with_run(&run, &asked.from, Reading::Walk)?;
            }
        }
        walks.push(FamilyWalk { schema: family.clone(), cursor, plain: point::is_plain(engine, family, asked.range) });
    }
    Ok(Some(walks))
}

fn row_is_there(
    engine: &Engine,
    view: &ReadView,
    table: &TableSchema,
    (prefix, range): (&[u8], TimeRange),
) -> Result<bool> {
    for family in table.families.values() {
        let mut cursor = engine.row_cursor(view, family.id, prefix, FEW)?;
        if point::shows(&mut cursor, family, prefix.to_vec(), point::wanted(engine, range, Versions::Live))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a row is in the answer if anything of it shows.
fn is_of_whole_rows(scan: &Scan) -> bool {
    let Scan {
        table: _,
        start: _,
        start_inclusive,
        stop: _,
        stop_inclusive,
        reversed,
        limit,
        batch,
        tells: _,
        read,
        by,
    } = scan;
    // How much of a row is wanted decides nothing.
    let all = ReadSpec {
        time_range: read.time_range,
        max_versions: read.max_versions.max(1),
        max_per_family: read.max_per_family.map(|most| most.max(1)),
        ..ReadSpec::default()
    };
    let is_range = *start_inclusive && !stop_inclusive && !reversed;
    is_range && limit.is_none() && batch.is_none() && by.is_none() && *read == all
}

/// What a scan of whole rows asks for.
fn asked_of(scan: &Scan) -> Asked {
    let from = if scan.start.is_empty() { Vec::new() } else { key::row_prefix(&scan.start) };
    let end = if scan.stop.is_empty() { FAR.into() } else { key::row_prefix(&scan.stop).into() };
    Asked { from, end, range: scan.read.time_range }
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
    let (last, first) = (one.last_key(), next.first_key());
    key::row_prefix_len(last).is_some_and(|len| first.starts_with(&last[..len]))
}
