//! Room on a full disk: what is in memory goes into extents, and what nothing shows any more is merged away, as on request.

use super::{collect, compact};
use crate::backend::CompactionKind;
use crate::model::{FamilyId, FamilySchema};
use crate::segment::ExtentFacts;
use crate::store::engine::Engine;
use crate::store::engine::changes::past;
use crate::store::extents::flush;
use crate::store::space::level::{available, usable};
use crate::store::space::{backlog, merge_room, reserve};
use crate::{ErrorKind, Result};

/// Makes room of what was deleted, what has expired and what newer versions hide.
pub fn make_disk_room(engine: &Engine) {
    let round = engine.disk.begin_round();
    reserve::try_to_restore(engine);
    if let Err(e) = clear(engine) {
        engine.said.warn(&format!("make room on the disk: {e}"));
    }
    reserve::try_to_restore(engine);
    reserve::look_at_room(engine);
    engine.disk.end_round(&round);
    let (took, free) = (round.began.elapsed(), available(engine));
    log::debug!("room was looked for in {took:?}: {free} bytes are free, short {}", engine.disk.is_short());
}

fn clear(engine: &Engine) -> Result<()> {
    if !engine.disk.is_short() {
        return Ok(());
    }
    engine.log.check_poison()?;
    let _hurry = engine.hurry.up();
    let pace = &mut engine.full_pace();
    // Order: first what takes no room itself, so that the rest has some.
    past::prune_past(engine, 0);
    collect::collect_blobs(engine)?;
    reserve::try_to_restore(engine);
    backlog::freeze(engine)?;
    let flushed = flush::flush_frozen(engine);
    if let Err(e) = &flushed
        && e.kind != ErrorKind::NoSpace
    {
        return flushed;
    }
    compact::tidy(engine, pace)?;
    let catalogue = engine.catalogue.load_full();
    for table in catalogue.tables.values().filter(|table| table.compaction_enabled()) {
        let makes_room = |family: &&FamilySchema| {
            let all = compact::requested(&engine.layout(), family, CompactionKind::Major);
            has_changed(engine, family) && !merge_room::stays_for_snapshots(engine, &all)
        };
        for family in table.stored_families().filter(makes_room) {
            compact_short(engine, family.id)?;
        }
    }
    collect::collect_blobs(engine)?;
    // What had no room before may have it now.
    flushed.or_else(|_| flush::flush_frozen(engine))
}

/// Compacts a family on a full disk: as long as its slices make room.
fn compact_short(engine: &Engine, family: FamilyId) -> Result<()> {
    let mut before = usable(engine);
    loop {
        let done = compact::compact_family(engine, family, CompactionKind::Major);
        engine.structure.collect();
        let now = usable(engine);
        if done.as_ref().err().is_none_or(|e| e.kind != ErrorKind::NoSpace) || now <= before {
            return done;
        }
        before = now;
    }
}

/// Whether anything has come to a family since its last major compaction, or may expire, or is kept beside VERSIONS.
fn has_changed(engine: &Engine, family: &FamilySchema) -> bool {
    let layout = engine.layout();
    let Some(runs) = layout.runs(family.id) else { return false };
    let keeps_recent = family.rules.keep_versions_for_ms > 0;
    let may_go = |facts: &ExtentFacts| !facts.major || keeps_recent && facts.superseded_cells > 0;
    runs.runs.len() > 1 || runs.expiring || runs.runs.iter().any(|run| run.facts().any(may_go))
}
