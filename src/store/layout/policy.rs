//! Which compaction a family needs, from numbers alone (HBase: ExploringCompactionPolicy, SortedCompactionPolicy).
//!
//! Pure. New-version families, whose answers do not depend on when they are compacted, are merged by size, and where
//! newer versions and tombstones hide much.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::ops::Range;

use rustc_hash::FxBuildHasher;

use crate::model::{FamilyId, FamilyRules, FamilySchema, Generation, KeepDeleted, TableSchema, Timestamp};
use crate::{Error, ErrorKind, Result};

const MIN: &str = "hbase.hstore.compaction.min";
/// The older name of [`MIN`].
const THRESHOLD: &str = "hbase.hstore.compactionThreshold";
const MAX: &str = "hbase.hstore.compaction.max";
const RATIO: &str = "hbase.hstore.compaction.ratio";
const MIN_SIZE: &str = "hbase.hstore.compaction.min.size";
const PERIOD: &str = "hbase.hregion.majorcompaction";
const JITTER: &str = "hbase.hregion.majorcompaction.jitter";

/// Percent of a family's cells that are hidden for good at which a major compaction is due.
const SUPERSEDED: u64 = 30;
/// New-version families: so many runs of like size are merged,
const ALIKE: usize = 4;
/// at most so many at once, as each takes memory to be read,
const WIDEST: usize = 64;
/// and where there are so many of any size, the newest half, which is the smallest.
const MOST: usize = 12;
/// The newest are taken for of like size whatever they are: a small one in front is no reason to wait.
const NEWEST: usize = 2;

/// A run as the choice sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The last flush that it has cells of.
    pub last: Generation,
    pub cells: u64,
    pub rows: u64,
    /// In its files.
    pub bytes: u64,
    /// Cells that newer versions in it hide for good.
    pub superseded: u64,
    pub tombstones: u64,
    pub earliest_put: Timestamp,
    /// The greatest timestamp.
    pub latest: Timestamp,
    pub made_at: i64,
    /// Whether a major compaction made it.
    pub major: bool,
}

/// A family as the choice sees it; its runs oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FamilyStats {
    pub layers: Vec<Layer>,
    /// Cells that newer versions in any run hide for good, about.
    pub superseded: u64,
}

impl FamilyStats {
    /// All cells.
    pub fn cells(&self) -> u64 {
        self.layers.iter().map(|layer| layer.cells).sum()
    }

    /// Whether the last major compaction kept much only for KEEP_VERSIONS_FOR, which has passed.
    fn was_recent(&self, rules: &FamilyRules, now: Timestamp) -> bool {
        let keep = i64::try_from(rules.keep_versions_for_ms).unwrap_or(i64::MAX);
        let was_recent = |layer: &&Layer| {
            let (last, kept_until) = (layer.latest.0.saturating_add(keep), layer.made_at.saturating_add(keep));
            keep > 0 && layer.major && layer.made_at < last && last.max(kept_until) < now.0
        };
        let superseded: u64 = self.layers.iter().filter(was_recent).map(|layer| layer.superseded).sum();
        superseded * 100 > self.cells() * SUPERSEDED
    }

    /// Whether so much is hidden that a major compaction is worth it. What the last one had to keep is no reason.
    fn is_superseded(&self) -> bool {
        let newer: Vec<&Layer> = self.layers.iter().filter(|layer| !layer.major).collect();
        let tombstones: u64 = newer.iter().map(|layer| layer.tombstones).sum();
        let within: u64 = newer.iter().map(|layer| layer.superseded).sum();
        let hidden = self.superseded.max(within) + 2 * tombstones;
        // Before it is worth it again, cells worth half of what it left have come.
        let come: u64 = newer.iter().map(|layer| layer.cells).sum();
        let left = self.cells() - come;
        hidden * 100 > self.cells() * SUPERSEDED && come * 2 >= left.min(hidden)
    }
}

/// When to compact, as CONFIGURATION of the family, else of the table, says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Fewest layers of a minor compaction.
    pub min: usize,
    /// Most layers of one, if that is worth the walk.
    pub max: usize,
    /// No layer is larger than the others together, times this.
    pub ratio: f64,
    /// Bytes below which the ratio does not matter.
    pub min_size: u64,
    /// Milliseconds between major compactions; 0 = none by age.
    pub period: u64,
    /// Part of the period by which it varies.
    pub jitter: f64,
}

impl Default for Settings {
    /// HBase's defaults.
    fn default() -> Self {
        Self { min: 3, max: 10, ratio: 1.2, min_size: 128 << 20, period: 7 * 24 * 3600 * 1000, jitter: 0.5 }
    }
}

