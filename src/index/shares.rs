//! Values that more than one row points to: how many do, so that their bytes count once.
//!
//! A row that has its own entry but the value of another's is a share of that entry (a rename, a change of
//! attributes). The entry's bytes count as alive while its own row is indexed, and after that while a share is.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension};

use super::IndexRow;
use super::db::{damaged_row, sql};
use super::meta::Meta;
use crate::Result;
use crate::model::SegmentId;

/// Where an entry is.
type Place = (SegmentId, u64);

/// What one transaction changes.
#[derive(Debug, Default)]
pub struct ShareChanges {
    places: BTreeMap<Place, Change>,
    forgotten: Vec<SegmentId>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Change {
    shares: i64,
    /// The entry's own row goes; its bytes count until it is known that nothing shares them.
    orphaned: bool,
    /// A share that is not indexed yet may come.
    pending: bool,
    bytes: u64,
}

impl ShareChanges {
    /// Rebuild: no entry is known to have a row of its own, before those that have are marked.
    pub fn orphan_all(&mut self) {
        self.places.values_mut().for_each(|change| change.orphaned = true);
    }

    /// A share comes (1) or goes (-1).
    pub fn share(&mut self, row: &IndexRow, count: i64) {
        let change = self.change(row);
        change.shares += count;
    }

    /// The row of an entry goes whose value may be shared; `pending`: by rows that are not indexed yet.
    pub fn orphan(&mut self, row: &IndexRow, pending: bool) {
        let change = self.change(row);
        change.orphaned = true;
        change.pending |= pending;
    }

    /// A segment is deleted.
    pub fn forget(&mut self, segment: SegmentId) {
        self.forgotten.push(segment);
    }

    /// How many entries it is about.
    pub fn entries(&self) -> usize {
        self.places.len()
    }

    fn change(&mut self, row: &IndexRow) -> &mut Change {
        let change = self.places.entry((row.value.segment, row.value.offset)).or_default();
        change.bytes = super::meta::entry_bytes(row);
        change
    }
}

pub(super) const SETUP: &str = "
    CREATE TABLE shares(segment INTEGER NOT NULL, offset INTEGER NOT NULL, bytes INTEGER NOT NULL,
        shares INTEGER NOT NULL, orphaned INTEGER NOT NULL, PRIMARY KEY(segment, offset)) WITHOUT ROWID;
    CREATE INDEX unshared ON shares(segment) WHERE shares = 0;";

/// Writes changes into the table, and takes bytes that nothing points to any more out of the state.
pub(super) fn apply(connection: &Connection, changes: &ShareChanges, meta: &mut Meta) -> Result<()> {
    let prepare = |text| connection.prepare_cached(text).map_err(sql("write"));
    let mut get = prepare("SELECT shares, orphaned FROM shares WHERE segment = ?1 AND offset = ?2")?;
    let mut put =
        prepare("INSERT OR REPLACE INTO shares(segment, offset, bytes, shares, orphaned) VALUES(?1, ?2, ?3, ?4, ?5)")?;
    let mut delete = prepare("DELETE FROM shares WHERE segment = ?1 AND offset = ?2")?;
    for ((segment, offset), change) in &changes.places {
        let at = (segment.0, number(*offset)?);
        let stored = get.query_row(at, |row| Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?)));
        let stored = stored.optional().map_err(sql("read"))?;
        let (known, was_orphaned) = stored.unwrap_or_default();
        let (shares, orphaned) = ((known + change.shares).max(0), was_orphaned || change.orphaned);
        if shares > 0 || orphaned && change.pending {
            put.execute((at.0, at.1, number(change.bytes)?, shares, orphaned)).map_err(sql("write"))?;
            continue;
        }
        if stored.is_some() {
            delete.execute(at).map_err(sql("write"))?;
        }
        if orphaned {
            take_bytes(meta, *segment, change.bytes);
        }
    }
    for segment in &changes.forgotten {
        connection.execute("DELETE FROM shares WHERE segment = ?1", [segment.0]).map_err(sql("write"))?;
    }
    Ok(())
}

fn number(value: u64) -> Result<i64> {
    i64::try_from(value).map_err(|_| damaged_row())
}

fn take_bytes(meta: &mut Meta, segment: SegmentId, bytes: u64) {
    if let Some(stats) = meta.segments.get_mut(&segment) {
        stats.live_bytes = stats.live_bytes.saturating_sub(bytes);
    }
}

/// Entries without a row of their own that nothing came to share after all, in segments of which `pending` says that
/// nothing can come any more.
///
/// Whether there were any.
pub(super) fn settle(connection: &Connection, meta: &mut Meta, pending: &dyn Fn(SegmentId) -> bool) -> Result<bool> {
    let text = "SELECT segment, sum(bytes) FROM shares WHERE shares = 0 GROUP BY segment";
    let mut any = false;
    for (segment, bytes) in sums(connection, text)?.into_iter().filter(|(segment, _)| !pending(*segment)) {
        let text = "DELETE FROM shares WHERE segment = ?1 AND shares = 0";
        connection.execute(text, [segment.0]).map_err(sql("write"))?;
        take_bytes(meta, segment, bytes);
        any = true;
    }
    Ok(any)
}

fn sums(connection: &Connection, text: &str) -> Result<Vec<(SegmentId, u64)>> {
    let mut statement = connection.prepare_cached(text).map_err(sql("read"))?;
    let sum = |row: &rusqlite::Row<'_>| Ok((SegmentId(row.get(0)?), row.get::<_, i64>(1)?.cast_unsigned()));
    let found = statement.query_map([], sum).map_err(sql("read"))?;
    found.collect::<rusqlite::Result<_>>().map_err(sql("read"))
}

/// Rebuild: entries that were found to have a row of their own; all others in the table are orphans.
pub(super) fn mark_originals(connection: &Connection, rows: &[IndexRow]) -> Result<()> {
    let text = "UPDATE shares SET orphaned = 0 WHERE segment = ?1 AND offset = ?2";
    let mut mark = connection.prepare_cached(text).map_err(sql("write"))?;
    for row in rows {
        mark.execute((row.value.segment.0, number(row.value.offset)?)).map_err(sql("write"))?;
    }
    Ok(())
}

/// Rebuild: the bytes of orphans count.
pub(super) fn count_orphans(connection: &Connection, meta: &mut Meta) -> Result<()> {
    for (segment, bytes) in sums(connection, "SELECT segment, sum(bytes) FROM shares WHERE orphaned GROUP BY segment")?
    {
        meta.segments.entry(segment).or_default().live_bytes += bytes;
    }
    Ok(())
}
