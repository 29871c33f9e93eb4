//! What a read sees.

use proptest::prelude::*;

use super::*;

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
fn a_put_counts_until_it_is_put_again() {
    // Before the tombstone of 2 was written both 4 and 2 were alive. HBase knows of the first 4 after a compaction alone.
    let again = [put("q", 4, 36), put("q", 4, 39)];
    let below = [put("q", 2, 19), put("q", 0, 35), tombstone(Tombstone::Version, "q", 2, 37)];
    assert_eq!(times(all(&new_version(2)), [&again[..], &below].concat()), [4]);
    assert_eq!(times(all(&new_version(3)), [&again[..], &below].concat()), [4, 0]);
    let cells = vec![put("q", 4, 36), put("q", 4, 39), put("q", 2, 19), tombstone(Tombstone::Version, "q", 6, 37)];
    assert_eq!(times(all(&new_version(1)), cells), [4]);
}

#[test]
fn of_many_puts_of_a_timestamp_one_counts_at_a_time() {
    let puts = [put("q", 5, 1), put("q", 1, 2), put("q", 5, 3), put("q", 2, 4), put("q", 5, 6)];
    let cells = [&puts[..], &[tombstone(Tombstone::FamilyVersion, "", 7, 5)]].concat();
    assert_eq!(times(all(&new_version(3)), cells.clone()), [5, 2, 1]);
    assert_eq!(times(all(&new_version(2)), cells), [5, 2]);
}

#[test]
fn what_was_masked_when_it_was_deleted_is_not_kept() {
    let deleted = [put("q", 3, 1), put("q", 2, 2), tombstone(Tombstone::Family, "", 5, 3)];
    let family = keeping(new_version(1));
    let past = |cells: Vec<StoredCell>| times(ReadRules { time_range: range(0, 3), ..all(&family) }, cells);
    assert!(past(deleted.to_vec()).is_empty());
    assert!(past([&deleted[..], &[put("q", 3, 4)]].concat()).is_empty(), "3 was put again");
}

#[test]
fn expiry_is_told() {
    let family = FamilyRules { ttl_ms: Some(50), ..classic(1) };
    let cells = vec![with_ttl(put("q", 95, 1), 9)];
    let found = newest(SliceSource::new(&cells), ReadRules::plain(&family, NOW), &b"q".to_vec()).unwrap();
    assert_eq!(found.and_then(|v| v.expires_at), Some(Timestamp(105)));
}

/// Few are written behind a tombstone: up to the last of these none ends its column.
fn settled_after(cells: &[StoredCell]) -> SeqNo {
    let is_column = |cell: &&StoredCell| cell.kind == CellKind::Tombstone(Tombstone::Column);
    let is_late = |put: &&StoredCell| {
        cells.iter().filter(is_column).any(|tombstone| {
            tombstone.qualifier == put.qualifier && tombstone.timestamp >= put.timestamp && tombstone.seq < put.seq
        })
    };
    let late = cells.iter().filter(|cell| cell.kind.is_put()).filter(is_late);
    late.map(|put| put.seq).max().unwrap_or(SeqNo(0))
}

/// Of the columns `q` and `r`, some restored, with few timestamps, so that they meet.
fn any_cell() -> impl Strategy<Value = StoredCell> {
    let kind = prop::sample::select(vec![
        CellKind::Put,
        CellKind::Put,
        CellKind::Put,
        CellKind::Tombstone(Tombstone::Version),
        CellKind::Tombstone(Tombstone::Column),
    ]);
    let (ttl, ended) = (prop::option::weighted(0.3, 0..15u64), prop::option::weighted(0.2, 85..105i64));
    let place = (prop::sample::select(vec!["q", "r"]), 88..104i64, 1..9u64);
    (place, kind, ttl, ended, any::<bool>()).prop_map(|((qualifier, timestamp, seq), kind, ttl, ended, erases)| {
        let mut cell = cell(qualifier, timestamp, kind, seq);
        if kind.is_put() {
            (cell.tags.ttl_ms, cell.tags.ended_at) = (ttl, ended.map(Timestamp));
        }
        cell.tags.erases = erases;
        cell
    })
}

fn any_family() -> impl Strategy<Value = FamilyRules> {
    let keep = prop::sample::select(vec![KeepDeleted::False, KeepDeleted::True, KeepDeleted::Ttl]);
    let of = (1..4u32, 0..3u32, prop::option::of(0..15u64), keep, any::<bool>());
    of.prop_map(|(versions, least, ttl_ms, keep_deleted, new_version_behavior)| FamilyRules {
        versions,
        min_versions: if ttl_ms.is_some() { least.min(versions) } else { 0 },
        ttl_ms,
        keep_deleted,
        new_version_behavior,
        keep_versions_for_ms: u64::from(versions) * 4,
        ..FamilyRules::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]
    #[test]
    fn what_shows_by_itself_is_what_the_rules_in_full_show(
        cells in prop::collection::vec(any_cell(), 1..7),
        family in any_family(),
    ) {
        let mut cells = sorted(cells);
        cells.dedup_by_key(|cell| (cell.qualifier.clone(), cell.timestamp, cell.kind, cell.seq));
        let rules = ReadRules::plain(&family, NOW);
        let mut reader = FamilyReader::new(SliceSource::new(&cells), rules);
        let mut shown = Vec::new();
        while let Some(visible) = reader.next().unwrap() {
            shown.push(visible.cell);
        }
        for column in cells.chunk_by(|one, next| one.qualifier == next.qualifier) {
            let first = &column[0];
            if shows_by_itself(&rules, (first.timestamp, first.kind), &first.tags) {
                let of_column = shown.iter().find(|cell| cell.qualifier == first.qualifier);
                prop_assert_eq!(of_column, Some(first));
            }
        }
    }

    #[test]
    fn a_tombstone_behind_which_nothing_was_written_later_ends_its_column(
        cells in prop::collection::vec(any_cell(), 1..9),
        family in any_family(),
        max in prop::sample::select(vec![95, 100, i64::MAX]),
        view in prop::sample::select(vec![View::Plain, View::WithKept]),
        max_versions in 1..4u32,
    ) {
        let mut cells = sorted(cells);
        cells.dedup_by_key(|cell| (cell.qualifier.clone(), cell.timestamp, cell.kind, cell.seq));
        let settled_after = settled_after(&cells);
        let rules = ReadRules { time_range: range(0, max), view, max_versions, ..ReadRules::plain(&family, NOW) };
        let shown = |rules| {
            let mut reader = FamilyReader::new(SliceSource::new(&cells), rules);
            std::iter::from_fn(|| reader.next().unwrap()).collect::<Vec<_>>()
        };
        prop_assert_eq!(shown(ReadRules { settled_after, ..rules }), shown(rules));
        for qualifier in [b"q".to_vec(), b"r".to_vec()] {
            let past = |settled_after| past_of(SliceSource::new(&cells), &qualifier, settled_after).unwrap();
            prop_assert_eq!(past(settled_after), past(SeqNo(u64::MAX)));
        }
    }
}
