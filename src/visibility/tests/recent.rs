//! What KEEP_VERSIONS_FOR keeps beside VERSIONS. The clock is at 100.

use proptest::prelude::*;

use super::*;
use crate::visibility::limit::MOST;

fn recent(versions: u32, keep_versions_for_ms: u64) -> FamilyRules {
    FamilyRules { keep_versions_for_ms, ..keeping(new_version(versions)) }
}

fn puts(timestamps: &[i64]) -> Vec<StoredCell> {
    timestamps.iter().zip(1..).map(|(timestamp, seq)| put("q", *timestamp, seq)).collect()
}

#[test]
fn what_was_newest_in_that_time_stays() {
    let cells = puts(&[10, 20, 88, 92, 95]);
    assert_eq!(times(all(&recent(1, 10)), cells.clone()), [95, 92, 88], "88 was the newest until 92");
    assert_eq!(times(all(&recent(1, 12)), cells.clone()), [95, 92, 88], "of 88 on it is 12 ms ago");
    assert_eq!(times(all(&recent(1, 13)), cells.clone()), [95, 92, 88, 20]);
    assert_eq!(times(all(&recent(4, 13)), cells.clone()), [95, 92, 88, 20]);
    assert_eq!(times(all(&recent(1, 0)), cells.clone()), [95]);
    let classic = FamilyRules { new_version_behavior: false, ..recent(1, 13) };
    assert_eq!(times(all(&classic), cells), [95], "classic families are HBase's");
}

#[test]
fn what_was_deleted_in_that_time_stays_as_deleted() {
    let end = |at, seq| written(tombstone(Tombstone::Column, "q", at, seq), at);
    let cells = [puts(&[10, 81, 90]), vec![end(92, 4), put("q", 93, 5), end(94, 6), put("q", 95, 7)]].concat();
    assert_eq!(kept(&recent(1, 11), cells.clone()), [(93, 94), (90, 92), (81, 92)], "10 was the newest until 81");
    assert_eq!(kept(&recent(1, 10), cells.clone()), [(93, 94), (90, 92)], "and 81 until 90");
    assert_eq!(kept(&recent(1, 0), cells.clone()), [(93, 94)]);
    let purged = FamilyRules { purge_deleted_after_ms: Some(7), ..recent(1, 10) };
    assert_eq!(kept(&purged, cells), [(93, 94)], "purged is purged");
}

/// Whose place a restored version takes, that one stays for so long as well.
#[test]
fn what_a_restored_version_outranks_stays_from_when_it_was_the_newest() {
    let restored = written(restored(97, 98, 1), 90);
    let end = |kind, at, seq, clock| written(tombstone(kind, "q", at, seq), clock);
    let together = vec![restored.clone(), put("q", 80, 2), put("q", 84, 3), end(Tombstone::Column, 92, 4, 92)];
    assert_eq!(kept(&recent(2, 15), together.clone()), [(97, 98), (84, 92)], "80 was the newest until 84");
    assert_eq!(kept(&recent(2, 17), together), [(97, 98), (84, 92), (80, 92)]);
    let alone =
        [put("q", 84, 2), end(Tombstone::Version, 84, 3, 85), put("q", 80, 4), end(Tombstone::Column, 92, 5, 92)];
    let alone = [vec![restored], alone.to_vec()].concat();
    assert_eq!(kept(&recent(2, 15), alone), [(97, 98), (84, 84), (80, 92)], "80 was until 92");
}

#[test]
fn what_stays_beside_versions_stays_where_single_ones_are_removed() {
    let removed = |at, seq, clock| written(tombstone(Tombstone::Version, "q", at, seq), clock);
    let cells = [puts(&[20, 70, 85, 90, 95]), vec![removed(95, 6, 97), removed(90, 7, 98)]].concat();
    assert_eq!(times(all(&recent(2, 20)), cells.clone()), [85, 70], "70 was the newest until 85");
    assert_eq!(times(all(&recent(1, 20)), cells.clone()), [85, 70]);
    assert_eq!(times(all(&recent(1, 10)), cells.clone()), [85], "70 went at 95");
    assert_eq!(times(all(&recent(1, 0)), cells), [0; 0], "85 went at 90");
}

