//! Compactions of puts alone judge column by column, and keep the first cell of each.

use proptest::prelude::*;

use super::*;

fn puts() -> impl Strategy<Value = Vec<StoredCell>> {
    let one = (prop::sample::select(vec!["", "a", "q", "z"]), 0..9_i64, prop::option::of(0..120_i64));
    prop::collection::vec(one, 0..24).prop_map(|puts| {
        let cell = |(seq, (qualifier, tens, at)): (usize, (&str, i64, Option<i64>))| {
            let cell = put(qualifier, 20 + tens * 10, seq as u64 + 1);
            at.map_or(cell.clone(), |at| written(cell, at))
        };
        sorted(puts.into_iter().enumerate().map(cell).collect())
    })
}

fn rules() -> impl Strategy<Value = FamilyRules> {
    let keeps = prop::sample::select(vec![KeepDeleted::False, KeepDeleted::True, KeepDeleted::Ttl]);
    let lives = prop::sample::select(vec![None, Some(15), Some(40), Some(1000)]);
    let kept = prop::sample::select(vec![0, 25, 70]);
    (any::<bool>(), 1..4_u32, 0..3_u32, lives, keeps, kept).prop_map(
        |(new_version_behavior, versions, min_versions, ttl_ms, keep_deleted, keep_versions_for_ms)| FamilyRules {
            versions,
            min_versions: min_versions.min(versions),
            new_version_behavior,
            ttl_ms,
            keep_deleted,
            keep_versions_for_ms,
            ..FamilyRules::default()
        },
    )
}

fn minor(family: &FamilyRules, cells: &[StoredCell]) -> Vec<StoredCell> {
    let mut matcher = FlushMatcher::new(family, NOW);
    cells.iter().filter(|cell| matcher.judge(cell) == Verdict::Keep).cloned().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn a_column_of_puts_is_judged_by_itself_and_its_first_cell_stays(family in rules(), cells in puts()) {
        let by_column = |judge: &dyn Fn(Vec<StoredCell>) -> Vec<StoredCell>| {
            cells.chunk_by(|a, b| a.qualifier == b.qualifier).flat_map(|column| judge(column.to_vec())).collect::<Vec<_>>()
        };
        let major = compacted(&family, cells.clone());
        prop_assert_eq!(&by_column(&|column| compacted(&family, column)), &major);
        let flushed = minor(&family, &cells);
        prop_assert_eq!(&by_column(&|column| minor(&family, &column)), &flushed);
        for first in cells.chunk_by(|a, b| a.qualifier == b.qualifier).map(|column| &column[0]) {
            if first_stays(&family, NOW, first.timestamp) {
                prop_assert!(major.contains(first) && flushed.contains(first), "{first:?}");
            }
        }
    }
}
