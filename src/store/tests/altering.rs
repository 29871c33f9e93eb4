//! Changes of the catalogue beside writes.

use std::sync::Barrier;
use std::time::Duration;

use super::*;
use crate::backend::CompactionKind::Major;
use crate::model::{Append, ColumnDelta};
use crate::store::jobs::compact::{self, Merged};
use crate::store::jobs::merge::Scope;

/// A value that goes to a file of large values.
const LARGE: &[u8] = &[7; 40 << 10];

fn append_large(store: &Store) {
    let append =
        Append::to_newest(vec![ColumnDelta { family: "f".into(), qualifier: "q".into(), delta: LARGE.to_vec() }]);
    mutate(store, "r", Mutation::Append(append), Durability::SyncWal).unwrap();
}

/// Else the change waits for the append with the journal locked, the append for the put that begins the file, and that
/// for the journal.
#[test]
fn a_change_beside_large_writes_comes_to_an_end() {
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for _ in 0..400 {
            let store = open(&SimEnv::new());
            create(&store, FILES);
            let start = Barrier::new(3);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    start.wait();
                    append_large(&store);
                });
                scope.spawn(|| {
                    start.wait();
                    put(&store, "other", "q", LARGE);
                });
                start.wait();
                let other = TableSchema { name: TableName::parse("other").unwrap(), ..schema(FILES) };
                store.alter(CatalogueChange::CreateTable(other), Origin(0)).unwrap();
            });
            done.send(()).unwrap();
        }
    });
    for n in 0..400 {
        assert!(ended.recv_timeout(Duration::from_secs(30)).is_ok(), "store {n}: they wait for each other");
    }
}

const ONE: &[(&str, &str)] = &[("VERSIONS", "1"), ("KEEP_VERSIONS_FOR", "0"), ("NEW_VERSION_BEHAVIOR", "true")];
const FIVE: &[(&str, &str)] = &[("VERSIONS", "5"), ("KEEP_VERSIONS_FOR", "0"), ("NEW_VERSION_BEHAVIOR", "true")];

fn alter(store: &Store, attributes: &[(&str, &str)]) {
    store.alter(CatalogueChange::AlterTable(schema(attributes)), Origin(0)).unwrap();
}

fn puts(store: &Store) {
    (0..5).for_each(|n| drop(put(store, "r", "q", &[n])));
    store.flush(None).unwrap();
}

fn versions(store: &Store) -> usize {
    store.list_versions(&column("r", "q"), Versions::Live, None, 10).unwrap().len()
}

/// One may have to wait for others before it, for hours.
#[test]
fn a_compaction_that_waits_goes_by_the_rules_of_what_it_merges() {
    type Work = fn(&Store);
    let works: [Work; 3] = [
        |store| store.compact(&table(), None, Major).unwrap(),
        |store| store.compact(&table(), Some("f"), Major).unwrap(),
        |store| {
            let scope = crate::backend::PurgeScope { table: table(), row: None, family: None, qualifier: None };
            store.purge(&scope).unwrap();
        },
    ];
    for work in works {
        let store = open(&SimEnv::new());
        create(&store, ONE);
        puts(&store);
        std::thread::scope(|scope| {
            let turn = store.engine.turns.compact();
            let compaction = scope.spawn(|| work(&store));
            std::thread::sleep(Duration::from_millis(100));
            alter(&store, FIVE);
            puts(&store);
            drop(turn);
            compaction.join().unwrap();
        });
        assert_eq!(versions(&store), 5);
    }
}

#[test]
fn a_merge_by_rules_that_have_changed_does_not_count() {
    let store = open(&SimEnv::new());
    create(&store, ONE);
    puts(&store);
    let family = store.engine.catalogue.load().tables[&table()].families["f"].clone();
    let runs = compact::requested(&store.engine.layout(), &family, Major);
    alter(&store, FIVE);
    let seen = versions(&store);
    let what = (Major, runs, Scope::default());
    let mut pace = store.engine.full_pace();
    let merged = compact::merge_runs(&store.engine, &table(), &family, &family.rules, what, &mut pace).unwrap();
    assert_eq!((merged, versions(&store)), (Merged::Outdated, seen));
    store.compact(&table(), None, Major).unwrap();
    assert_eq!(versions(&store), seen);
}

/// Else it keeps its newest versions alone, before its own attributes have come.
#[test]
fn a_family_that_is_restored_keeps_all_when_its_table_is_truncated() {
    let store = open(&SimEnv::new());
    let change = |change: CatalogueChange| store.alter(change, Origin(0)).unwrap();
    change(CatalogueChange::CreateTable(TableSchema::new(table(), [])));
    change(CatalogueChange::RestoreFamily { table: table(), family: "f".into() });
    change(CatalogueChange::TruncateTable { name: table() });
    let mut schema = store.engine.catalogue.load().tables[&table()].clone();
    schema.metadata.insert("note".into(), "1".into());
    change(CatalogueChange::AlterTable(schema));
    puts(&store);
    store.compact(&table(), None, Major).unwrap();
    assert_eq!(versions(&store), 5);
}