impl Settings {
    /// Those of a family; refuses what is not a number, or out of range.
    pub fn of(table: &TableSchema, family: &FamilySchema) -> Result<Self> {
        let maps = [&family.configuration, &family.metadata, &table.configuration, &table.metadata];
        let default = Self::default();
        let min = number(&maps, MIN)?.or(number(&maps, THRESHOLD)?);
        let max: Option<usize> = number(&maps, MAX)?;
        let fraction = |key, least: f64, default| match number::<f64>(&maps, key)? {
            Some(value) if value.is_finite() && value >= least => Ok(value),
            Some(value) => Err(refused(key, &value.to_string())),
            None => Ok(default),
        };
        let min = min.unwrap_or(default.min).max(2);
        Ok(Self {
            min,
            max: max.unwrap_or(default.max).max(min),
            ratio: fraction(RATIO, 0.0, default.ratio)?,
            min_size: number(&maps, MIN_SIZE)?.unwrap_or(default.min_size),
            period: number(&maps, PERIOD)?.unwrap_or(default.period),
            jitter: fraction(JITTER, 0.0, default.jitter)?.min(1.0),
        })
    }
}

fn number<T: std::str::FromStr>(maps: &[&BTreeMap<String, String>], key: &str) -> Result<Option<T>> {
    let text = maps.iter().find_map(|map| map.get(key));
    text.map(|text| text.trim().parse().map_err(|_| refused(key, text))).transpose()
}

fn refused(key: &str, text: &str) -> Error {
    Error::new(ErrorKind::IllegalArgument, format!("{key} is a number that is not negative, not '{text}'"))
}

/// What to do with a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    Nothing,
    /// The layers behind `after` up to `upto` become one.
    Minor {
        after: Generation,
        upto: Generation,
    },
    Major,
}

/// What to do with a family by itself.
pub fn choose(id: FamilyId, stats: &FamilyStats, rules: &FamilyRules, settings: &Settings, now: Timestamp) -> Choice {
    if stats.layers.is_empty() {
        return Choice::Nothing;
    }
    if is_old(id, stats, rules, settings, now) {
        return Choice::Major;
    }
    if rules.new_version_behavior {
        return if stats.was_recent(rules, now) { Choice::Major } else { choose_by_size(stats) };
    }
    match minor(stats, settings) {
        None => Choice::Nothing,
        // As in HBase, what takes all is a major compaction.
        Some((0, end)) if end == stats.layers.len() => Choice::Major,
        Some((start, end)) => minor_of(&stats.layers, start, end),
    }
}

/// New-version families: a merge of a part of them drops nothing, one of all is never seen.
fn choose_by_size(stats: &FamilyStats) -> Choice {
    if stats.is_superseded() {
        return Choice::Major;
    }
    let layers = &stats.layers;
    let alike = (0..=layers.len()).rev().map(|end| alike_before(layers, end)).find(|range| range.len() >= ALIKE);
    let too_many = || (layers.len() >= MOST).then(|| layers.len() - MOST / 2..layers.len());
    match alike.or_else(too_many) {
        None => Choice::Nothing,
        Some(range) if range.len() == layers.len() && range.len() <= WIDEST => Choice::Major,
        // The oldest, so that none of like size stays behind what was merged of newer ones.
        Some(range) => minor_of(layers, range.start, range.end.min(range.start + WIDEST)),
    }
}

/// The layers up to `end` of which each, but for the newest, is about as large as all behind it, at most.
fn alike_before(layers: &[Layer], end: usize) -> Range<usize> {
    let (mut start, mut newer) = (end, 0);
    while start > 0 && (end - start < NEWEST || layers[start - 1].bytes * 10 <= newer * 12) {
        start -= 1;
        newer += layers[start].bytes;
    }
    start..end
}

fn minor_of(layers: &[Layer], start: usize, end: usize) -> Choice {
    let after = if start == 0 { Generation(0) } else { layers[start - 1].last };
    Choice::Minor { after, upto: layers[end - 1].last }
}

/// Whether the time for a major compaction has come.
fn is_old(id: FamilyId, stats: &FamilyStats, rules: &FamilyRules, settings: &Settings, now: Timestamp) -> bool {
    let Some(oldest) = stats.layers.iter().map(|layer| layer.made_at).min() else { return false };
    if settings.period == 0 || now.0.saturating_sub(oldest) <= varied(id, oldest, settings) {
        return false;
    }
    match stats.layers.as_slice() {
        [Layer { major: true, earliest_put, .. }] => {
            let ttl = rules.ttl_ms.map(|ttl| i64::try_from(ttl).unwrap_or(i64::MAX));
            let expired = ttl.is_some_and(|ttl| now.0.saturating_sub(earliest_put.0) > ttl);
            let purges = rules.keep_deleted != KeepDeleted::False && rules.purge_deleted_after_ms.is_some();
            expired || purges
        }
        _ => true,
    }
}

