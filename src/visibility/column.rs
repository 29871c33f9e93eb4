//! Reads of one column, and what a version is to `stat` and listings.

use std::collections::BTreeSet;

use super::markers::{covers, covers_time};
use super::{CellSource, FamilyReader, ReadRules, View, VisibleCell, last_alive};
use crate::Result;
use crate::model::{CellInfo, CellKind, FamilyRules, Qualifier, SeqNo, StoredCell, TimeRange, Timestamp, Tombstone};

/// The newest visible version of a column, by rules for all columns.
pub fn newest(source: impl CellSource, rules: ReadRules<'_>, qualifier: &Qualifier) -> Result<Option<CellInfo>> {
    let columns = BTreeSet::from([qualifier.clone()]);
    let rules = ReadRules { columns: Some(&columns), ..rules };
    let visible = FamilyReader::new(source, rules).next()?;
    Ok(visible.map(|v| version_info(v, rules.family, rules.now)))
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

/// What has ever been put into a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// One version, which may have been put again with its timestamp (its mtime was set, its open file was committed
    /// twice).
    One,
    /// The same, since erasing tombstones have ended all that was before.
    OneSinceErased,
    /// Nothing, or more.
    Other,
}

/// See [`Past`]. `source`: the cells of the column, and the row's tombstones of the family; others may be among them.
/// `settled_after`: see [`ReadRules`].
pub fn past_of(mut source: impl CellSource, qualifier: &Qualifier, settled_after: SeqNo) -> Result<Past> {
    let (mut erasers, mut version, mut past) = (Vec::<StoredCell>::new(), None, Past::One);
    while let Some(cell) = source.next()? {
        let is_of_family = cell.kind.is_family_tombstone();
        if !is_of_family && cell.qualifier != *qualifier {
            match cell.qualifier.cmp(qualifier) {
                std::cmp::Ordering::Greater => break,
                // Tombstones of the family lie among the cells of the empty qualifier.
                _ if !cell.qualifier.is_empty() => source.seek_column(qualifier)?,
                _ => {}
            }
            continue;
        }
        if cell.kind.is_put() {
            if erasers.iter().any(|eraser| covers(eraser, &cell)) {
                past = Past::OneSinceErased;
            } else if *version.get_or_insert(cell.timestamp) != cell.timestamp {
                return Ok(Past::Other);
            }
            continue;
        }
        if !is_of_family {
            past = Past::OneSinceErased;
        }
        let ends_column = matches!(cell.kind, CellKind::Tombstone(Tombstone::Family | Tombstone::Column));
        // Of one kind they come with falling timestamps: one that was written sooner ends nothing more.
        let ends_more = || erasers.iter().all(|other| other.kind != cell.kind || other.seq < cell.seq);
        if cell.tags.erases && cell.kind == CellKind::Tombstone(Tombstone::Column) && cell.seq > settled_after {
            // It has ended all that follows.
            break;
        }
        if cell.tags.erases && ends_column && ends_more() {
            erasers.push(cell);
        }
    }
    Ok(if version.is_some() { past } else { Past::Other })
}

/// Whether, by HBase's rules, a tombstone that is stored hides a version of this time that comes now. `source`: as of
/// [`past_of`].
pub fn hides_what_comes(mut source: impl CellSource, qualifier: &Qualifier, timestamp: Timestamp) -> Result<bool> {
    while let Some(cell) = source.next()? {
        let is_of_column = cell.qualifier == *qualifier || cell.kind.is_family_tombstone();
        if is_of_column && covers_time(cell.kind, cell.timestamp, timestamp) {
            return Ok(true);
        }
        if !is_of_column && cell.qualifier > *qualifier {
            break;
        }
    }
    Ok(false)
}

/// A visible cell as `stat` and listings need it.
pub fn version_info(visible: VisibleCell, family: &FamilyRules, now: Timestamp) -> CellInfo {
    let VisibleCell { cell, deleted_at, hidden_from } = visible;
    let expires_at = expiry(&cell, family, now);
    let StoredCell { timestamp, seq, tags, value, .. } = cell;
    CellInfo { timestamp, seq, tags, value, deleted_at, hidden_from, expires_at }
}

/// When a visible cell expires.
pub fn expiry(cell: &StoredCell, family: &FamilyRules, now: Timestamp) -> Option<Timestamp> {
    expiry_at((cell.timestamp, cell.tags.ttl_ms), family, now)
}

/// As [`expiry`], of a version with a TTL of its own.
pub fn expiry_at(
    (timestamp, ttl_ms): (Timestamp, Option<u64>),
    family: &FamilyRules,
    now: Timestamp,
) -> Option<Timestamp> {
    let ends = [ttl_ms, family.ttl_ms].into_iter().flatten().map(|ttl| last_alive(timestamp, ttl));
    // A version that MIN_VERSIONS holds beyond its TTL does not expire.
    ends.filter(|t| *t >= now.0 && *t < i64::MAX).min().map(|t| Timestamp(t).next())
}
