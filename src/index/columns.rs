//! What is stored under each qualifier of a family: kept beside the cells, in the transactions that change them.
//!
//! A family with too many qualifiers is not counted: its numbers would be a second index.

use rusqlite::{Connection, OptionalExtension};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::db::{damaged_row, sql};
use super::meta::{ColumnsKept, Meta};
use super::{IndexRow, key};
use crate::Result;
use crate::model::{FamilyId, Qualifier, Timestamp};

/// Qualifiers of one family that are counted at most.
pub const COLUMNS_MAX: usize = 10_000;

/// The stored puts of one qualifier, over all rows: versions that a compaction has not dropped yet among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnStats {
    pub cells: i64,
    /// Bytes of their values as users see them.
    pub bytes: i64,
    /// Bounds of their timestamps; exact until something was dropped.
    pub oldest: Timestamp,
    pub newest: Timestamp,
}

impl ColumnStats {
    const NONE: Self = Self { cells: 0, bytes: 0, oldest: Timestamp(i64::MAX), newest: Timestamp(i64::MIN) };

    /// Adds what another sum has.
    pub fn add(&mut self, other: &Self) {
        self.cells += other.cells;
        self.bytes += other.bytes;
        self.oldest = self.oldest.min(other.oldest);
        self.newest = self.newest.max(other.newest);
    }
}

/// Sums over the cells that one transaction brings or takes, by family and escaped qualifier.
#[derive(Debug, Default)]
pub struct ColumnChanges {
    families: FxHashMap<FamilyId, FamilyChanges>,
}

#[derive(Debug, Default)]
struct FamilyChanges {
    columns: FxHashMap<Box<[u8]>, ColumnStats>,
    too_many: bool,
    forget: bool,
}

impl ColumnChanges {
    /// Nothing yet; families that are not counted stay so.
    pub fn new(meta: &Meta) -> Self {
        let uncounted = meta.families.iter().filter(|(_, stats)| stats.columns == ColumnsKept::TooMany);
        let skip = |(id, _): (&FamilyId, _)| (*id, FamilyChanges { too_many: true, ..FamilyChanges::default() });
        Self { families: uncounted.map(skip).collect() }
    }

    /// Counts a put that comes; other cells are passed by.
    /// `row_len`: bytes of the key that name row and family.
    pub fn add(&mut self, key: &[u8], row_len: usize, row: &IndexRow) {
        self.change(key, row_len, row, 1);
    }

    /// Counts a put that goes.
    pub fn remove(&mut self, key: &[u8], row: &IndexRow) {
        self.change(key, key::row_prefix_len(key).unwrap_or(key.len()), row, -1);
    }

    /// Everything of a family goes.
    pub fn forget(&mut self, family: FamilyId) {
        self.families.insert(family, FamilyChanges { forget: true, ..FamilyChanges::default() });
    }

    fn change(&mut self, key: &[u8], row_len: usize, row: &IndexRow, sign: i64) {
        let Some(family) = key::family_of(key) else { return };
        let changes = self.families.entry(family).or_default();
        if changes.too_many {
            return;
        }
        let (Some((timestamp, kind, _)), Some(qualifier)) =
            (key::decode_suffix(key), key::escaped_qualifier(key, row_len))
        else {
            return;
        };
        if !kind.is_put() {
            return;
        }
        let mut change = ColumnStats { cells: sign, bytes: sign * i64::from(row.value.len), ..ColumnStats::NONE };
        if sign > 0 {
            (change.oldest, change.newest) = (timestamp, timestamp);
        }
        if let Some(sum) = changes.columns.get_mut(qualifier) {
            sum.add(&change);
        } else if changes.columns.len() < COLUMNS_MAX {
            changes.columns.insert(qualifier.into(), change);
        } else {
            changes.too_many = true;
            changes.columns = FxHashMap::default();
        }
    }

    /// The sums of a family, by qualifier; `None` if there are too many.
    pub fn of_family(mut self, family: FamilyId) -> Option<Vec<(Qualifier, ColumnStats)>> {
        let changes = self.families.remove(&family).unwrap_or_default();
        let decoded = changes.columns.into_iter().filter_map(|(q, sum)| Some((key::unescape(&q)?, sum)));
        (!changes.too_many).then(|| decoded.collect())
    }
}

pub(super) const SETUP: &str = "
    CREATE TABLE columns(family INTEGER NOT NULL, qualifier BLOB NOT NULL, v BLOB NOT NULL,
        PRIMARY KEY(family, qualifier)) WITHOUT ROWID;";

