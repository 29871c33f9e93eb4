//! Runs in which everything has expired leave as a whole, unread.
//!
//! Only what no read can see any more, and what hides nothing: cells past their family's TTL where MIN_VERSIONS is 0,
//! and cells past their own.

use std::sync::atomic::Ordering;

use crate::journal::{Edit, Item};
use crate::model::{FamilyRules, TableName, Timestamp};
use crate::segment::ExtentFacts;
use crate::store::engine::{Engine, edits};
use crate::store::layout::runs::{Layout, Run, Runs};
use crate::visibility::past_family_ttl;
use crate::{ErrorKind, Result};

/// Drops runs in which everything has expired.
pub fn expire_runs(engine: &Engine) -> Result<()> {
    let _one = engine.turns.compact();
    let now = engine.now();
    #[cfg(test)]
    let now = if engine.breaks(crate::store::options::Broken::ExpiresEarly) { Timestamp(now.0 + 1_500) } else { now };
    if expired_items(&engine.layout(), now).is_empty() {
        return Ok(());
    }
    let mut count = 0;
    // Order: by the rules that hold as the edit is made; until then others may bring back what was past.
    let edit = |layout: &Layout| {
        let items = expired_items(layout, now);
        count = items.len() as u64;
        Ok(Edit { items })
    };
    match edits::commit(engine, edit, |layout| engine.show(layout, |_| None)) {
        Err(e) if e.kind == ErrorKind::Busy => Ok(()),
        other => {
            other?;
            engine.signals.state.lock().expired_segments += count;
            Ok(())
        }
    }
}

fn expired_items(layout: &Layout, now: Timestamp) -> Vec<Item> {
    let tables = layout.state.catalogue.tables.values().filter(|table| table.compaction_enabled());
    let families = tables.flat_map(|table| table.families.values());
    let runs = families.filter_map(|family| Some((layout.runs(family.id)?, &family.rules)));
    let expired = runs.flat_map(|(runs, rules)| expired(runs, rules, now));
    expired.flat_map(|run| &run.extents).map(|extent| Item::Remove(extent.reference)).collect()
}

/// Whether any cell of a table may expire.
pub fn may_expire(engine: &Engine, table: &TableName) -> bool {
    let catalogue = engine.catalogue.load();
    let mut families = catalogue.tables.get(table).into_iter().flat_map(|table| table.families.values());
    families.any(|f| f.rules.ttl_ms.is_some() || engine.tracks.of(f.id).expiring.load(Ordering::Acquire))
}

/// The runs that are past as a whole.
fn expired<'r>(runs: &'r Runs, rules: &FamilyRules, now: Timestamp) -> Vec<&'r Run> {
    let (mut gone, mut kept): (Vec<&Run>, Vec<&Run>) = (Vec::new(), Vec::new());
    for run in &runs.runs {
        let all = |of: &dyn Fn(&ExtentFacts) -> bool| !run.is_damaged && run.facts().all(of);
        let by_family = all(&|facts| past_family_ttl(rules, facts.greatest_timestamp, now));
        let by_cells = || all(&|facts| facts.alive_until.is_some_and(|until| until < now));
        // A put that has expired by itself may hide an older one for good. By timestamps, in classic families, the
        // older one may have come later.
        let hides = || !rules.new_version_behavior || kept.iter().any(|older| overlap(older, run));
        if by_family || by_cells() && !hides() {
            gone.push(run);
        } else {
            kept.push(run);
        }
    }
    gone
}

fn overlap(one: &Run, other: &Run) -> bool {
    one.first_key() <= other.last_key() && other.first_key() <= one.last_key()
}
