//! Compactions at any moments of a history, each of what was flushed by then, are never seen by reads of new-version
//! families: not now and not of the past, however often a timestamp was put and whatever was deleted meanwhile.

use proptest::prelude::*;

use super::*;

/// What happens, each at its own moment.
#[derive(Clone, Debug)]
enum Deed {
    Write { kind: CellKind, qualifier: &'static str, timestamp: i64, erases: bool },
    Flush,
    Compact,
}

fn write() -> impl Strategy<Value = Deed> {
    let kind = prop_oneof![
        6 => Just(CellKind::Put),
        2 => Just(CellKind::Tombstone(Tombstone::Version)),
        2 => Just(CellKind::Tombstone(Tombstone::Column)),
        1 => Just(CellKind::Tombstone(Tombstone::Family)),
        1 => Just(CellKind::Tombstone(Tombstone::FamilyVersion)),
    ];
    let qualifier = prop_oneof![1 => Just(""), 6 => Just("q"), 1 => Just("r")];
    (kind, qualifier, 1..6i64, prop::bool::weighted(0.05)).prop_map(|(kind, qualifier, timestamp, erases)| {
        let qualifier = if kind.is_family_tombstone() { "" } else { qualifier };
        Deed::Write { kind, qualifier, timestamp, erases: erases && !kind.is_put() }
    })
}

fn history() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![8 => write(), 1 => Just(Deed::Flush), 2 => Just(Deed::Compact)];
    prop::collection::vec(deed, 1..16)
}

fn rules() -> impl Strategy<Value = FamilyRules> {
    let keeps = prop::sample::select(vec![KeepDeleted::False, KeepDeleted::True, KeepDeleted::Ttl]);
    (1..4u32, keeps, prop::option::weighted(0.3, 0..12u64)).prop_map(|(versions, keep_deleted, purge)| FamilyRules {
        keep_deleted,
        purge_deleted_after_ms: purge,
        ..new_version(versions)
    })
}

/// What is stored in the end; `compacts` tells whether compactions run. Several deeds share a moment of the clock.
fn stored(family: &FamilyRules, deeds: &[Deed], compacts: bool) -> Vec<StoredCell> {
    let mut cells: Vec<StoredCell> = Vec::new();
    for (deed, seq) in deeds.iter().zip(1u64..) {
        let now = Timestamp(80 + seq.cast_signed() / 2);
        match deed {
            Deed::Write { kind, qualifier, timestamp, erases } => {
                let mut made = cell(qualifier, *timestamp, *kind, seq);
                made.generation = Generation(0);
                made.tags.erases = *erases;
                made.tags.written_at = (!kind.is_put()).then_some(now);
                cells.push(made);
            }
            Deed::Flush => cells.iter_mut().for_each(|cell| cell.generation = Generation(1)),
            Deed::Compact if compacts => cells = compacted_at(family, now, cells),
            Deed::Compact => {}
        }
    }
    sorted(cells)
}

fn compacted_at(family: &FamilyRules, now: Timestamp, cells: Vec<StoredCell>) -> Vec<StoredCell> {
    let mut left = sorted(cells);
    let mut dropped = Vec::new();
    let note = |cell| {
        dropped.push(cell);
        Ok(())
    };
    major_compaction(family, now, Timestamp(0), left.clone().into_iter().map(Ok), note).unwrap();
    left.retain(|cell| !dropped.contains(cell));
    left
}

/// Every read that there is.
fn seen(family: &FamilyRules, cells: &[StoredCell]) -> Vec<String> {
    let ranges = (0..7i64).flat_map(|min| (min..8).chain([i64::MAX]).map(move |max| range(min, max)));
    let ranges = ranges.chain([1, 3, 5, 82, 85, 88].map(|at| TimeRange::as_of(Timestamp(at))));
    let mut answers = Vec::new();
    for time_range in ranges {
        for view in [View::Plain, View::WithKept] {
            for max_versions in [1, 2, u32::MAX] {
                let rules = ReadRules { time_range, view, max_versions, ..ReadRules::plain(family, NOW) };
                let mut reader = FamilyReader::new(SliceSource::new(cells), rules);
                let shown = std::iter::from_fn(|| reader.next().unwrap()).map(|shown| {
                    let VisibleCell { cell, deleted_at, hidden_from } = shown;
                    (String::from_utf8(cell.qualifier).unwrap(), cell.timestamp.0, cell.seq.0, deleted_at, hidden_from)
                });
                answers.push(format!("{time_range:?} {view:?} {max_versions}: {:?}", shown.collect::<Vec<_>>()));
            }
        }
    }
    answers
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]
    #[test]
    fn no_read_tells_when_a_compaction_ran(family in rules(), deeds in history()) {
        let compacted = seen(&family, &stored(&family, &deeds, true));
        let whole = seen(&family, &stored(&family, &deeds, false));
        for (compacted, whole) in compacted.into_iter().zip(whole) {
            prop_assert_eq!(compacted, whole);
        }
    }
}
