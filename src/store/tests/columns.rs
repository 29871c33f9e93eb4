//! What is counted of families and qualifiers is what is stored, whatever happened.

use rand::{RngExt, SeedableRng};

use super::super::sweep::index_cursor;
use super::*;
use crate::backend::{ColumnNumbers, CompactionKind};
use crate::index::{COLUMNS_MAX, key};

/// Counted cell by cell.
fn stored(store: &Store) -> (u64, BTreeMap<Qualifier, ColumnNumbers>) {
    let id = store.catalogue().unwrap().tables[&table()].families["f"].id;
    let mut cells = Vec::new();
    let mut cursor = index_cursor(&store.engine.index, &key::family_prefix(id), key::family_end(id));
    while let Some(cell) = cursor.pop().unwrap() {
        cells.push(cell);
    }
    for memtable in store.engine.tables.load().all() {
        cells.extend(memtable.iter().filter(|(key, _)| key::family_of(key) == Some(id)));
    }
    let mut columns: BTreeMap<Qualifier, ColumnNumbers> = BTreeMap::new();
    for (key, row) in &cells {
        let key::CellKey { qualifier, timestamp, kind, .. } = key::decode(key).unwrap();
        if kind.is_put() {
            let none = ColumnNumbers {
                qualifier: qualifier.clone(),
                cells: 0,
                bytes: 0,
                oldest: timestamp,
                newest: timestamp,
            };
            let sum = columns.entry(qualifier).or_insert(none);
            sum.cells += 1;
            sum.bytes += u64::from(row.value.len);
            (sum.oldest, sum.newest) = (sum.oldest.min(timestamp), sum.newest.max(timestamp));
        }
    }
    (cells.len() as u64, columns)
}

fn counted(store: &Store) -> Option<Vec<ColumnNumbers>> {
    store.table_columns(&table()).unwrap().remove(0).columns
}

fn check(store: &Store, exact: bool, what: &str) {
    let (cells, wanted) = stored(store);
    let numbers = store.table_numbers(&table()).unwrap().remove(0);
    assert_eq!(numbers.cells, cells, "{what}");
    assert_eq!(store.status().unwrap().cells, cells, "{what}");
    let found = counted(store).unwrap();
    assert_eq!(found.len(), wanted.len(), "{what}");
    for column in found {
        let right = &wanted[&column.qualifier];
        assert_eq!((column.cells, column.bytes), (right.cells, right.bytes), "{what}");
        assert!(column.oldest <= right.oldest && column.newest >= right.newest, "{what}: {column:?}, {right:?}");
        assert!(!exact || column == *right, "{what}: {column:?}, {right:?}");
    }
}

#[test]
fn columns_are_counted_right_whatever_happens() {
    for (seed, rules) in
        [(1, FILES), (2, &[("VERSIONS", "2")]), (3, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")])]
    {
        let mut random = rand::rngs::StdRng::seed_from_u64(seed);
        let env = SimEnv::new();
        let mut store = open(&env);
        create(&store, rules);
        for step in 0..300 {
            env.advance(1);
            let (row, q) = (format!("r{}", random.random_range(0..3)), format!("q{}", random.random_range(0..6)));
            let choice = random.random_range(0..100);
            match choice {
                0..60 => drop(put(&store, &row, &q, &vec![7; random.random_range(0..40)])),
                60..75 => unlink(&store, &row, &q),
                75..85 => store.flush(None).unwrap(),
                85..88 => store.compact(&table(), None, CompactionKind::Minor).unwrap(),
                88..92 => store.compact(&table(), None, CompactionKind::Major).unwrap(),
                92..96 => {
                    env.crash(CrashMode::ProcessOnly);
                    drop(store);
                    store = open(&env);
                }
                _ => {
                    store.close().unwrap();
                    env.lose_index();
                    store = open(&env);
                }
            }
            let rebuilt = choice >= 96;
            check(&store, rebuilt, &format!("{rules:?}, step {step}, choice {choice}"));
        }
    }
}

#[test]
fn a_dropped_table_counts_no_more() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "q", b"old");
    store.flush(None).unwrap();
    let old = store.catalogue().unwrap().tables[&table()].families["f"].id;
    store.alter(CatalogueChange::TruncateTable { name: table() }, Origin(0)).unwrap();
    assert_eq!(counted(&store), Some(Vec::new()));
    store.engine.compact_as_needed().unwrap();
    assert!(store.engine.index.columns(old).unwrap().is_empty());
}

#[test]
fn too_many_qualifiers_are_not_counted_until_they_are_gone() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    let many: Vec<PutCell> = (0..=COLUMNS_MAX).map(|n| put_cell(&format!("q{n}"), b"v", Time::Now)).collect();
    let (most, last) = many.split_at(COLUMNS_MAX);
    mutate(&store, "r", Mutation::Put(most.to_vec()), Durability::SyncWal).unwrap();
    assert_eq!(counted(&store).map(|columns| columns.len()), Some(COLUMNS_MAX));
    store.flush(None).unwrap();
    assert_eq!(counted(&store).map(|columns| columns.len()), Some(COLUMNS_MAX));
    mutate(&store, "s", Mutation::Put(last.to_vec()), Durability::SyncWal).unwrap();
    assert_eq!(counted(&store), None, "in memory");
    store.flush(None).unwrap();
    assert_eq!(counted(&store), None);
    let id = store.catalogue().unwrap().tables[&table()].families["f"].id;
    assert!(store.engine.index.columns(id).unwrap().is_empty(), "nothing is kept of them");
    assert_eq!(store.table_numbers(&table()).unwrap()[0].cells as usize, COLUMNS_MAX + 1);
    drop(store);
    env.lose_index();
    let store = open(&env);
    assert_eq!(counted(&store), None, "nor after a rebuild");
    for row in ["r", "s"] {
        let marker = DeleteMarker { kind: DeleteKind::Row, time: Time::AfterNewest, erases: true };
        mutate(&store, row, Mutation::Delete(vec![marker]), Durability::SyncWal).unwrap();
    }
    store.flush(None).unwrap();
    store.compact(&table(), None, CompactionKind::Major).unwrap();
    put(&store, "r", "new", b"value");
    store.flush(None).unwrap();
    assert_eq!(counted(&store).map(|columns| columns.len()), Some(1));
}
