//! Compactions that are interrupted, that others write beside, and those that the store begins by itself.

use super::*;
use crate::backend::CompactionKind::{Major, Minor};
use crate::backend::Event;
use crate::journal::{Edit, Item};
use crate::store::engine::edits;
use crate::store::extents::flush::add;
use crate::store::extents::writing::{Output, options_of};
use crate::store::jobs::compact;
use crate::store::jobs::compact::stats_of;
use crate::store::jobs::merge::{Ended, Merge, Scope, Walk};

const NEWEST_ONLY: &[(&str, &str)] = &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")];

fn put_at(store: &Store, row: &str, qualifier: &str, value: &[u8], timestamp: i64) {
    let cell = put_cell(qualifier, value, Time::At(Timestamp(timestamp)));
    mutate(store, row, Mutation::Put(vec![cell]), Durability::SyncWal).unwrap();
}

fn delete(store: &Store, row: &str, kind: DeleteKind, timestamp: i64) {
    let marker = DeleteMarker { kind, time: Time::At(Timestamp(timestamp)), erases: false };
    mutate(store, row, Mutation::Delete(vec![marker]), Durability::SyncWal).unwrap();
}

fn version(qualifier: &str) -> DeleteKind {
    DeleteKind::Version { family: "f".into(), qualifier: qualifier.into() }
}

fn whole_family() -> DeleteKind {
    DeleteKind::Family { family: "f".into() }
}

#[test]
fn what_was_written_over_gives_its_space_back() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[("VERSIONS", "1")]);
    for n in 0..50 {
        put(&store, "r", "q", &vec![n; 10_000]);
    }
    put(&store, "r", "other", b"small");
    store.flush(None).unwrap();
    store.compact(&table(), None, Major).unwrap();
    let bytes = store.status().unwrap().segment_bytes;
    assert!(bytes < 30_000, "{bytes}");
    drop(store);
    env.crash(CrashMode::ProcessOnly);
    let store = open(&env);
    assert_eq!(value(&store, "r", "other").unwrap(), b"small");
    put(&store, "r", "q", b"later");
    drop(store);
    env.crash(CrashMode::LoseUnsynced);
    let store = open(&env);
    assert_eq!(value(&store, "r", "other").unwrap(), b"small");
}

/// What is shown at last, where after each step nothing, a flush or a compaction of what was flushed comes.
fn in_any_order(
    rules: &[(&str, &str)],
    steps: [&dyn Fn(&Store); 3],
    shown: &dyn Fn(&Store) -> Vec<i64>,
) -> Vec<Vec<i64>> {
    let mut found = Vec::new();
    for way in 0..27 {
        let store = open(&SimEnv::new());
        create(&store, rules);
        for (step, upkeep) in steps.iter().zip([way % 3, way / 3 % 3, way / 9]) {
            step(&store);
            match upkeep {
                0 => {}
                1 => store.flush(None).unwrap(),
                _ => store.compact(&table(), None, Major).unwrap(),
            }
        }
        found.push(shown(&store));
    }
    found.dedup();
    found
}

#[test]
fn what_is_put_again_shows_no_more_of_the_past_when_nothing_was_compacted() {
    let rules = [("VERSIONS", "1"), ("KEEP_DELETED_CELLS", "TTL"), ("NEW_VERSION_BEHAVIOR", "true")];
    let before = |store: &Store| {
        let found = store.newest(&column("r", "a"), TimeRange::until(Timestamp(2))).unwrap();
        found.iter().map(|version| version.timestamp.0).collect::<Vec<_>>()
    };
    let puts = |store: &Store| {
        put_at(store, "r", "a", b"A", 3);
        put_at(store, "r", "a", b"B", 2);
    };
    let deletes = |store: &Store| delete(store, "r", whole_family(), 5);
    let again = |store: &Store| put_at(store, "r", "a", b"Z", 3);
    assert_eq!(in_any_order(&rules, [&puts, &deletes, &again], &before), [Vec::<i64>::new()]);
}

