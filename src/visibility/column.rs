//! Reads of one column, and what a version is to `stat` and listings.

use std::collections::BTreeSet;

use super::{CellSource, FamilyReader, ReadRules, View, VisibleCell, last_alive};
use crate::Result;
use crate::model::{CellInfo, FamilyRules, Qualifier, StoredCell, TimeRange, Timestamp};

/// The newest visible version of a column in a time range.
pub fn newest(
    source: impl CellSource,
    family: &FamilyRules,
    now: Timestamp,
    time_range: TimeRange,
    qualifier: &Qualifier,
) -> Result<Option<CellInfo>> {
    let columns = BTreeSet::from([qualifier.clone()]);
    let rules = ReadRules { time_range, columns: Some(&columns), ..ReadRules::plain(family, now) };
    let visible = FamilyReader::new(source, rules).next()?;
    Ok(visible.map(|v| version_info(v, family, now)))
}

/// Versions of a column in a time range, newest first; `view` decides whether kept ones are among them.
/// At most `limit`.
pub fn list_versions(
    source: impl CellSource,
    family: &FamilyRules,
    now: Timestamp,
    (qualifier, time_range): (&Qualifier, TimeRange),
    view: View,
    limit: usize,
) -> Result<Vec<CellInfo>> {
    let columns = BTreeSet::from([qualifier.clone()]);
    let rules = ReadRules {
        time_range,
        columns: Some(&columns),
        view,
        max_versions: u32::MAX,
        ..ReadRules::plain(family, now)
    };
    let mut reader = FamilyReader::new(source, rules);
    let mut found = Vec::new();
    while found.len() < limit
        && let Some(visible) = reader.next()?
    {
        found.push(version_info(visible, family, now));
    }
    Ok(found)
}

/// A visible cell as `stat` and listings need it.
pub fn version_info(visible: VisibleCell, family: &FamilyRules, now: Timestamp) -> CellInfo {
    let VisibleCell { cell, deleted_at, hidden_from } = visible;
    let ends = [cell.tags.ttl_ms, family.ttl_ms].into_iter().flatten().map(|ttl| last_alive(cell.timestamp, ttl));
    // A version that MIN_VERSIONS holds beyond its TTL does not expire.
    let expires_at = ends.filter(|t| *t >= now.0 && *t < i64::MAX).min().map(|t| Timestamp(t).next());
    let StoredCell { timestamp, seq, tags, value, .. } = cell;
    CellInfo { timestamp, seq, tags, value, deleted_at, hidden_from, expires_at }
}
