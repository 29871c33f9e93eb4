//! Compaction of families: which runs of one are merged when, and what is told afterwards.

use std::sync::Arc;

use super::merge::{Ended, Merge, Scope, Uncovered, Walk};
use crate::backend::{CompactionKind, CompactionProgress, Event};
use crate::journal::{Edit, Item};
use crate::model::{
    Catalogue, FamilyId, FamilyRules, FamilySchema, Generation, Origin, TableName, TableSchema, Timestamp,
};
use crate::segment::Sketch;
use crate::store::catalogue::upkeep;
use crate::store::engine::background::pace::Pace;
use crate::store::engine::{Engine, edits, family, known_table};
use crate::store::extents::flush::add;
use crate::store::extents::writing::{Output, options_of};
use crate::store::jobs::{collect, expire};
use crate::store::layout::policy::{Choice, FamilyStats, Layer, Settings, choose};
use crate::store::layout::runs::{Layout, Run, RunExtent, Runs};
use crate::store::secondary::stale::Stale;
use crate::store::space::{merge_room, reserve};
use crate::{Error, ErrorKind, Result};

/// Compacts a family, or all of a table; at full speed.
pub fn compact(engine: &Engine, table: &TableName, name: Option<&str>, kind: CompactionKind) -> Result<()> {
    engine.log.check_poison()?;
    let _hurry = engine.hurry.up();
    engine.wake(|_| ());
    let catalogue = engine.catalogue.load_full();
    let schema = known_table(&catalogue, table)?;
    let families: Vec<FamilyId> = match name {
        Some(name) => vec![family(schema, name)?.id],
        None => schema.stored_families().map(|family| family.id).collect(),
    };
    families.into_iter().try_for_each(|family| compact_family(engine, family, kind))?;
    engine.structure.collect();
    collect::collect_blobs(engine)
}

/// Compacts a family at full speed.
pub fn compact_family(engine: &Engine, family: FamilyId, kind: CompactionKind) -> Result<()> {
    let rules = |family: &FamilyRules| {
        let mut rules = family.clone();
        if engine.disk.is_short() {
            // Room is worth more than what is kept beside VERSIONS.
            rules.keep_versions_for_ms = 0;
        }
        rules
    };
    merge_family(engine, family, (kind, Scope::default()), rules)
}

/// Merges the runs of a family at full speed, by what `rules` makes of its rules; none of one that is gone.
pub fn merge_family(
    engine: &Engine,
    id: FamilyId,
    (kind, scope): (CompactionKind, Scope),
    rules: impl Fn(&FamilyRules) -> FamilyRules,
) -> Result<()> {
    let _one = engine.turns.compact();
    loop {
        // Order: the layout is let go of before the merge: its files are given back meanwhile.
        let taken = |layout: &Layout| {
            let (table, family) = declared(&layout.state.catalogue, id)?;
            Some((table.name.clone(), family.clone(), requested(layout, family, kind)))
        };
        let Some((table, family, runs)) = taken(&engine.layout()) else { return Ok(()) };
        let what = (kind, runs, scope.clone());
        match merge_runs(engine, &table, &family, &rules(&family.rules), what, &mut engine.full_pace())? {
            Merged::Outdated => {}
            Merged::Whole | Merged::Stopped => return Ok(()),
        }
    }
}

/// A family, and the table that it is of.
fn declared(catalogue: &Catalogue, id: FamilyId) -> Option<(&TableSchema, &FamilySchema)> {
    let mut all =
        catalogue.tables.values().flat_map(|table| table.stored_families().map(move |family| (table, family)));
    all.find(|(_, family)| family.id == id)
}

/// The runs that a compaction on request takes; none: there is nothing to do.
pub fn requested(layout: &Layout, family: &FamilySchema, kind: CompactionKind) -> Vec<Arc<Run>> {
    let Some(runs) = layout.runs(family.id).map(|runs| &runs.runs) else { return Vec::new() };
    let first = match kind {
        CompactionKind::Major => 0,
        CompactionKind::Minor if family.rules.new_version_behavior => return Vec::new(),
        // All but the oldest, three at most; one alone has nothing to be merged with.
        CompactionKind::Minor if runs.len() < 3 => return Vec::new(),
        CompactionKind::Minor => 1.max(runs.len() - 3),
    };
    runs[first..].to_vec()
}