#[test]
fn what_is_put_thrice_takes_one_place_whenever_a_compaction_runs() {
    let rules = [("VERSIONS", "3"), ("KEEP_DELETED_CELLS", "TRUE"), ("NEW_VERSION_BEHAVIOR", "true")];
    let versions = |store: &Store| {
        let found = store.list_versions(&column("r", "a"), Versions::Live, None, 10).unwrap();
        found.iter().map(|version| version.timestamp.0).collect::<Vec<_>>()
    };
    let puts = |store: &Store| {
        for (value, timestamp) in [("Foo1", 5), ("one", 1), ("9", 5), ("two", 2)] {
            put_at(store, "r", "a", value.as_bytes(), timestamp);
        }
    };
    let deletes = |store: &Store| delete(store, "r", DeleteKind::FamilyVersion { family: "f".into() }, 7);
    let again = |store: &Store| put_at(store, "r", "a", b"bar", 5);
    assert_eq!(in_any_order(&rules, [&puts, &deletes, &again], &versions), [vec![5, 2, 1]]);
}

/// Everything that plain reads, time ranges and histories show.
fn shown(store: &Store) -> Vec<String> {
    let mut found = Vec::new();
    for row in ["r", "s", "wide"] {
        for n in 0..40 {
            let qualifier = format!("q{n:02}");
            let versions = store.list_versions(&column(row, &qualifier), Versions::LiveAndKept, None, 99).unwrap();
            let versions: Vec<_> = versions.iter().map(|v| (v.timestamp, v.deleted_at)).collect();
            found.push(format!("{row} {qualifier} {versions:?} {:?}", value(store, row, &qualifier)));
        }
    }
    found
}

/// Puts that are hidden by puts that go, tombstones of every kind, values that are shared, several flushes.
fn fill(store: &Store) {
    for n in 0..2 {
        let (q, other) = (format!("q{n:02}"), format!("q{:02}", n + 10));
        // More than go in one transaction.
        for timestamp in 20..26 {
            put_at(store, "r", &q, b"masked by what is deleted next", timestamp);
        }
        put_at(store, "r", &q, b"deleted", 30);
        delete(store, "r", version(&q), 30);
        put_at(store, "s", &q, b"covered with its family", 10);
        // The older ones lie in later segments.
        let late = format!("q{:02}", n + 20);
        for timestamp in [30, 26, 25, 24] {
            put_at(
                store,
                "s",
                &late,
                b"as before, but the older ones lie in later segments".repeat(3).as_slice(),
                timestamp,
            );
        }
        delete(store, "s", version(&late), 30);
        put_at(store, "wide", &other, b"replaced", 40);
        put_at(store, "wide", &other, b"stays", 40);
        if n == 0 {
            store.flush(None).unwrap();
        }
    }
    delete(store, "s", whole_family(), 15);
    store.flush(None).unwrap();
    put_at(store, "s", "q39", b"stays", 11);
    for n in 0..8 {
        put_at(store, "wide", "q39", format!("{n}").as_bytes(), 50 + n);
    }
    store.flush(None).unwrap();
}

#[test]
fn a_compaction_that_ends_anywhere_shows_nothing_else() {
    for rules in [NEWEST_ONLY, FILES] {
        for mode in [CrashMode::ProcessOnly, CrashMode::LoseUnsynced] {
            let mut calls = 1;
            while !compaction_ends_at(rules, mode, calls) {
                calls += 1;
            }
            assert!(calls > 6, "the compaction makes more than {calls} calls");
        }
    }
}

/// Whether the compaction was done before the `k`-th call, at which the machine stops.
fn compaction_ends_at(rules: &[(&str, &str)], mode: CrashMode, k: u64) -> bool {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, rules);
    fill(&store);
    let before = shown(&store);
    env.fail_call(k, FailMode::Forever, libc::EIO);
    let done = store.compact(&table(), None, Major).is_ok();
    assert_eq!(shown(&store), before, "call {k}, while the process lives");
    env.crash(mode);
    drop(store);
    let store = open(&env);
    assert_eq!(shown(&store), before, "call {k}, after it was opened again");
    assert_eq!(store.status().unwrap().last_error, None, "call {k}: nothing is lost, nothing is reported");
    store.compact(&table(), None, Major).unwrap();
    assert_eq!(shown(&store), before, "call {k}, compacted again");
    done
}