/// Writes sums into the table and notes in the state how many qualifiers there are.
pub(super) fn apply(connection: &Connection, changes: &ColumnChanges, meta: &mut Meta) -> Result<()> {
    for (family, change) in &changes.families {
        if change.forget {
            forget(connection, *family)?;
            continue;
        }
        let Some(stats) = meta.families.get_mut(family) else { continue };
        match stats.columns {
            ColumnsKept::TooMany if stats.cells == 0 => stats.columns = ColumnsKept::All(0),
            ColumnsKept::TooMany => {}
            ColumnsKept::All(known) => {
                let kept = if change.too_many { None } else { merge(connection, *family, change, known as usize)? };
                stats.columns = kept.map_or(ColumnsKept::TooMany, |count| ColumnsKept::All(count as u32));
                if kept.is_none() {
                    forget(connection, *family)?;
                }
            }
        }
    }
    Ok(())
}

/// Adds a family's sums; how many qualifiers there are then, `None` if there are too many.
fn merge(connection: &Connection, family: FamilyId, change: &FamilyChanges, known: usize) -> Result<Option<usize>> {
    let prepare = |text| connection.prepare_cached(text).map_err(sql("write"));
    let mut get = prepare("SELECT v FROM columns WHERE family = ?1 AND qualifier = ?2")?;
    let mut put = prepare("INSERT OR REPLACE INTO columns(family, qualifier, v) VALUES(?1, ?2, ?3)")?;
    let mut delete = prepare("DELETE FROM columns WHERE family = ?1 AND qualifier = ?2")?;
    let mut count = known;
    let mut sorted: Vec<_> = change.columns.iter().collect();
    sorted.sort_unstable_by_key(|(qualifier, _)| *qualifier);
    for (qualifier, sum) in sorted {
        let at = (family.0, qualifier.as_ref());
        let stored: Option<Vec<u8>> = get.query_row(at, |row| row.get(0)).optional().map_err(sql("read"))?;
        let mut stats = ColumnStats::NONE;
        if let Some(stored) = &stored {
            stats = decode(family, qualifier, stored)?;
        }
        stats.add(sum);
        match (stored.is_some(), stats.cells > 0) {
            (known, true) => {
                count += usize::from(!known);
                if count > COLUMNS_MAX {
                    return Ok(None);
                }
                put.execute((family.0, qualifier.as_ref(), encode(family, qualifier, &stats))).map_err(sql("write"))?;
            }
            (true, false) => {
                count = count.saturating_sub(1);
                delete.execute(at).map_err(sql("write"))?;
            }
            (false, false) => {}
        }
    }
    Ok(Some(count))
}

fn forget(connection: &Connection, family: FamilyId) -> Result<()> {
    connection.execute("DELETE FROM columns WHERE family = ?1", [family.0]).map_err(sql("write"))?;
    Ok(())
}

/// All sums of a family, by qualifier.
pub(super) fn read(connection: &Connection, family: FamilyId) -> Result<Vec<(Qualifier, ColumnStats)>> {
    let text = "SELECT qualifier, v FROM columns WHERE family = ?1 ORDER BY qualifier";
    let mut statement = connection.prepare_cached(text).map_err(sql("read"))?;
    let mut rows = statement.query([family.0]).map_err(sql("read"))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next().map_err(sql("read"))? {
        let blob = |at| row.get_ref(at).map_err(sql("read"))?.as_blob().map_err(|_| damaged_row());
        let (qualifier, stored) = (blob(0)?, blob(1)?);
        let stats = decode(family, qualifier, stored)?;
        found.push((key::unescape(qualifier).ok_or_else(damaged_row)?, stats));
    }
    Ok(found)
}

fn check(family: FamilyId, qualifier: &[u8], bytes: &[u8]) -> u32 {
    let check = crc32c::crc32c_append(crc32c::crc32c(&family.0.to_be_bytes()), qualifier);
    crc32c::crc32c_append(check, bytes)
}

/// Four numbers of 8 bytes, little-endian, then a CRC-32C over family, qualifier and these.
fn encode(family: FamilyId, qualifier: &[u8], stats: &ColumnStats) -> Vec<u8> {
    let mut out = Vec::with_capacity(36);
    for number in [stats.cells, stats.bytes, stats.oldest.0, stats.newest.0] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    let check = check(family, qualifier, &out);
    out.extend_from_slice(&check.to_le_bytes());
    out
}

fn decode(family: FamilyId, qualifier: &[u8], stored: &[u8]) -> Result<ColumnStats> {
    let number = |at: usize| {
        let bytes = stored.get(at..at + 8).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
        bytes.map(i64::from_le_bytes).ok_or_else(damaged_row)
    };
    let good = stored
        .split_last_chunk::<4>()
        .is_some_and(|(bytes, crc)| check(family, qualifier, bytes) == u32::from_le_bytes(*crc));
    if !good {
        return Err(damaged_row());
    }
    Ok(ColumnStats {
        cells: number(0)?,
        bytes: number(8)?,
        oldest: Timestamp(number(16)?),
        newest: Timestamp(number(24)?),
    })
}