/// Makes one run of several. The caller holds `compacting`.
///
/// New-version families go in slices, each an edit of its own, so that only a slice needs room beside what is there.
/// In classic families it matters which runs a tombstone was merged with: there it is all or nothing.
///
/// Order: `family` is as it was when `runs` were there, or before: what came later may be kept by other rules.
pub fn merge_runs(
    engine: &Engine,
    table: &TableName,
    family: &FamilySchema,
    rules: &FamilyRules,
    (kind, runs, scope): (CompactionKind, Vec<Arc<Run>>, Scope),
    pace: &mut Pace<'_>,
) -> Result<Merged> {
    let (Some(first), Some(last)) = (runs.first(), runs.last()) else { return Ok(Merged::Whole) };
    let newest = runs.iter().map(|run| run.last_layer).max();
    let layers = (first.first_layer, newest.unwrap_or(last.last_layer));
    let all: u64 = runs.iter().map(|run| run.sum(|facts| facts.cells)).sum();
    let mut looked = 0;
    let say = |percent| {
        let progress = CompactionProgress { table: table.clone(), family: family.name.clone(), kind, percent };
        engine.signals.state.lock().compaction = Some(progress);
    };
    say(0);
    let earliest_put = earliest_put(&runs);
    // Order: after the runs were chosen, see there.
    let stale = Stale::of(engine, &engine.catalogue.load(), family.id).filter(|_| kind == CompactionKind::Major);
    let mut merge = Merge { family, rules, kind, layers, earliest_put, runs, now: engine.now(), scope, stale };
    let merged = loop {
        let slice = merge_slice(engine, &merge, pace, &mut |cells| {
            looked += cells;
            say((looked * 100 / all.max(1)).min(99) as u8);
        });
        match slice.inspect_err(|_| engine.signals.state.lock().compaction = None)? {
            Slice::Next(from) => merge.runs = merge.runs.iter().filter_map(|run| run.trimmed(&from)).collect(),
            Slice::Last(uncovered) => {
                announce_uncovered(engine, table, family, uncovered);
                break Merged::Whole;
            }
            Slice::Stopped => break Merged::Stopped,
            Slice::Outdated => break Merged::Outdated,
        }
        // What has been read goes, if nobody else reads it.
        engine.structure.collect();
        engine.structure.give_back(&merge.runs)?;
        reserve::try_to_restore(engine);
    };
    engine.signals.state.lock().compaction = None;
    Ok(merged)
}