#[test]
fn what_is_flushed_while_a_row_is_judged_does_not_matter() {
    for rules in [NEWEST_ONLY, FILES, &[("VERSIONS", "1")], &[("VERSIONS", "3"), ("KEEP_DELETED_CELLS", "TRUE")]] {
        let env = SimEnv::new();
        let store = open(&env);
        create(&store, rules);
        for n in 0..9000 {
            put_at(&store, "wide", &format!("q{:04}", n % 4500), b"v", 10 + n / 4500);
            if n == 4500 {
                store.flush(None).unwrap();
            }
        }
        delete(&store, "wide", version("q4400"), 11);
        store.flush(None).unwrap();
        let mut beside = 0;
        let catalogue = store.catalogue().unwrap();
        let family = &catalogue.tables[&table()].families["f"];
        let runs = compact::requested(&store.engine.layout(), family, Major);
        let (kind, now) = (Major, store.engine.now());
        let earliest_put = Timestamp(10);
        let scope = Scope::default();
        let (rules_of, layers) = (&family.rules, (1, 2));
        let (rules, all) = (rules_of, runs.clone());
        let merge = Merge { family, rules, kind, layers, runs: all, earliest_put, now, scope, stale: None };
        let mut output = Output::new(&store.engine);
        output.begin(options_of(family, (1, 2), now, true)).unwrap();
        let whole = Walk::new(&merge, &mut output).run(u64::MAX, &mut store.engine.full_pace(), &mut |_| {
            // In the middle of the row: behind and before what is being judged.
            put_at(&store, "wide", "q0001", b"new", 100 + beside);
            put_at(&store, "wide", "q4499", b"new", 100 + beside);
            delete(&store, "wide", version("q4498"), 11);
            store.flush(None).unwrap();
            beside += 1;
        });
        assert!(matches!(whole.unwrap(), Ended::Whole));
        output.end().unwrap();
        let made = output.finish().unwrap();
        let mut edit = Edit::default();
        edit.items.extend(runs.iter().flat_map(|run| &run.extents).map(|extent| Item::Remove(extent.reference)));
        edit.items.extend(made.extents.iter().map(|(file, facts)| add(*file, facts, family.id)));
        edits::commit(&store.engine, |_| Ok(edit), |layout| store.engine.show(layout, |_| None)).unwrap();
        assert!(beside >= 2, "the walk has {beside} pieces");
        for (qualifier, wanted) in [("q0001", "new"), ("q4499", "new"), ("q0002", "v")] {
            assert_eq!(value(&store, "wide", qualifier).as_deref(), Some(wanted.as_bytes()), "{rules:?} {qualifier}");
        }
        let columns = store.list_columns(&table(), b"wide", "f", None, TimeRange::ALL, 9000).unwrap();
        let all = shown_columns(&store);
        store.compact(&table(), None, Major).unwrap();
        assert_eq!(shown_columns(&store), all, "{rules:?}");
        assert!(columns.len() >= 4498);
    }
}

fn shown_columns(store: &Store) -> Vec<(Qualifier, Timestamp)> {
    let columns = store.list_columns(&table(), b"wide", "f", None, TimeRange::ALL, 9000).unwrap();
    columns.into_iter().map(|(qualifier, cell)| (qualifier, cell.timestamp)).collect()
}

fn with_configuration(pairs: &[(&str, &str)]) -> TableSchema {
    let mut schema = schema(&[]);
    schema.configuration = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    schema
}

fn flushes(store: &Store, count: usize) {
    for n in 0..count {
        put_at(store, "r", "q", b"v", 1_000 + n as i64);
        store.flush(None).unwrap();
    }
}

fn cells(store: &Store) -> u64 {
    store.status().unwrap().cells
}

#[test]
fn a_classic_family_is_compacted_by_itself_as_its_table_says() {
    let env = SimEnv::new();
    let store = open(&env);
    let alter = |pairs: &[(&str, &str)]| {
        store.alter(CatalogueChange::AlterTable(with_configuration(pairs)), Origin(0)).unwrap();
        compact::compact_as_needed(&store.engine).unwrap();
    };
    create(&store, &[]);
    flushes(&store, 4);
    assert_eq!(cells(&store), 4, "each flush judges its own alone");
    alter(&[("hbase.hstore.compaction.min", "5")]);
    assert_eq!((cells(&store), store.status().unwrap().compactions), (4, 0));
    alter(&[("hbase.hstore.compaction.min", "4")]);
    assert_eq!((cells(&store), store.status().unwrap().compactions), (1, 1));
    let mut off = with_configuration(&[]);
    off.attributes.insert("COMPACTION_ENABLED".into(), "false".into());
    store.alter(CatalogueChange::AlterTable(off), Origin(0)).unwrap();
    flushes(&store, 4);
    compact::compact_as_needed(&store.engine).unwrap();
    assert_eq!(cells(&store), 5);
    alter(&[("hbase.hstore.compaction.min", "9")]);
    env.advance(12 * 24 * 3600 * 1000);
    alter(&[("hbase.hstore.compaction.min", "9"), ("hbase.hregion.majorcompaction", "0")]);
    assert_eq!(cells(&store), 5, "0 is never");
    alter(&[("hbase.hstore.compaction.min", "9")]);
    assert_eq!(cells(&store), 1, "by age");
}

