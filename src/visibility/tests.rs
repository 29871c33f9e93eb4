//! One test a rule, on cells written out.

mod compacted;
mod dropping;
mod kept;
mod plain;
mod puts_alone;
mod recent;

use super::*;
use crate::model::{CellKind, Generation, KeepDeleted, SeqNo, Tags, Tombstone, ValueRef};

const NOW: Timestamp = Timestamp(100);

fn cell(qualifier: &str, timestamp: i64, kind: CellKind, seq: u64) -> StoredCell {
    StoredCell {
        qualifier: qualifier.into(),
        timestamp: Timestamp(timestamp),
        kind,
        seq: SeqNo(seq),
        generation: Generation(1),
        tags: Tags::default(),
        value: ValueRef::default(),
        ordinal: 0,
    }
}

fn put(qualifier: &str, timestamp: i64, seq: u64) -> StoredCell {
    cell(qualifier, timestamp, CellKind::Put, seq)
}

fn tombstone(kind: Tombstone, qualifier: &str, timestamp: i64, seq: u64) -> StoredCell {
    cell(qualifier, timestamp, CellKind::Tombstone(kind), seq)
}

fn with_ttl(mut cell: StoredCell, ttl_ms: u64) -> StoredCell {
    cell.tags.ttl_ms = Some(ttl_ms);
    cell
}

fn written(mut cell: StoredCell, at: i64) -> StoredCell {
    cell.tags.written_at = Some(Timestamp(at));
    cell
}

fn restored(timestamp: i64, end: i64, seq: u64) -> StoredCell {
    let mut cell = written(put("q", timestamp, seq), 100);
    cell.tags.ended_at = Some(Timestamp(end));
    cell
}

fn sorted(mut cells: Vec<StoredCell>) -> Vec<StoredCell> {
    cells.sort_by(|a, b| {
        let newest_first = |c: &StoredCell| std::cmp::Reverse((c.timestamp, c.kind.code(), c.seq));
        a.qualifier.cmp(&b.qualifier).then_with(|| newest_first(a).cmp(&newest_first(b)))
    });
    cells
}

fn classic(versions: u32) -> FamilyRules {
    FamilyRules { versions, ..FamilyRules::default() }
}

fn new_version(versions: u32) -> FamilyRules {
    FamilyRules { versions, new_version_behavior: true, ..FamilyRules::default() }
}

fn keeping(family: FamilyRules) -> FamilyRules {
    FamilyRules { keep_deleted: KeepDeleted::True, ..family }
}

fn all(family: &FamilyRules) -> ReadRules<'_> {
    ReadRules { max_versions: u32::MAX, ..ReadRules::plain(family, NOW) }
}

fn range(min: i64, max: i64) -> TimeRange {
    TimeRange { min, max, ..TimeRange::ALL }
}

/// Visible cells as `(qualifier, timestamp)`.
fn read(rules: ReadRules<'_>, cells: Vec<StoredCell>) -> Vec<(String, i64)> {
    let cells = sorted(cells);
    let mut reader = FamilyReader::new(SliceSource::new(&cells), rules);
    let mut seen = Vec::new();
    while let Some(v) = reader.next().unwrap() {
        seen.push((String::from_utf8_lossy(&v.cell.qualifier).into_owned(), v.cell.timestamp.0));
    }
    seen
}

fn times(rules: ReadRules<'_>, cells: Vec<StoredCell>) -> Vec<i64> {
    read(rules, cells).into_iter().map(|(_, t)| t).collect()
}

/// Timestamps of kept versions with the time of their end.
fn kept(family: &FamilyRules, cells: Vec<StoredCell>) -> Vec<(i64, i64)> {
    let cells = sorted(cells);
    let q = b"q".to_vec();
    let column = (&q, TimeRange::ALL);
    let listed = list_versions(SliceSource::new(&cells), family, NOW, column, View::WithKept, 99).unwrap();
    listed.iter().filter_map(|v| v.deleted_at.map(|end| (v.timestamp.0, end.0))).collect()
}

fn flushed(family: &FamilyRules, cells: Vec<StoredCell>) -> Vec<i64> {
    let mut matcher = FlushMatcher::new(family, NOW);
    sorted(cells).into_iter().filter(|c| matcher.judge(c) == Verdict::Keep).map(|c| c.timestamp.0).collect()
}

fn compacted(family: &FamilyRules, cells: Vec<StoredCell>) -> Vec<StoredCell> {
    let mut left = sorted(cells);
    let puts = left.iter().filter(|c| c.kind.is_put() && c.generation.0 > 0).map(|c| c.timestamp);
    let earliest = puts.min().unwrap_or(Timestamp(i64::MAX));
    let mut dropped = Vec::new();
    let all = left.clone().into_iter().map(Ok);
    let note = |cell| {
        dropped.push(cell);
        Ok(())
    };
    major_compaction(family, NOW, earliest, all, note).unwrap();
    left.retain(|c| !dropped.contains(c));
    left
}

/// A family of each kind that keeps deleted cells.
fn both_keeping(versions: u32) -> [FamilyRules; 2] {
    [keeping(new_version(versions)), keeping(classic(versions))]
}

fn eraser(kind: Tombstone, timestamp: i64, seq: u64) -> StoredCell {
    let mut eraser = tombstone(kind, "q", timestamp, seq);
    eraser.tags.erases = true;
    eraser
}
