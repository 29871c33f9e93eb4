//! Very many small cells on a small disk: what the index takes for them is more than what their values take.

use std::path::{Path, PathBuf};

use cellfs::ErrorKind;
use cellfs::backend::{Backend, CompactionKind};
use cellfs::model::*;
use cellfs::store::{Store, StoreOptions};

use super::full_disk::SmallDisk;

fn table() -> TableName {
    TableName::parse("t").unwrap()
}

fn create(store: &Store) {
    let attributes = [("VERSIONS", "1"), ("NEW_VERSION_BEHAVIOR", "true")];
    let attributes = attributes.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let schema = TableSchema::new(table(), [FamilySchema::new("f", attributes)]);
    store.alter(CatalogueChange::CreateTable(schema), Origin(0)).unwrap();
}

fn row(n: u32) -> String {
    format!("row {:03}", n % 500)
}

fn qualifier(n: u32) -> Vec<u8> {
    format!("qualifier {n:07}").into_bytes()
}

fn content(n: u32, len: usize) -> Vec<u8> {
    n.to_le_bytes().iter().copied().cycle().take(len).collect()
}

fn mutate(store: &Store, n: u32, mutation: Mutation) -> Result<(), ErrorKind> {
    let mutations = RowMutations {
        table: table(),
        row: row(n).into_bytes(),
        mutations: vec![mutation],
        durability: None,
        origin: Origin(0),
    };
    store.mutate(mutations, None).map(|_| ()).map_err(|e| e.kind)
}

fn put(store: &Store, n: u32, len: usize) -> Result<(), ErrorKind> {
    let value = Value::Bytes(content(n, len));
    let (family, time) = ("f".to_owned(), Time::AfterNewest);
    let cell = PutCell {
        family,
        qualifier: qualifier(n),
        time,
        value,
        ttl_ms: None,
        file: Default::default(),
        ended_at: None,
    };
    mutate(store, n, Mutation::Put(vec![cell]))
}

fn delete(store: &Store, n: u32) -> Result<(), ErrorKind> {
    let kind = DeleteKind::Column { family: "f".into(), qualifier: qualifier(n) };
    mutate(store, n, Mutation::Delete(vec![DeleteMarker { kind, time: Time::AfterNewest, erases: false }]))
}

fn check(store: &Store, n: u32, len: usize) {
    let column = ColumnKey { table: table(), row: row(n).into_bytes(), family: "f".into(), qualifier: qualifier(n) };
    let cell = store.newest(&column, TimeRange::ALL).unwrap().unwrap_or_else(|| panic!("cell {n} is gone"));
    assert!(store.read_value(&cell, 0, len).unwrap() == content(n, len), "cell {n} is not what was acknowledged");
}

fn make_room(store: &Store, what: &str) {
    store.flush(None).unwrap_or_else(|e| panic!("{what}: flush: {e}"));
    store.compact(&table(), None, CompactionKind::Major).unwrap_or_else(|e| panic!("{what}: compact: {e}"));
}

/// What takes room: files, and those that are open without a name.
fn occupied(store: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    for directory in [store.to_owned(), store.join("segments"), store.join("log"), "/proc/self/fd".into()] {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            let name = std::fs::read_link(entry.path()).unwrap_or_else(|_| entry.path());
            let bytes = std::fs::metadata(entry.path()).map_or(0, |metadata| metadata.len());
            if name.starts_with(store) && bytes > 0 {
                found.push((name, bytes));
            }
        }
    }
    found
}

/// Writes up to `count` cells, deletes all of them and writes again, without a restart.
fn fill_and_empty(len: usize, count: u32) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let Some(_disk) = SmallDisk::over(&path, "100m") else { return };
    let store = Store::open(StoreOptions::new(&path)).unwrap();
    create(&store);
    let refused = (0..count).find_map(|n| put(&store, n, len).err().map(|kind| (n, kind)));
    let kept = refused.map_or(count, |(n, kind)| {
        assert_eq!(kind, ErrorKind::NoSpace, "cell {n}");
        n
    });
    println!("{kept} cells of {len} bytes take {:?}", occupied(&path).iter().map(|(_, bytes)| bytes).sum::<u64>());
    (0..kept).step_by(97).for_each(|n| check(&store, n, len));
    let mut rooms = 0;
    for n in 0..kept {
        match delete(&store, n) {
            Err(ErrorKind::NoSpace) => {
                rooms += 1;
                make_room(&store, &format!("after {n} of {kept} deletes"));
                (n..kept).step_by(997).for_each(|n| check(&store, n, len));
                delete(&store, n).unwrap_or_else(|e| panic!("delete {n} of {kept} after room was made: {e:?}"));
            }
            deleted => deleted.unwrap(),
        }
    }
    make_room(&store, "after all");
    let mut status = store.status().unwrap();
    // What is unlinked takes room until the last who reads it is done.
    let patience = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while status.disk_available * 2 <= status.disk_total && std::time::Instant::now() < patience {
        std::thread::sleep(std::time::Duration::from_millis(50));
        status = store.status().unwrap();
    }
    println!(
        "{kept} of {count} cells of {len} bytes fitted, {rooms} times room had to be made; {} of {} bytes are free now",
        status.disk_available, status.disk_total
    );
    assert!(status.disk_available * 2 > status.disk_total, "{status:?}, {:?}", occupied(&path));
    assert_eq!(status.cells, 0, "{status:?}");
    (0..1000).for_each(|n| put(&store, n, len).unwrap_or_else(|e| panic!("cell {n} once there is room: {e:?}")));
    (0..1000).for_each(|n| check(&store, n, len));
    assert_eq!(store.check(&mut |_| Ok(())).unwrap().damages, 0);
    store.close().unwrap();
    let store = Store::open(StoreOptions::new(&path)).unwrap();
    (0..1000).for_each(|n| check(&store, n, len));
}

#[test]
fn full_disk_of_very_many_cells_of_a_few_kilobytes() {
    fill_and_empty(5_000, 25_000);
}

#[test]
fn full_disk_of_very_many_tiny_cells() {
    fill_and_empty(100, 500_000);
}