/// The period, longer or shorter by the jitter: the same until the next compaction, another for each family.
fn varied(id: FamilyId, oldest: i64, settings: &Settings) -> i64 {
    let random = (FxBuildHasher.hash_one((id.0, oldest)) >> 11) as f64 / (1u64 << 53) as f64;
    let factor = 1.0 + settings.jitter * (1.0 - 2.0 * random);
    (settings.period as f64 * factor) as i64
}

/// The layers `[start, end)` that a minor compaction takes: as many as it may, then the smallest.
fn minor(stats: &FamilyStats, settings: &Settings) -> Option<(usize, usize)> {
    let layers = &stats.layers;
    let mut best: Option<(usize, usize, u64)> = None;
    for start in 0..layers.len() {
        for end in start + settings.min..=layers.len().min(start + settings.max) {
            let bytes = bytes(&layers[start..end]);
            let better = best.is_none_or(|(s, e, b)| end - start > e - s || end - start == e - s && bytes < b);
            if better && suits(&layers[start..end], settings) {
                best = Some((start, end, bytes));
            }
        }
    }
    best.map(|(start, end, _)| (start, end))
}

fn bytes(layers: &[Layer]) -> u64 {
    layers.iter().map(|layer| layer.bytes).sum()
}

/// Whether the layers are of a size.
fn suits(layers: &[Layer], settings: &Settings) -> bool {
    let all = bytes(layers);
    let in_ratio = |layer: &Layer| layer.bytes as f64 <= (all - layer.bytes) as f64 * settings.ratio;
    all < settings.min_size || layers.iter().all(in_ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 24 * 3600 * 1000;

    fn layer(last: u32, cells: u64, bytes: u64) -> Layer {
        Layer {
            last: Generation(last),
            cells,
            rows: cells,
            bytes,
            superseded: 0,
            tombstones: 0,
            earliest_put: Timestamp(0),
            latest: Timestamp(0),
            made_at: 0,
            major: false,
        }
    }

    fn stats(sizes: &[u64]) -> FamilyStats {
        let layers: Vec<Layer> = (1..).zip(sizes).map(|(last, size)| layer(last, *size, *size << 10)).collect();
        FamilyStats { layers, superseded: 0 }
    }

    fn chosen(stats: &FamilyStats, settings: &Settings) -> Choice {
        choose(FamilyId(1), stats, &FamilyRules::default(), settings, Timestamp(DAY))
    }

    fn merged(after: u32, upto: u32) -> Choice {
        Choice::Minor { after: Generation(after), upto: Generation(upto) }
    }

    #[test]
    fn three_layers_are_enough_and_all_of_them_are_a_major_compaction() {
        let settings = Settings::default();
        assert_eq!(chosen(&stats(&[10, 10]), &settings), Choice::Nothing);
        assert_eq!(chosen(&stats(&[10, 10, 10]), &settings), Choice::Major);
        assert_eq!(chosen(&stats(&[]), &settings), Choice::Nothing);
        let many = stats(&[10; 12]);
        assert_eq!(chosen(&many, &settings), merged(0, 10), "ten at most, the first of equal ones");
        assert_eq!(chosen(&stats(&[10, 10]), &Settings { min: 2, ..settings }), Choice::Major);
    }

    #[test]
    fn a_large_layer_waits_for_others_of_its_size() {
        let settings = Settings { min_size: 0, ..Settings::default() };
        assert_eq!(chosen(&stats(&[1000, 10, 10, 10]), &settings), merged(1, 4));
        assert_eq!(chosen(&stats(&[1000, 100, 10, 1]), &settings), Choice::Nothing);
        assert_eq!(chosen(&stats(&[1000, 900, 800, 1]), &settings), Choice::Major);
        let free = Settings { ratio: 1000.0, ..settings };
        assert_eq!(chosen(&stats(&[1000, 100, 10, 1]), &free), Choice::Major);
    }

    #[test]
    fn age_asks_for_a_major_compaction_unless_there_was_one_and_nothing_expires() {
        let settings = Settings { jitter: 0.0, ..Settings::default() };
        let rules = FamilyRules::default();
        let at = |days, stats: &FamilyStats, rules: &FamilyRules, settings: &Settings| {
            choose(FamilyId(1), stats, rules, settings, Timestamp(days * DAY))
        };
        let mut one = stats(&[10]);
        assert_eq!(at(7, &one, &rules, &settings), Choice::Nothing);
        assert_eq!(at(8, &one, &rules, &settings), Choice::Major);
        assert_eq!(at(800, &one, &rules, &Settings { period: 0, ..settings }), Choice::Nothing);
        one.layers[0].major = true;
        assert_eq!(at(8, &one, &rules, &settings), Choice::Nothing);
        let expires = FamilyRules { ttl_ms: Some(DAY as u64), ..rules.clone() };
        assert_eq!(at(8, &one, &expires, &settings), Choice::Major);
        let keep_deleted = KeepDeleted::True;
        let purges = FamilyRules { keep_deleted, purge_deleted_after_ms: Some(1), ..rules };
        assert_eq!(at(8, &one, &purges, &settings), Choice::Major);
    }

    #[test]
    fn what_was_kept_for_a_while_goes_once_that_has_passed() {
        let rules = FamilyRules { new_version_behavior: true, keep_versions_for_ms: 100, ..FamilyRules::default() };
        let mut one = stats(&[10]);
        one.layers[0] =
            Layer { superseded: 9, latest: Timestamp(1000), made_at: 1050, major: true, ..one.layers[0].clone() };
        let at = |now, stats: &FamilyStats| choose(FamilyId(1), stats, &rules, &Settings::default(), Timestamp(now));
        assert_eq!(at(1100, &one), Choice::Nothing, "it may be kept still");
        assert_eq!(at(1151, &one), Choice::Major);
        one.layers[0].made_at = 1101;
        assert_eq!(at(1300, &one), Choice::Nothing, "once");
        one.layers[0].latest = Timestamp(9999);
        assert_eq!(at(1300, &one), Choice::Nothing, "what is of the future is not waited for");
    }

    #[test]
    fn jitter_spreads_families_and_stays_the_same_for_each() {
        let settings = Settings::default();
        let periods: std::collections::BTreeSet<i64> = (0..100).map(|id| varied(FamilyId(id), 5, &settings)).collect();
        assert!(periods.len() > 90);
        assert!(periods.iter().all(|p| (7 * DAY / 2..=7 * DAY * 3 / 2).contains(p)));
        assert_eq!(varied(FamilyId(1), 5, &settings), varied(FamilyId(1), 5, &settings));
    }

    #[test]
    fn what_is_hidden_is_a_reason_once_enough_has_come() {
        let rules = FamilyRules { new_version_behavior: true, ..FamilyRules::default() };
        let choice = |stats: &FamilyStats| choose(FamilyId(1), stats, &rules, &Settings::default(), Timestamp(0));
        let mut two = stats(&[1000, 600]);
        two.layers[0].major = true;
        assert_eq!(choice(&two), Choice::Nothing);
        two.superseded = 550;
        assert_eq!(choice(&two), Choice::Major);
        two.layers[1].cells = 10;
        assert_eq!(choice(&two), Choice::Nothing, "what the last one kept");
        let mut one = stats(&[1000]);
        one.layers[0].superseded = 400;
        assert_eq!(choice(&one), Choice::Major);
        one.layers[0].major = true;
        assert_eq!(choice(&one), Choice::Nothing);
    }

    #[test]
    fn runs_of_like_size_are_merged() {
        let rules = FamilyRules { new_version_behavior: true, ..FamilyRules::default() };
        let choice = |sizes: &[u64]| choose(FamilyId(1), &stats(sizes), &rules, &Settings::default(), Timestamp(0));
        assert_eq!(choice(&[10; 3]), Choice::Nothing);
        assert_eq!(choice(&[10; 4]), Choice::Major);
        assert_eq!(choice(&[1000, 10, 10, 10]), Choice::Nothing);
        assert_eq!(choice(&[1000, 10, 10, 10, 10]), merged(1, 5));
    }

    /// Else what was flushed during a long merge stays behind it in small layers, which each read looks at.
    #[test]
    fn what_has_piled_up_is_merged_from_the_oldest_on() {
        let rules = FamilyRules { new_version_behavior: true, ..FamilyRules::default() };
        let choice = |sizes: &[u64]| choose(FamilyId(1), &stats(sizes), &rules, &Settings::default(), Timestamp(0));
        let behind = |oldest: &[u64], count: usize| [oldest, &vec![10; count]].concat();
        assert_eq!(choice(&behind(&[1000], 30)), merged(1, 31));
        assert_eq!(choice(&behind(&[5000], 100)), merged(1, 1 + WIDEST as u32));
        assert_eq!(choice(&[10; 100]), merged(0, WIDEST as u32));
        assert_eq!(choice(&[1 << 20, 1 << 18, 1 << 16, 1 << 14, 1 << 12, 1 << 10, 256, 64, 16, 4, 1]), Choice::Nothing);
        let tower: Vec<u64> = (0..12).rev().map(|n| 4 << (2 * n)).collect();
        assert_eq!(choice(&tower), merged(6, 12), "twelve of any size");
        assert_eq!(choice(&[1000, 10, 10, 10, 10, 500, 10, 10]), merged(1, 7), "with a large one behind them");
    }
}