#[test]
fn a_family_overrides_its_table_and_nonsense_is_refused() {
    let env = SimEnv::new();
    let store = open(&env);
    let mut schema = with_configuration(&[("hbase.hstore.compaction.min", "3")]);
    let family = schema.families.get_mut("f").unwrap();
    family.configuration.insert("hbase.hstore.compaction.min".into(), "6".into());
    store.alter(CatalogueChange::CreateTable(schema.clone()), Origin(0)).unwrap();
    flushes(&store, 5);
    compact::compact_as_needed(&store.engine).unwrap();
    assert_eq!(cells(&store), 5);
    for (key, text) in [("hbase.hstore.compaction.max", "ten"), ("hbase.hregion.majorcompaction.jitter", "-1")] {
        schema.configuration = BTreeMap::from([(key.to_owned(), text.to_owned())]);
        let error = store.alter(CatalogueChange::AlterTable(schema.clone()), Origin(0)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::IllegalArgument);
        assert!(error.message.contains(key) && error.message.contains(text), "{}", error.message);
    }
}

#[test]
fn layers_are_kept_over_reopening_and_merged_as_hbases_files() {
    let env = SimEnv::new();
    let mut store = open(&env);
    create(&store, &[]);
    let layers = |store: &Store| stats_of(store.engine.layout().runs(FamilyId(1)).unwrap()).layers;
    flushes(&store, 5);
    store.close().unwrap();
    store = open(&env);
    assert_eq!(layers(&store).len(), 5);
    store.compact(&table(), None, Minor).unwrap();
    assert_eq!(
        layers(&store).iter().map(|l| (l.last.0, l.cells, l.rows)).collect::<Vec<_>>(),
        [(1, 1, 1), (2, 1, 1), (5, 1, 1)]
    );
    store.compact(&table(), None, Major).unwrap();
    let one = layers(&store);
    assert!(one.len() == 1 && one[0].major && one[0].earliest_put == Timestamp(1_004), "{one:?}");
}

#[test]
fn what_a_purged_tombstone_uncovers_is_announced() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[]);
    put_at(&store, "r", "q", b"old", 1_000);
    delete(&store, "r", DeleteKind::Column { family: "f".into(), qualifier: b"q".to_vec() }, 2_000);
    store.flush(None).unwrap();
    put_at(&store, "r", "q", b"hidden by what was before it", 1_500);
    assert_eq!(value(&store, "r", "q"), None);
    let told = Arc::new(crate::env::sync::Mutex::new(Vec::new()));
    let events = Arc::clone(&told);
    store.subscribe(Arc::new(move |event| events.lock().push(event.clone())));
    store.compact(&table(), None, Major).unwrap();
    assert!(value(&store, "r", "q").is_some());
    let row = Event::Row { table: table(), row: b"r".to_vec(), family: Some("f".into()), origin: Origin(0) };
    assert_eq!(*told.lock(), [row]);
    store.compact(&table(), None, Major).unwrap();
    assert_eq!(told.lock().len(), 1, "nothing was uncovered");
}

#[test]
fn what_is_under_way_is_said_and_given_up_when_the_store_stops() {
    use crate::backend::CompactionProgress;
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    for n in 0..5000 {
        put_at(&store, "r", &format!("q{n}"), b"v", 1);
    }
    store.flush(None).unwrap();
    let engine = &store.engine;
    let progress = CompactionProgress { table: table(), family: "f".into(), kind: Minor, percent: 37 };
    engine.wake(|state| state.compaction = Some(progress.clone()));
    assert_eq!(store.status().unwrap().activity, "compacting t:f 37 %");
    assert_eq!(store.status().unwrap().compaction, Some(progress));
    let before = engine.layout().state.edit;
    engine.wake(|state| state.stop = true);
    store.compact(&table(), None, Major).unwrap();
    assert_eq!(engine.layout().state.edit, before, "it was not finished, and says so");
    engine.wake(|state| state.stop = false);
    store.compact(&table(), None, Major).unwrap();
    assert_eq!(store.status().unwrap().activity, "");
    assert!(engine.layout().extents().all(|extent| extent.facts().unwrap().major));
}
