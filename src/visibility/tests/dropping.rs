//! What a flush and a compaction may drop.

use super::*;

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
fn of_a_timestamp_that_is_put_again_and_again_little_stays() {
    const TIMES: u64 = 100_000;
    let deleted = |n| tombstone(Tombstone::Version, "q", 5, 2 * n + 1);
    let puts = (0..TIMES).map(|n| put("q", 5, 2 * n));
    let both = (0..TIMES).flat_map(|n| [put("q", 5, 2 * n), deleted(n)]);
    for (cells, left) in [(sorted(puts.collect()), 1), (sorted(both.collect()), 2)] {
        let all = cells.len();
        let mut dropped = 0;
        let count = |_| {
            dropped += 1;
            Ok(())
        };
        let cells = cells.into_iter().map(Ok);
        major_compaction(&keeping(new_version(3)), NOW, Timestamp(0), cells, count).unwrap();
        assert_eq!(all - dropped, left);
    }
}

#[test]
fn what_was_erased_is_no_past() {
    let erasing = |mut cell: StoredCell| {
        cell.tags.erases = true;
        cell
    };
    let column = |timestamp, seq| erasing(tombstone(Tombstone::Column, "q", timestamp, seq));
    let past = |cells: Vec<StoredCell>| {
        let cells = sorted(cells);
        past_of(SliceSource::new(&cells), &b"q".to_vec(), SeqNo(u64::MAX)).unwrap()
    };
    assert_eq!(past(vec![]), Past::Other);
    assert_eq!(past(vec![put("q", 1, 1), put("p", 1, 2), put("r", 2, 3)]), Past::One);
    assert_eq!(past(vec![put("q", 1, 1), put("q", 1, 2)]), Past::One, "put again");
    assert_eq!(past(vec![put("q", 1, 1), put("q", 2, 2)]), Past::Other);
    assert_eq!(past(vec![put("q", 1, 1), column(2, 2), put("q", 3, 3)]), Past::OneSinceErased);
    let often = (0..50).flat_map(|n| [put("q", 2 * n, 2 * n as u64), column(2 * n + 1, 2 * n as u64 + 1)]);
    assert_eq!(past(often.chain([put("q", 200, 200)]).collect()), Past::OneSinceErased);
    assert_eq!(past(vec![put("q", 1, 1), tombstone(Tombstone::Column, "q", 2, 2), put("q", 3, 3)]), Past::Other);
    assert_eq!(past(vec![column(2, 1), put("q", 1, 2), put("q", 3, 3)]), Past::Other, "written behind the tombstone");
    let family = erasing(tombstone(Tombstone::Family, "", 5, 5));
    assert_eq!(past(vec![put("", 1, 1), put("q", 1, 2), family.clone(), put("q", 6, 6)]), Past::OneSinceErased);
    assert_eq!(past(vec![put("q", 1, 7), family, put("q", 6, 6)]), Past::Other);
}
