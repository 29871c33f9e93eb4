//! Numbers that commit together with the rows they are about.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::lifetime::Lifetimes;
use super::{ColumnChanges, IndexRow, ShareChanges, key};
use crate::model::{FamilyId, Generation, SegmentId, SeqNo, Timestamp};
use crate::wal::{Entry, share_len};

/// Layers of a family that are told apart; past it the two oldest count as one.
const LAYERS: usize = 256;

/// How far the index covers the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Every cell up to it is in the index (or was dropped).
    pub seq: SeqNo,
    /// Replay starts here.
    pub segment: SegmentId,
    pub offset: u64,
}

/// Sums over the index rows that point into a segment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentStats {
    /// Rows that have their own entry or their value there.
    pub live: u64,
    /// Bytes of heads and values that rows point to; what several point to counts once.
    pub live_bytes: u64,
    /// Rows that have their value there and their own entry elsewhere.
    pub shares: u64,
    /// How long what is there lives.
    pub lifetimes: Lifetimes,
}

/// Cells of a family that count as one flushed file (HBase: HFile): those of one flush, or of those that a
/// compaction has judged together. A cell belongs to the first layer whose `last` is not before its generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    pub last: Generation,
    pub cells: u64,
    /// Rows with a cell here, when it was made.
    pub rows: u64,
    /// Bytes of heads and values.
    pub bytes: u64,
    /// No put here has a smaller timestamp; exact when it was made.
    pub earliest_put: Timestamp,
    /// When the flush or the compaction was that made it, ms since 1970.
    pub made_at: i64,
    /// A major compaction made it.
    pub major: bool,
}

/// Whether a family's qualifiers are counted one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnsKept {
    /// All of them: so many.
    All(u32),
    /// There were too many; none are.
    TooMany,
}

impl Default for ColumnsKept {
    fn default() -> Self {
        Self::All(0)
    }
}

/// What is known of a family's indexed cells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FamilyStats {
    pub cells: u64,
    /// No indexed cell has a greater timestamp.
    pub max_timestamp: i64,
    /// Tombstones of whole families; 0 lets a read of one column skip the search for them.
    pub family_tombstones: u64,
    /// Whether a cell with a TTL of its own was ever among them.
    pub expiring: bool,
    /// Cells that were indexed since the last major compaction: what one might find.
    pub changed: u64,
    /// Oldest first; none is empty.
    pub layers: Vec<Layer>,
    pub columns: ColumnsKept,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    pub checkpoint: Checkpoint,
    /// Grows with each commit, over all indexes that the store has had.
    pub commits: u64,
    /// The last generation given.
    pub generation: Generation,
    /// Greater than every number of a segment that ever was.
    pub next_segment: u32,
    pub families: BTreeMap<FamilyId, FamilyStats>,
    pub segments: BTreeMap<SegmentId, SegmentStats>,
    pub flushes: u64,
    pub compactions: u64,
}

/// The part of a key that names row and family.
#[derive(Clone, Copy, Debug)]
pub struct RowPart {
    /// Bytes.
    pub len: usize,
    /// The cell before was of another row or family.
    pub is_first: bool,
}

/// What is counted beside the state, in tables of its own.
#[derive(Debug, Default)]
pub struct Sums {
    pub columns: ColumnChanges,
    pub shares: ShareChanges,
}

impl FamilyStats {
    /// The layer that a generation belongs to.
    pub fn layer(&mut self, generation: Generation) -> Option<&mut Layer> {
        self.layers.iter_mut().find(|layer| layer.last >= generation)
    }

    /// Layers behind `after` up to `upto` count as the one that a compaction made of them.
    pub fn merge_layers(&mut self, after: Generation, upto: Generation, made: &Layer) {
        let inside = |layer: &Layer| layer.last > after && layer.last <= upto;
        let first = self.layers.partition_point(|layer| layer.last <= after);
        let count = self.layers[first..].iter().take_while(|layer| inside(layer)).count();
        if let Some(merged) = Layer::merged(&self.layers[first..first + count]) {
            let Layer { cells, bytes, last, .. } = merged;
            self.layers.splice(first..first + count, [Layer { cells, bytes, last, ..*made }]);
        }
        if made.major {
            self.changed = self.layers.iter().filter(|layer| layer.last > upto).map(|layer| layer.cells).sum();
        }
    }

    /// The newest layer, made if it is not of this generation.
    fn newest_layer(&mut self, generation: Generation, now: i64) -> Option<&mut Layer> {
        if self.layers.last().is_none_or(|layer| layer.last < generation) {
            let new = Layer {
                last: generation,
                cells: 0,
                rows: 0,
                bytes: 0,
                earliest_put: Timestamp(i64::MAX),
                made_at: now,
                major: false,
            };
            self.layers.push(new);
            if self.layers.len() > LAYERS {
                let merged = Layer::merged(&self.layers[..2]);
                self.layers.splice(..2, merged);
            }
        }
        self.layers.last_mut()
    }
}

impl Layer {
    /// Several as one; `None` of none.
    pub fn merged(layers: &[Layer]) -> Option<Layer> {
        let one = |a: Layer, b: &Layer| Layer {
            last: a.last.max(b.last),
            cells: a.cells + b.cells,
            rows: a.rows + b.rows,
            bytes: a.bytes + b.bytes,
            earliest_put: a.earliest_put.min(b.earliest_put),
            made_at: a.made_at.min(b.made_at),
            major: false,
        };
        let (first, rest) = layers.split_first()?;
        Some(rest.iter().fold(*first, one))
    }
}