/// The next slice of a merge, and the edit by which it counts.
fn merge_slice(
    engine: &Engine,
    merge: &Merge<'_>,
    pace: &mut Pace<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<Slice> {
    let in_slices = merge.rules.new_version_behavior || merge.stale.is_some();
    let merged = merge_room::with_room_to_merge(engine, &merge.runs, || {
        let bytes = if in_slices { reserve::slice_bytes(engine, &merge.runs) } else { u64::MAX };
        engine.values.blobs.sync()?;
        let mut output = Output::new(engine);
        let is_major = merge.kind == CompactionKind::Major;
        output.begin(options_of(merge.family, merge.layers, engine.now(), is_major))?;
        let mut walk = Walk::new(merge, &mut output);
        let ended = walk.run(bytes, pace, progress)?;
        let uncovered = std::mem::replace(&mut walk.uncovered, Uncovered::TooMany);
        output.end()?;
        match ended {
            Ended::Stopped => Ok(None),
            Ended::Whole => Ok(Some((output.finish()?, Slice::Last(uncovered)))),
            Ended::Before(key) => Ok(Some((output.finish()?, Slice::Next(key)))),
        }
    });
    let Some((made, slice)) = merged? else { return Ok(Slice::Stopped) };
    let committed = reserve::with_reserve(engine, || {
        let mut edit = Edit::default();
        edit.items.extend(made.extents.iter().map(|(file, facts)| add(*file, facts, merge.family.id)));
        edit.items.extend(merge.runs.iter().flat_map(|run| &run.extents).filter_map(|extent| slice.upon(extent)));
        if matches!(slice, Slice::Last(_)) {
            edit.items.push(Item::Compacted);
        }
        let edit = |layout: &Layout| if is_outdated(merge, layout) { Err(outdated()) } else { Ok(edit) };
        edits::commit(engine, edit, |layout| engine.show(layout, |_| None))
    });
    match committed {
        // What was merged is gone, as its table was dropped, truncated or replaced meanwhile, or is judged otherwise now.
        Err(e) if e.kind == ErrorKind::Busy => {
            made.give_up(engine);
            Ok(Slice::Outdated)
        }
        Err(e) => {
            made.give_up(engine);
            Err(merge_room::told_full(engine, e))
        }
        Ok(()) => Ok(slice),
    }
}

/// Whether the rules of the family are other ones than those by which its cells were judged: what these dropped may show by
/// the new ones.
fn is_outdated(merge: &Merge<'_>, layout: &Layout) -> bool {
    declared(&layout.state.catalogue, merge.family.id).is_none_or(|(_, family)| family.rules != merge.family.rules)
}

fn outdated() -> Error {
    Error::new(ErrorKind::Busy, "the rules of the family have changed")
}

/// In classic families a tombstone that went uncovers puts that were written after it with smaller timestamps:
/// nothing else that a compaction does can be seen in a plain read.
fn announce_uncovered(engine: &Engine, table: &TableName, family: &FamilySchema, uncovered: Uncovered) {
    let origin = Origin(0);
    let table = table.clone();
    let events: Vec<Event> = match uncovered {
        Uncovered::TooMany => vec![Event::Table { table, origin }],
        Uncovered::Rows(rows) => {
            let of_family = |row| Event::Row { table: table.clone(), row, family: Some(family.name.clone()), origin };
            rows.into_iter().map(of_family).collect()
        }
    };
    engine.subscribers.announce(&events);
}

/// What goes without a compaction: dropped tables whose time has passed, what has expired, large values that
/// nothing refers to.
pub fn tidy(engine: &Engine, pace: &mut Pace<'_>) -> Result<()> {
    upkeep::forget_dropped(engine)?;
    expire::expire_runs(engine)?;
    if pace.go_on() {
        collect::collect_blobs(engine)?;
    }
    Ok(())
}

/// What the background does by itself: dropped families, what has expired, what is due by HBase's rules, and what
/// brings back much room.
pub fn compact_as_needed(engine: &Engine) -> Result<()> {
    let mut pace = engine.background_pace();
    tidy(engine, &mut pace)?;
    let mut again = true;
    while std::mem::take(&mut again) {
        let catalogue = engine.catalogue.load_full();
        for id in catalogue.tables.values().flat_map(TableSchema::stored_families).map(|family| family.id) {
            let _one = engine.turns.compact();
            let due = due(engine, &engine.layout(), id)?;
            if let Some(Due { table, family, kind, runs }) = due {
                merge_runs(engine, &table, &family, &family.rules, (kind, runs, Scope::default()), &mut pace)?;
                again = true;
            }
            if !pace.go_on() {
                return Ok(());
            }
        }
    }
    // What was read until now is let go.
    engine.structure.collect();
    collect::collect_blobs(engine)
}

/// What the background is to merge, and the family as it is there. It holds no layout: files are given back meanwhile.
struct Due {
    table: TableName,
    family: FamilySchema,
    kind: CompactionKind,
    runs: Vec<Arc<Run>>,
}

/// What is to be compacted of a family now; it may have been dropped.
fn due(engine: &Engine, layout: &Layout, id: FamilyId) -> Result<Option<Due>> {
    let declared = declared(&layout.state.catalogue, id).filter(|(table, _)| table.compaction_enabled());
    let Some((table, family)) = declared else { return Ok(None) };
    let settings = Settings::of(table, family)?;
    let due = layout.runs(id).and_then(|runs| chosen(engine, runs, (family, &settings)));
    Ok(due.map(|(kind, runs)| Due { table: table.name.clone(), family: family.clone(), kind, runs }))
}

fn chosen(
    engine: &Engine,
    runs: &Runs,
    (family, settings): (&FamilySchema, &Settings),
) -> Option<(CompactionKind, Vec<Arc<Run>>)> {
    if runs.runs.iter().any(|run| run.is_damaged) || merge_room::lacks_room_beside_snapshots(engine, &runs.runs) {
        return None;
    }
    if runs.is_half_merged() {
        return Some((CompactionKind::Major, runs.runs.clone()));
    }
    let chosen = |wanted: &dyn Fn(&Run) -> bool| runs.runs.iter().filter(|run| wanted(run)).cloned().collect();
    let stats = FamilyStats { superseded: superseded(runs, &family.rules), ..stats_of(runs) };
    match choose(family.id, &stats, &family.rules, settings, engine.now()) {
        Choice::Nothing => None,
        Choice::Minor { after, upto } => {
            let inside = |run: &Run| run.last_layer > after.0 && run.last_layer <= upto.0;
            Some((CompactionKind::Minor, chosen(&inside)))
        }
        Choice::Major => Some((CompactionKind::Major, chosen(&|_| true))),
    }
}

/// What a slice of a merge came to.
enum Slice {
    /// It counts; the next one begins with this key.
    Next(Arc<[u8]>),
    /// It counts, and was the last.
    Last(Uncovered),
    /// The store stops.
    Stopped,
    /// What was merged is gone, or has other rules.
    Outdated,
}

/// What a merge came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Merged {
    Whole,
    /// The store stops.
    Stopped,
    /// What was merged is gone, or the family has other rules by now: from there on it was left as it was.
    Outdated,
}

