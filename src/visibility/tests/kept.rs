//! Versions that are kept after their end, and those restored as such.

use super::*;

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
fn a_restored_version_takes_no_place_of_what_min_versions_holds() {
    let family = FamilyRules { ttl_ms: Some(5), min_versions: 1, ..keeping(new_version(1)) };
    let cells = sorted(vec![put("q", 1, 1), restored(3, 5, 9)]);
    let q = b"q".to_vec();
    for view in [View::Plain, View::WithKept] {
        let found = list_versions(SliceSource::new(&cells), &family, NOW, (&q, TimeRange::ALL), view, 99).unwrap();
        assert!(found.iter().any(|version| version.timestamp == Timestamp(1)), "{view:?}");
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
