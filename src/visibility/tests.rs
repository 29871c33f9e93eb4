//! One test a rule, on cells written out.

use super::*;
use crate::model::{CellKind, Generation, KeepDeleted, SeqNo, Tags, Tombstone, ValueHandle};

const NOW: Timestamp = Timestamp(100);

fn cell(qualifier: &str, timestamp: i64, kind: CellKind, seq: u64) -> StoredCell {
    StoredCell {
        qualifier: qualifier.into(),
        timestamp: Timestamp(timestamp),
        kind,
        seq: SeqNo(seq),
        generation: Generation(1),
        tags: Tags::default(),
        value: ValueHandle::default(),
        own: None,
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
    TimeRange { min, max }
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

#[test]
fn the_newest_versions_are_read() {
    let cells = vec![put("q", 1, 1), put("q", 2, 2), put("q", 3, 3)];
    assert_eq!(times(ReadRules::plain(&classic(2), NOW), cells.clone()), [3]);
    assert_eq!(times(all(&classic(2)), cells.clone()), [3, 2]);
    assert_eq!(times(all(&new_version(2)), cells), [3, 2]);
}

#[test]
fn of_equal_timestamps_the_last_write_counts() {
    let cells = vec![put("q", 1, 1), put("q", 1, 2)];
    for family in [classic(5), new_version(5)] {
        assert_eq!(times(all(&family), cells.clone()), [1]);
    }
}

#[test]
fn a_time_range_reveals_versions_only_in_classic_families() {
    let cells = vec![put("q", 1, 1), put("q", 2, 2)];
    let past = |family: &FamilyRules| times(ReadRules { time_range: range(0, 2), ..all(family) }, cells.clone());
    assert_eq!(past(&classic(1)), [1]);
    assert!(past(&new_version(1)).is_empty());
}

#[test]
fn tombstones_hide_what_they_reach() {
    let puts = || vec![put("q", 1, 1), put("q", 2, 2), put("q", 3, 3)];
    let with = |marker: StoredCell| times(all(&classic(5)), [puts(), vec![marker]].concat());
    assert_eq!(with(tombstone(Tombstone::Version, "q", 2, 9)), [3, 1]);
    assert_eq!(with(tombstone(Tombstone::Column, "q", 2, 9)), [3]);
    assert_eq!(with(tombstone(Tombstone::Family, "", 2, 9)), [3]);
    assert_eq!(with(tombstone(Tombstone::FamilyVersion, "", 2, 9)), [3, 1]);
}

#[test]
fn later_puts_are_hidden_only_in_classic_families() {
    let cells = vec![tombstone(Tombstone::Column, "q", 5, 1), put("q", 3, 2)];
    assert!(times(all(&classic(1)), cells.clone()).is_empty());
    assert_eq!(times(all(&new_version(1)), cells), [3]);
}

#[test]
fn a_family_tombstone_among_cells_of_the_empty_column_is_seen() {
    let cells = vec![put("", 9, 1), put("", 8, 2), tombstone(Tombstone::Family, "", 5, 3), put("q", 4, 1)];
    assert_eq!(read(ReadRules::plain(&classic(1), NOW), cells), [(String::new(), 9)]);
}

#[test]
fn a_family_tombstone_below_a_put_does_not_hide_it() {
    let cells = vec![put("q", 9, 1), tombstone(Tombstone::Family, "", 5, 2)];
    assert_eq!(times(all(&new_version(1)), cells), [9]);
}

#[test]
fn named_columns_are_read_alone() {
    let columns = BTreeSet::from([b"b".to_vec()]);
    let family = classic(1);
    let cells = vec![put("a", 1, 1), put("b", 1, 1), put("c", 1, 1), tombstone(Tombstone::Family, "", 0, 2)];
    let rules = ReadRules { columns: Some(&columns), ..ReadRules::plain(&family, NOW) };
    assert_eq!(read(rules, cells), [("b".to_owned(), 1)]);
}

#[test]
fn family_ttl_hides_at_once_and_cell_ttl_too() {
    let family = FamilyRules { ttl_ms: Some(10), ..classic(5) };
    assert_eq!(times(all(&family), vec![put("q", 90, 1), put("q", 89, 2)]), [90]);
    let cells = vec![with_ttl(put("q", 90, 1), 9), with_ttl(put("q", 80, 2), 20)];
    assert_eq!(times(all(&classic(5)), cells), [80]);
}

#[test]
fn min_versions_outlive_the_ttl() {
    let family = FamilyRules { ttl_ms: Some(10), min_versions: 1, ..classic(5) };
    assert_eq!(times(all(&family), vec![put("q", 50, 1), put("q", 40, 2)]), [50]);
    let family = FamilyRules { new_version_behavior: true, ..family };
    assert_eq!(times(all(&family), vec![put("q", 50, 1), put("q", 40, 2)]), [50]);
}

#[test]
fn deleted_cells_are_read_in_the_past_if_they_are_kept() {
    let cells = vec![put("q", 1, 1), tombstone(Tombstone::Column, "q", 5, 2)];
    for family in [classic(1), new_version(1)] {
        let past = |f: &FamilyRules, max| times(ReadRules { time_range: range(0, max), ..all(f) }, cells.clone());
        assert_eq!(past(&keeping(family.clone()), 5), [1]);
        assert!(past(&keeping(family.clone()), 6).is_empty());
        assert!(past(&family, 5).is_empty());
    }
}

#[test]
fn raw_reads_show_everything() {
    let cells = vec![put("q", 1, 1), tombstone(Tombstone::Column, "q", 5, 2)];
    let family = new_version(1);
    assert_eq!(times(ReadRules { view: View::Raw, ..all(&family) }, cells), [5, 1]);
}

#[test]
fn a_masked_version_stays_masked() {
    let cells = vec![put("q", 1, 1), put("q", 2, 2), tombstone(Tombstone::Version, "q", 2, 3)];
    assert_eq!(times(all(&classic(1)), cells.clone()), [1]);
    assert!(times(all(&new_version(1)), cells).is_empty());
}

#[test]
fn masking_counts_what_lay_above_a_tombstone_seen_later() {
    // Before the tombstone of 2 was written both 3 and 2 were alive: 1 is masked though only 3 is left.
    let cells = vec![put("q", 1, 1), put("q", 2, 2), put("q", 3, 3), tombstone(Tombstone::Version, "q", 2, 4)];
    assert_eq!(times(all(&new_version(2)), cells), [3]);
}

#[test]
fn a_replaced_put_does_not_count_above_a_tombstone_seen_later() {
    let replaced = [put("q", 4, 36), put("q", 4, 39)];
    let below = [put("q", 2, 19), put("q", 0, 35), tombstone(Tombstone::Version, "q", 2, 37)];
    assert_eq!(times(all(&new_version(2)), [&replaced[..], &below].concat()), [4, 0]);
    // Where the tombstone sorts before it, it is known in time.
    let cells = vec![put("q", 4, 36), put("q", 4, 39), put("q", 2, 19), tombstone(Tombstone::Version, "q", 6, 37)];
    assert_eq!(times(all(&new_version(1)), cells), [4]);
}

#[test]
fn kept_versions_tell_what_ended_them() {
    let cells = vec![put("q", 1, 1), tombstone(Tombstone::Column, "q", 5, 2), put("q", 3, 3)];
    assert_eq!(kept(&keeping(new_version(5)), cells), [(1, 5)]);
}

#[test]
fn a_replaced_put_is_not_kept() {
    let cells = vec![put("q", 1, 1), tombstone(Tombstone::Column, "q", 5, 2), put("q", 1, 3)];
    assert!(kept(&keeping(new_version(5)), cells).is_empty());
}

#[test]
fn kept_versions_are_purged_in_time() {
    let family = FamilyRules { purge_deleted_after_ms: Some(10), ..keeping(new_version(5)) };
    let deleted = |at| vec![put("q", 1, 1), written(tombstone(Tombstone::Column, "q", 5, 2), at)];
    assert_eq!(kept(&family, deleted(91)), [(1, 5)]);
    assert!(kept(&family, deleted(90)).is_empty());
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

#[test]
fn an_erasing_tombstone_leaves_nothing_kept() {
    for family in both_keeping(5) {
        assert!(kept(&family, vec![put("q", 1, 1), eraser(Tombstone::Column, 5, 2)]).is_empty());
        let older = vec![put("q", 1, 3), eraser(Tombstone::Version, 1, 2), tombstone(Tombstone::Column, "q", 5, 4)];
        assert_eq!(kept(&family, older), [(1, 5)], "it erases what was written before it");
    }
}

#[test]
fn a_restored_version_is_kept_and_never_live() {
    for family in both_keeping(5) {
        let cells = vec![restored(1, 5, 9), put("q", 3, 1)];
        assert_eq!(times(all(&family), cells.clone()), [3]);
        assert_eq!(kept(&family, cells), [(1, 5)]);
    }
    for family in [new_version(5), classic(5)] {
        let cells = vec![restored(1, 5, 9)];
        assert!(kept(&family, cells).is_empty(), "nothing is kept with KEEP_DELETED_CELLS FALSE");
    }
}

#[test]
fn a_restored_version_is_seen_in_the_time_before_its_end() {
    for family in both_keeping(5) {
        let cells = vec![restored(3, 5, 9), put("q", 1, 1)];
        let until = |t| ReadRules { time_range: range(0, t), ..all(&family) };
        assert_eq!(times(until(5), cells.clone()), [3, 1]);
        assert_eq!(times(until(6), cells.clone()), [1]);
        assert_eq!(times(until(3), cells), [1]);
    }
}

#[test]
fn a_restored_version_gives_way_to_a_live_one_of_its_timestamp() {
    for family in both_keeping(5) {
        for seq in [1, 9] {
            let cells = vec![restored(1, 5, seq), put("q", 1, 4)];
            assert_eq!(times(all(&family), cells.clone()), [1]);
            assert!(kept(&family, cells.clone()).is_empty());
            assert_eq!(times(all(&family), compacted(&family, cells)), [1]);
        }
    }
}

#[test]
fn of_a_deleted_and_a_restored_version_the_last_written_counts() {
    for family in both_keeping(5) {
        let deleted = vec![put("q", 1, 4), tombstone(Tombstone::Column, "q", 7, 5)];
        assert_eq!(kept(&family, [deleted.clone(), vec![restored(1, 5, 9)]].concat()), [(1, 5)]);
        assert_eq!(kept(&family, [deleted, vec![restored(1, 5, 2)]].concat()), [(1, 7)]);
    }
}

#[test]
fn a_restored_version_is_erased_by_an_erasing_tombstone_of_its_timestamp() {
    for family in both_keeping(5) {
        let cells = vec![restored(1, 5, 9), eraser(Tombstone::Version, 1, 10)];
        assert!(kept(&family, cells.clone()).is_empty());
        let again = [cells, vec![restored(1, 5, 11)]].concat();
        assert_eq!(kept(&family, again.clone()), [(1, 5)], "restored again");
        assert_eq!(kept(&family, compacted(&family, again)), [(1, 5)]);
    }
}

#[test]
fn a_flush_keeps_restored_versions_within_versions() {
    let cells = vec![restored(1, 5, 9), restored(2, 5, 8), put("q", 4, 2)];
    assert_eq!(flushed(&keeping(classic(1)), cells.clone()), [4, 2]);
    assert_eq!(flushed(&classic(1), cells), [4], "nothing is kept with KEEP_DELETED_CELLS FALSE");
}

#[test]
fn a_flush_drops_what_is_hidden_among_its_own_cells() {
    let cells = vec![put("q", 1, 1), put("q", 2, 2), put("q", 3, 3), tombstone(Tombstone::Version, "q", 3, 4)];
    assert_eq!(flushed(&classic(1), cells.clone()), [3, 2], "the tombstone, and one version");
    assert_eq!(flushed(&new_version(1), cells), [3, 3, 2, 1], "all");
}

#[test]
fn older_tombstones_of_a_column_end_with_it_at_a_flush() {
    let deletes = vec![tombstone(Tombstone::Column, "q", 5, 1), tombstone(Tombstone::Version, "q", 2, 2)];
    assert_eq!(flushed(&classic(1), [deletes, vec![put("q", 3, 3)]].concat()), [5]);
}

#[test]
fn a_major_compaction_purges_tombstones() {
    let cells = vec![put("q", 1, 1), tombstone(Tombstone::Column, "q", 500, 2)];
    assert!(compacted(&classic(1), cells.clone()).is_empty());
    assert_eq!(compacted(&keeping(classic(1)), cells).len(), 2);
    let waiting = FamilyRules { time_to_purge_deletes_ms: 50, ..classic(1) };
    let young = vec![tombstone(Tombstone::Column, "q", 60, 2), tombstone(Tombstone::Column, "r", 40, 2)];
    assert_eq!(compacted(&waiting, young).len(), 1);
}

#[test]
fn a_kept_tombstone_goes_when_no_put_is_older() {
    let cells = vec![put("q", 7, 1), tombstone(Tombstone::Column, "q", 5, 2)];
    assert_eq!(compacted(&keeping(classic(3)), cells).len(), 1);
}

#[test]
fn compaction_of_new_versions_keeps_what_reads_can_see() {
    let family = keeping(new_version(1));
    let cells = vec![
        put("q", 1, 1),
        put("q", 2, 2),
        tombstone(Tombstone::Column, "q", 5, 3),
        put("q", 8, 4),
        tombstone(Tombstone::Version, "r", 5, 3),
    ];
    let left = compacted(&family, cells.clone());
    assert_eq!(left.iter().map(|c| c.timestamp.0).collect::<Vec<_>>(), [8, 5, 2]);
    assert_eq!(kept(&family, left), kept(&family, cells));
}

#[test]
fn unflushed_cells_are_never_dropped() {
    let mut unflushed = vec![put("q", 1, 5), tombstone(Tombstone::Column, "q", 9, 6)];
    unflushed.iter_mut().for_each(|c| c.generation = Generation(0));
    for family in [classic(1), new_version(1)] {
        assert_eq!(compacted(&family, unflushed.clone()).len(), 2);
    }
}

#[test]
fn a_compaction_does_not_unmask_unflushed_puts() {
    // 5 is masked by 10, which an unflushed tombstone has ended: 10 must stay to mask it.
    let family = new_version(1);
    let mut cells = vec![put("q", 10, 1), put("q", 5, 2), tombstone(Tombstone::Version, "q", 10, 3)];
    cells[1..].iter_mut().for_each(|c| c.generation = Generation(0));
    assert!(times(all(&family), cells.clone()).is_empty());
    assert!(times(all(&family), compacted(&family, cells)).is_empty());
}

#[test]
fn expiry_is_told() {
    let family = FamilyRules { ttl_ms: Some(50), ..classic(1) };
    let cells = vec![with_ttl(put("q", 95, 1), 9)];
    let found = newest(SliceSource::new(&cells), &family, NOW, TimeRange::ALL, &b"q".to_vec()).unwrap();
    assert_eq!(found.and_then(|v| v.expires_at), Some(Timestamp(105)));
}