#[test]
fn a_programs_writes_are_not_all_kept() {
    let cells: Vec<StoredCell> = (1..=500).map(|n| put("q", 99, n)).collect();
    assert_eq!(times(all(&recent(3, 50)), cells).len(), 1, "of one timestamp only the last counts");
    let cells: Vec<StoredCell> = (1..=500).map(|n| put("q", n, n as u64)).collect();
    let family = recent(3, 10_000);
    assert_eq!(times(all(&family), cells).len(), MOST as usize);
}

/// Of one column, each written at twice its sequence number and 60.
fn any_history() -> impl Strategy<Value = Vec<StoredCell>> {
    let kind = prop::sample::select(vec![
        CellKind::Put,
        CellKind::Put,
        CellKind::Put,
        CellKind::Tombstone(Tombstone::Version),
        CellKind::Tombstone(Tombstone::Column),
    ]);
    // Mostly of the time when it was written.
    let one = (kind, prop_oneof![4 => Just(0i64), 3 => -8..3i64]);
    prop::collection::vec(one, 1..12).prop_map(|cells| {
        let made = |(seq, (kind, shift)): (u64, (CellKind, i64))| {
            let at = 60 + 2 * seq as i64;
            written(cell("q", at + shift, kind, seq), at)
        };
        let mut history: Vec<StoredCell> = (1..).zip(cells).map(made).collect();
        // A deleted version that was put again gives its place to what KEEP_VERSIONS_FOR still has, which a compaction that
        // ran later than that would have dropped.
        let (mut put, mut ended) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
        history.retain(|cell| {
            if !cell.kind.is_put() {
                ended.append(&mut put);
                return true;
            }
            put.insert(cell.timestamp);
            !ended.contains(&cell.timestamp)
        });
        history
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]
    #[test]
    fn a_compaction_is_never_seen(
        cells in any_history(),
        flushed in 0..12u64,
        later in 0..20i64,
        (versions, keep, purge) in (1..4u32, 0..40u64, prop::option::of(0..40u64)),
        until in 60..100i64,
    ) {
        let family = FamilyRules { purge_deleted_after_ms: purge, ..recent(versions, keep) };
        // Of what a compaction does not see yet nothing was written before it: else a version that was purged before
        // another one was deleted no longer takes the place from that one.
        let later = if flushed < cells.last().map_or(0, |cell| cell.seq.0) { later.min(1) } else { later };
        let compacted_at = Timestamp((60 + 2 * flushed as i64 + later).min(100));
        let mut left = sorted(cells.clone());
        left.iter_mut().filter(|cell| cell.seq.0 > flushed).for_each(|cell| cell.generation = Generation(0));
        let mut dropped = Vec::new();
        let note = |cell| {
            dropped.push(cell);
            Ok(())
        };
        major_compaction(&family, compacted_at, Timestamp(0), left.clone().into_iter().map(Ok), note).unwrap();
        left.retain(|cell| !dropped.contains(cell));
        left.iter_mut().for_each(|cell| cell.generation = Generation(1));
        let of_range = |cells: &[StoredCell], view, range| {
            let q = b"q".to_vec();
            let cells = sorted(cells.to_vec());
            let found = list_versions(SliceSource::new(&cells), &family, NOW, (&q, range), view, 99).unwrap();
            found.iter().map(|v| (v.timestamp.0, v.deleted_at)).collect::<Vec<_>>()
        };
        for (view, range) in [
            (View::Plain, TimeRange::ALL),
            (View::WithKept, TimeRange::ALL),
            (View::Plain, range(0, until)),
            (View::WithKept, range(0, until)),
        ] {
            prop_assert_eq!(of_range(&left, view, range), of_range(&cells, view, range), "{:?} {:?}", view, range);
        }
    }
}
