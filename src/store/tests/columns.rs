//! What is counted of families and qualifiers is what is stored, whatever happened.

use rand::{RngExt, SeedableRng};

use super::*;
use crate::backend::{ColumnNumbers, ColumnsPage, CompactionKind};
use crate::format::key;
use crate::store::cursor::walk::Cursor;
use crate::store::layout::far::FAR;

/// Qualifiers of a family that are told one by one.
const MANY: usize = 10_000;

/// Counted cell by cell.
fn stored(store: &Store) -> (u64, BTreeMap<Qualifier, ColumnNumbers>) {
    let id = store.catalogue().unwrap().tables[&table()].families["f"].id;
    let mut cursor = Cursor::new(&store.engine.view(), id, &[], FAR, 1024).unwrap();
    let (mut cells, mut columns): (u64, BTreeMap<Qualifier, ColumnNumbers>) = (0, BTreeMap::new());
    while let (Some(key), Some(cell)) = (cursor.key(), cursor.cell()) {
        cells += 1;
        let key::CellKey { qualifier, timestamp, kind, .. } = key::decode(key).unwrap();
        if kind.is_put() {
            let (name, oldest, newest) = (qualifier.clone(), timestamp, timestamp);
            let none = ColumnNumbers { qualifier: name, cells: 0, bytes: 0, oldest, newest };
            let sum = columns.entry(qualifier).or_insert(none);
            sum.cells += 1;
            sum.bytes += cell.len();
            (sum.oldest, sum.newest) = (sum.oldest.min(timestamp), sum.newest.max(timestamp));
        }
        cursor.advance().unwrap();
    }
    (cells, columns)
}

fn counted(store: &Store) -> Option<Vec<ColumnNumbers>> {
    store.table_columns(&table()).unwrap().remove(0).columns
}

fn check(store: &Store, what: &str) {
    let (cells, wanted) = stored(store);
    let numbers = store.table_numbers(&table()).unwrap().remove(0);
    assert_eq!(numbers.cells, cells, "{what}");
    assert_eq!(store.status().unwrap().cells, cells, "{what}");
    let wanted: Vec<ColumnNumbers> = wanted.into_values().collect();
    assert_eq!(counted(store).unwrap(), wanted, "{what}");
}

fn rename(store: &Store, row: &str, qualifier: &str, to: u32) {
    let mode = if to == 0 { RenameMode::NoReplace } else { RenameMode::Replace };
    let rename = RenameCell::newest(column(row, qualifier), column("r1", &format!("q{to}")), mode);
    if let Err(e) = store.rename_cell(&rename) {
        assert!(matches!(e.kind, ErrorKind::NotFound | ErrorKind::AlreadyExists), "{e}");
    }
}

fn set_mtime(store: &Store, row: &str, qualifier: &str) {
    if let Some(cell) = store.newest(&column(row, qualifier), TimeRange::ALL).unwrap() {
        let mtime = Some(FileTime { seconds: 5, nanos: 0 });
        store.set_attributes(&column(row, qualifier), &cell, &timed(mtime), Origin(0)).unwrap();
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
                0..40 => drop(put(&store, &row, &q, &vec![7; random.random_range(0..40)])),
                40..52 => rename(&store, &row, &q, random.random_range(0..6)),
                52..60 => set_mtime(&store, &row, &q),
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
                    store = open(&env);
                }
            }
            check(&store, &format!("{rules:?}, step {step}, choice {choice}"));
        }
    }
}

#[test]
fn a_truncated_table_counts_no_more() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    put(&store, "r", "q", b"old");
    store.flush(None).unwrap();
    store.alter(CatalogueChange::TruncateTable { name: table() }, Origin(0)).unwrap();
    assert_eq!(counted(&store), Some(Vec::new()));
    assert_eq!(store.table_numbers(&table()).unwrap()[0].cells, 0);
}

#[test]
fn too_many_qualifiers_are_not_counted_until_they_are_gone() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")]);
    let many: Vec<PutCell> = (0..=MANY).map(|n| put_cell(&format!("q{n}"), b"v", Time::Now)).collect();
    let (most, last) = many.split_at(MANY);
    mutate(&store, "r", Mutation::Put(most.to_vec()), Durability::SyncWal).unwrap();
    assert_eq!(counted(&store).map(|columns| columns.len()), Some(MANY));
    store.flush(None).unwrap();
    assert_eq!(counted(&store).map(|columns| columns.len()), Some(MANY));
    mutate(&store, "s", Mutation::Put(last.to_vec()), Durability::SyncWal).unwrap();
    assert_eq!(counted(&store), None, "in memory");
    store.flush(None).unwrap();
    assert_eq!(counted(&store), None);
    assert_eq!(store.table_numbers(&table()).unwrap()[0].cells as usize, MANY + 1);
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

#[test]
fn qualifiers_are_counted_page_by_page() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    for n in 0..300 {
        put(&store, &format!("r{}", n % 7), &format!("q{:03}", (n * 37) % 100), &vec![b'x'; n % 5]);
        if n % 90 == 0 {
            store.flush(None).unwrap();
        }
    }
    unlink(&store, "r1", "q037");
    let (_, wanted) = stored(&store);
    let wanted: Vec<ColumnNumbers> = wanted.into_values().collect();
    for limit in [1, 7, 99, 100, 101] {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = ColumnsPage { table: table(), family: "f".into(), after, limit };
            let columns = store.columns_page(&page).unwrap();
            let ended = columns.len() < limit;
            after = columns.last().map(|column| column.qualifier.clone());
            found.extend(columns);
            if ended {
                break;
            }
        }
        assert_eq!(found, wanted, "{limit}");
    }
}
