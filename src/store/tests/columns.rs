//! What is counted of families and qualifiers is what is stored, whatever happened.

use rand::{RngExt, SeedableRng};

use super::super::sweep::index_cursor;
use super::*;
use crate::backend::{ColumnNumbers, CompactionKind};
use crate::index::{COLUMNS_MAX, key};
use crate::wal::{RECORD_HEADER, SEGMENT_HEADER};

/// A store that comes by all its ways of moving cells.
fn open_small(env: &SimEnv) -> Store {
    let mut options = options(env);
    options.segment_bytes = 3000;
    Store::open(options).unwrap()
}

/// Bytes of the values that rows of the index point to, each counted once.
fn pointed_to(store: &Store) -> u64 {
    let mut places = BTreeMap::new();
    let mut cursor = index_cursor(&store.engine.index, &[], vec![0xFF; 8]);
    while let Some((_, row)) = cursor.pop().unwrap() {
        let value = row.value;
        places.insert((value.segment, value.offset), u64::from(value.head_len) + u64::from(value.stored_len));
    }
    places.values().sum()
}

/// Bytes of the entries that have another's value.
fn shares(store: &Store) -> u64 {
    let mut bytes = 0;
    let mut cursor = index_cursor(&store.engine.index, &[], vec![0xFF; 8]);
    while let Some((key, row)) = cursor.pop().unwrap() {
        if row.own.is_some() {
            let key::CellKey { family, row: name, qualifier, timestamp, kind, seq } = key::decode(&key).unwrap();
            let entry = crate::wal::Entry { family, row: name, qualifier, timestamp, kind, seq, tags: row.tags };
            bytes += u64::from(crate::wal::share_len(&entry, &row.value));
        }
    }
    bytes
}

/// Counted cell by cell.
fn stored(store: &Store) -> (u64, BTreeMap<Qualifier, ColumnNumbers>) {
    let id = store.catalogue().unwrap().tables[&table()].families["f"].id;
    let mut cells = Vec::new();
    let mut cursor = index_cursor(&store.engine.index, &key::family_prefix(id), key::family_end(id));
    while let Some(cell) = cursor.pop().unwrap() {
        cells.push(cell);
    }
    for memtable in store.engine.tables.load().all() {
        cells.extend(memtable.unflushed(SeqNo(u64::MAX)).filter(|(key, _)| key::family_of(key) == Some(id)));
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
    store.engine.settle_shares().unwrap();
    let (live, pointed_to) = (store.engine.meta.lock().live_bytes(), pointed_to(store) + shares(store));
    let segments = store.engine.log.segments();
    // What goes while unflushed cells may share it counts until these are flushed.
    match segments.ids().into_iter().any(|id| store.engine.may_be_shared(id)) {
        true => assert!(live >= pointed_to, "{what}: {live}, {pointed_to}"),
        false => assert_eq!(live, pointed_to, "{what}"),
    }
    let found = counted(store).unwrap();
    assert_eq!(found.len(), wanted.len(), "{what}");
    for column in found {
        let right = &wanted[&column.qualifier];
        assert_eq!((column.cells, column.bytes), (right.cells, right.bytes), "{what}");
        assert!(column.oldest <= right.oldest && column.newest >= right.newest, "{what}: {column:?}, {right:?}");
        assert!(!exact || column == *right, "{what}: {column:?}, {right:?}");
    }
}

fn rename(store: &Store, row: &str, qualifier: &str, to: u32) {
    let mode = if to == 0 { RenameMode::NoReplace } else { RenameMode::Replace };
    let (from, to) = (column(row, qualifier), column("r1", &format!("q{to}")));
    let rename = RenameCell { from, from_version: None, to, to_version: None, mode, origin: Origin(0) };
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
fn live_bytes_and_what_is_around_them_are_all_of_the_log() {
    let env = SimEnv::new();
    let store = open(&env);
    create(&store, FILES);
    let cell = put(&store, "r", "q", &[7; 1000]);
    let mtime = Some(FileTime { seconds: 5, nanos: 0 });
    store.set_attributes(&column("r", "q"), &cell, &timed(mtime), Origin(0)).unwrap();
    rename(&store, "r", "q", 3);
    for _ in 0..2 {
        let status = store.status().unwrap();
        // Three records, of which all entries are in memory, then in the index.
        assert_eq!(status.live_bytes + 3 * RECORD_HEADER as u64 + SEGMENT_HEADER, status.segment_bytes);
        store.flush(None).unwrap();
    }
}

#[test]
fn columns_are_counted_right_whatever_happens() {
    for (seed, rules) in
        [(1, FILES), (2, &[("VERSIONS", "2")]), (3, &[("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")])]
    {
        let mut random = rand::rngs::StdRng::seed_from_u64(seed);
        let env = SimEnv::new();
        let mut store = open_small(&env);
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
                    store = open_small(&env);
                }
                _ => {
                    store.close().unwrap();
                    env.lose_index();
                    store = open_small(&env);
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
    let store = open_small(&env);
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
    let store = open_small(&env);
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
    let store = open_small(&env);
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