impl Slice {
    /// What becomes of an extent that was read for it.
    fn upon(&self, extent: &RunExtent) -> Option<Item> {
        let reference = extent.reference;
        match self {
            Self::Next(from) if extent.last_key() >= &**from => {
                let is_read = extent.first_key() < &**from;
                is_read.then(|| Item::Trim { reference, from: Arc::clone(from) })
            }
            _ => Some(Item::Remove(reference)),
        }
    }
}

/// The least timestamp of a put.
fn earliest_put(runs: &[Arc<Run>]) -> Timestamp {
    let puts = runs.iter().flat_map(|run| run.facts()).filter_map(|facts| facts.earliest_put);
    puts.min().unwrap_or(Timestamp(i64::MAX))
}

/// Puts beyond VERSIONS of the columns that there are, by the union of sketches of these: 2 percent off.
fn superseded(runs: &Runs, rules: &FamilyRules) -> u64 {
    if runs.runs.len() < 2 {
        return 0;
    }
    let mut all: Option<Sketch> = None;
    for extent in runs.runs.iter().flat_map(|run| &run.extents) {
        // Of what cannot be read nothing is known.
        let Ok(sketch) = extent.readable().and_then(|extent| extent.sketch()) else { return 0 };
        match &mut all {
            Some(all) => all.merge(&sketch),
            None => all = Some(sketch),
        }
    }
    let puts: u64 = runs.runs.iter().map(|run| run.sum(|facts| facts.puts)).sum();
    let columns = all.map_or(0, |all| all.estimate());
    puts.saturating_sub(columns.saturating_mul(u64::from(rules.versions)))
}

/// What the policy asks of a family.
pub fn stats_of(runs: &Runs) -> FamilyStats {
    let layer = |run: &Arc<Run>| Layer {
        last: Generation(run.last_layer),
        cells: run.sum(|facts| facts.cells),
        rows: run.sum(|facts| facts.rows),
        bytes: run.sum(|facts| facts.stored_bytes),
        superseded: run.sum(|facts| facts.superseded_cells),
        tombstones: run.sum(|facts| facts.tombstones.all()),
        earliest_put: run.facts().filter_map(|facts| facts.earliest_put).min().unwrap_or(Timestamp(i64::MAX)),
        latest: run.facts().map(|facts| facts.greatest_timestamp).max().unwrap_or(Timestamp(i64::MIN)),
        made_at: run.facts().map(|facts| facts.made_at.0).min().unwrap_or(0),
        major: run.facts().all(|facts| facts.major),
    };
    FamilyStats { layers: runs.runs.iter().map(layer).collect(), superseded: 0 }
}
