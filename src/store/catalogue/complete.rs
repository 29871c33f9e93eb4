//! From when on families have all that their rules keep: noted where rules come to keep more, and where what was kept is
//! purged. What rules drop while they stand is not noted: the versions that are stored tell of it.

use std::collections::BTreeMap;

use crate::model::{Catalogue, Complete, FamilyId, FamilyRules, FamilySchema, KeepDeleted, Timestamp};
use crate::store::engine::Engine;
use crate::store::read::stats;

/// Notes of families whose rules keep more since a change. `was_full`: whether one of the family's columns may have had
/// as many versions as it kept.
pub fn note(before: &Catalogue, after: &mut Catalogue, now: Timestamp, was_full: &dyn Fn(&FamilySchema) -> bool) {
    let old: BTreeMap<FamilyId, &FamilySchema> = before.stored_families().map(|family| (family.id, family)).collect();
    for family in after.stored_families_mut() {
        let Some(was) = old.get(&family.id) else {
            // One of a snapshot is as old as it was there.
            if family.made_at == Timestamp::ZERO {
                family.made_at = now;
            }
            continue;
        };
        family.made_at = was.made_at;
        let lack = lack(was, &family.rules, now, was_full);
        let known = Complete::later(was.complete.clone(), family.complete.take());
        family.complete = Complete::later(known, lack);
    }
}

/// What the old rules have dropped that the new ones would keep.
fn lack(
    family: &FamilySchema,
    is: &FamilyRules,
    now: Timestamp,
    was_full: &dyn Fn(&FamilySchema) -> bool,
) -> Option<Complete> {
    let was = &family.rules;
    let ago = |ms: u64| Timestamp(now.0.saturating_sub_unsigned(ms).max(0));
    let until = |what: String| format!("{what} until {}", now.iso());
    let more = |was: Option<u64>, is: Option<u64>| was.filter(|was| is.is_none_or(|is| is > *was));
    let versions = (is.versions > was.versions && was_full(family))
        .then(|| Complete { from: now, because: until(format!("VERSIONS was {}", was.versions)) });
    let ttl = more(was.ttl_ms, is.ttl_ms)
        .map(|ms| Complete { from: ago(ms), because: until(format!("TTL was {} s", ms / 1000)) });
    let kept = is.keep_deleted != KeepDeleted::False;
    let deleted = (kept && was.keep_deleted == KeepDeleted::False)
        .then(|| Complete { from: now, because: until("KEEP_DELETED_CELLS was FALSE".to_owned()) });
    let purged = more(was.purge_deleted_after_ms, is.purge_deleted_after_ms)
        .filter(|ms| kept && is.new_version_behavior && ago(*ms) > family.made_at)
        .map(|ms| Complete { from: ago(ms), because: until(format!("PURGE_DELETED_AFTER was {} s", ms / 1000)) });
    let beside = (is.new_version_behavior && is.keep_versions_for_ms > was.keep_versions_for_ms && was_full(family))
        .then(|| (ago(was.keep_versions_for_ms), was.keep_versions_for_ms / 1000))
        .map(|(from, s)| Complete { from, because: until(format!("KEEP_VERSIONS_FOR was {s} s")) });
    [versions, ttl, deleted, purged, beside].into_iter().fold(None, Complete::later)
}

/// Whether a column of a family may have as many versions as are kept, by the numbers of each qualifier.
pub fn may_be_full(engine: &Engine, family: &FamilySchema) -> bool {
    let versions = u64::from(family.rules.versions);
    // What cannot be read may be anything.
    let columns = stats::family_columns(engine, family).ok().flatten();
    columns.is_none_or(|columns| columns.iter().any(|column| column.cells >= versions))
}