impl Meta {
    /// Rows of the index.
    pub fn cells(&self) -> u64 {
        self.families.values().map(|f| f.cells).sum()
    }

    /// Bytes that rows point to.
    pub fn live_bytes(&self) -> u64 {
        self.segments.values().map(|s| s.live_bytes).sum()
    }

    /// Counts a new row in, which was flushed (or found by a rebuild) at `now`, ms since 1970.
    pub fn count_in(&mut self, key: &[u8], row: &IndexRow, part: RowPart, now: i64, sums: &mut Sums) {
        self.point(key, row, &mut sums.shares);
        sums.columns.add(key, part.len, row);
        let (Some(family), Some((timestamp, kind, _))) = (key::family_of(key), key::decode_suffix(key)) else { return };
        let stats = self.families.entry(family).or_default();
        stats.cells += 1;
        stats.changed += 1;
        stats.max_timestamp = stats.max_timestamp.max(timestamp.0);
        stats.family_tombstones += u64::from(kind.is_family_tombstone());
        stats.expiring |= row.tags.ttl_ms.is_some();
        let Some(layer) = stats.newest_layer(row.generation, now) else { return };
        layer.cells += 1;
        layer.rows += u64::from(part.is_first);
        layer.bytes += entry_bytes(row);
        if kind.is_put() {
            layer.earliest_put = layer.earliest_put.min(timestamp);
        }
    }

    /// Counts a row out that a compaction drops; `pending`: unflushed rows may share values of its segment.
    pub fn count_out(&mut self, key: &[u8], row: &IndexRow, pending: bool, sums: &mut Sums) {
        self.unpoint(key, row, pending, &mut sums.shares);
        sums.columns.remove(key, row);
        let (Some(family), Some((_, kind, _))) = (key::family_of(key), key::decode_suffix(key)) else { return };
        let Some(stats) = self.families.get_mut(&family) else { return };
        stats.cells = stats.cells.saturating_sub(1);
        stats.family_tombstones -= u64::from(kind.is_family_tombstone()).min(stats.family_tombstones);
        if let Some(layer) = stats.layer(row.generation) {
            layer.cells = layer.cells.saturating_sub(1);
            layer.bytes = layer.bytes.saturating_sub(entry_bytes(row));
            if layer.cells == 0 {
                stats.layers.retain(|layer| layer.cells > 0);
            }
        }
    }

    /// Counts what a row points to in.
    pub fn point(&mut self, key: &[u8], row: &IndexRow, shares: &mut ShareChanges) {
        let segment = self.segments.entry(row.value.segment).or_default();
        segment.live += 1;
        segment.lifetimes.add(key, &row.tags);
        let Some((own, _)) = row.own else {
            segment.live_bytes += entry_bytes(row);
            return;
        };
        segment.shares += 1;
        shares.share(row, 1);
        let own = self.segments.entry(own).or_default();
        own.live += 1;
        own.live_bytes += own_bytes(key, row);
        own.lifetimes.add(key, &row.tags);
    }

    /// Counts what a row points to out; `pending`: unflushed rows may share values of its segment.
    pub fn unpoint(&mut self, key: &[u8], row: &IndexRow, pending: bool, shares: &mut ShareChanges) {
        let segment = self.segments.entry(row.value.segment).or_default();
        segment.live = segment.live.saturating_sub(1);
        let Some((own, _)) = row.own else {
            match segment.shares > 0 || pending {
                true => shares.orphan(row, pending),
                false => segment.live_bytes = segment.live_bytes.saturating_sub(entry_bytes(row)),
            }
            return;
        };
        segment.shares = segment.shares.saturating_sub(1);
        shares.share(row, -1);
        let own = self.segments.entry(own).or_default();
        own.live = own.live.saturating_sub(1);
        own.live_bytes = own.live_bytes.saturating_sub(own_bytes(key, row));
    }

    /// A row that is not indexed, because a flush drops it: unflushed rows may share its value.
    pub fn pass_by(&mut self, row: &IndexRow, shares: &mut ShareChanges) {
        if row.own.is_none() {
            self.segments.entry(row.value.segment).or_default().live_bytes += entry_bytes(row);
            shares.orphan(row, true);
        }
    }
}

/// Bytes of a row's own entry in the log.
pub fn own_entry_bytes(key: &[u8], row: &IndexRow) -> u64 {
    if row.own.is_none() { entry_bytes(row) } else { own_bytes(key, row) }
}

/// Bytes of the entry of a row that has another's value.
fn own_bytes(key: &[u8], row: &IndexRow) -> u64 {
    let Some(key::CellKey { family, row: name, qualifier, timestamp, kind, seq }) = key::decode(key) else { return 0 };
    let entry = Entry { family, row: name, qualifier, timestamp, kind, seq, tags: row.tags.clone() };
    u64::from(share_len(&entry, &row.value))
}

/// Bytes of the entry that a row's value is in.
pub(super) fn entry_bytes(row: &IndexRow) -> u64 {
    u64::from(row.value.head_len) + u64::from(row.value.stored_len)
}

/// Whether two keys that follow one another are of one row and family.
pub fn same_row(one: &[u8], other: &[u8]) -> bool {
    key::row_prefix_len(one).is_some_and(|len| other.get(..len) == one.get(..len))
}
