//! Gathers what an extent says about itself while its cells go by in order.
//!
//! Pure. Must not know how cells are stored.

use std::collections::BTreeMap;

use crate::model::{CellKind, SeqNo, Tags, Timestamp, Tombstone};
use crate::segment::parts::columns::ColumnGatherer;
use crate::segment::parts::facts::{DUE_MOMENTS, ExtentFacts};
use crate::segment::parts::sketch::Sketch;

/// A cell that goes by.
pub(in crate::segment) struct Passing<'a> {
    pub(in crate::segment) key: &'a [u8],
    pub(in crate::segment) timestamp: Timestamp,
    pub(in crate::segment) kind: CellKind,
    pub(in crate::segment) seq: SeqNo,
    /// Decoded, unless there are none.
    pub(in crate::segment) tags: Option<&'a Tags>,
    /// Bytes of the value.
    pub(in crate::segment) len: u64,
    pub(in crate::segment) new_row: bool,
    /// The escaped qualifier, and whether the cell is the first of its column.
    pub(in crate::segment) qualifier: &'a [u8],
    pub(in crate::segment) new_column: bool,
    /// The hash of the column.
    pub(in crate::segment) hash: u64,
}

/// See the module.
pub(in crate::segment) struct Gatherer {
    pub(in crate::segment) facts: ExtentFacts,
    pub(in crate::segment) sketch: Sketch,
    pub(in crate::segment) columns: ColumnGatherer,
    /// Versions of the column that is going by, and the timestamp of its last put.
    versions: u32,
    last_put: Option<Timestamp>,
    /// Whether all cells so far end by their own TTL.
    all_end: bool,
    due: BTreeMap<i64, u64>,
}

impl Gatherer {
    pub(in crate::segment) fn new(mut facts: ExtentFacts) -> Self {
        facts.least_timestamp = Timestamp(i64::MAX);
        facts.greatest_timestamp = Timestamp(i64::MIN);
        facts.least_seq = SeqNo(u64::MAX);
        Self {
            facts,
            sketch: Sketch::default(),
            columns: ColumnGatherer::default(),
            versions: 0,
            last_put: None,
            all_end: true,
            due: BTreeMap::new(),
        }
    }

    /// A cell goes by.
    pub(in crate::segment) fn pass(&mut self, cell: &Passing<'_>) {
        let facts = &mut self.facts;
        facts.cells += 1;
        facts.rows += u64::from(cell.new_row);
        facts.key_bytes += cell.key.len() as u64;
        facts.value_bytes += cell.len;
        facts.least_timestamp = facts.least_timestamp.min(cell.timestamp);
        facts.greatest_timestamp = facts.greatest_timestamp.max(cell.timestamp);
        facts.least_seq = facts.least_seq.min(cell.seq);
        facts.greatest_seq = facts.greatest_seq.max(cell.seq);
        if cell.new_column {
            facts.columns += 1;
            self.sketch.add(cell.hash);
            self.columns.next_column();
            self.versions = 0;
            self.last_put = None;
        }
        match cell.kind {
            CellKind::Put => self.pass_put(cell),
            CellKind::Tombstone(kind) => self.pass_tombstone(kind),
        }
        self.pass_tags(cell);
    }

    fn pass_put(&mut self, cell: &Passing<'_>) {
        let facts = &mut self.facts;
        facts.puts += 1;
        facts.earliest_put = Some(facts.earliest_put.map_or(cell.timestamp, |least| least.min(cell.timestamp)));
        let same = self.last_put == Some(cell.timestamp);
        if !same {
            self.versions = self.versions.saturating_add(1);
            self.last_put = Some(cell.timestamp);
        }
        if same || self.versions > facts.max_versions {
            facts.superseded_cells += 1;
            facts.superseded_bytes += cell.key.len() as u64 + cell.len;
        }
        self.columns.put(cell.qualifier, cell.timestamp, cell.len);
    }

    fn pass_tombstone(&mut self, kind: Tombstone) {
        let counts = &mut self.facts.tombstones;
        match kind {
            Tombstone::Version => counts.version += 1,
            Tombstone::FamilyVersion => counts.family_version += 1,
            Tombstone::Column => counts.column += 1,
            Tombstone::Family => counts.family += 1,
        }
        self.facts.family_tombstones = counts.of_families();
    }

    fn pass_tags(&mut self, cell: &Passing<'_>) {
        let facts = &mut self.facts;
        let ends = cell.tags.and_then(|tags| tags.alive_until(cell.timestamp)).map(Timestamp);
        if let Some(tags) = cell.tags {
            facts.has_ttl |= tags.ttl_ms.is_some();
            facts.has_ended |= tags.ended_at.is_some();
            facts.has_erases |= tags.erases;
        }
        match ends {
            Some(end) if self.all_end && cell.kind.is_put() && !cell.tags.is_some_and(|tags| tags.erases) => {
                facts.alive_until = Some(facts.alive_until.map_or(end, |last| last.max(end)));
            }
            _ => {
                self.all_end = false;
                facts.alive_until = None;
            }
        }
    }

    /// A deleted cell that went by is due to be purged at a moment.
    pub(in crate::segment) fn due_purge(&mut self, moment: Timestamp) {
        *self.due.entry(moment.0).or_default() += 1;
        if self.due.len() <= DUE_MOMENTS {
            return;
        }
        // The two that are nearest become the later one: nothing is said to be due too early.
        let gaps = self.due.keys().zip(self.due.keys().skip(1));
        let nearest = gaps.min_by_key(|(a, b)| b.saturating_sub(**a)).map(|(a, b)| (*a, *b));
        if let Some((earlier, later)) = nearest {
            let count = self.due.remove(&earlier).unwrap_or(0);
            *self.due.entry(later).or_default() += count;
        }
    }

    /// What was gathered.
    pub(in crate::segment) fn finish(&mut self) -> ExtentFacts {
        let mut facts = std::mem::take(&mut self.facts);
        facts.due_purges = self.due.iter().map(|(moment, count)| (Timestamp(*moment), *count)).collect();
        facts
    }
}
