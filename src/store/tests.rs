//! Tests of the store as a whole, on a simulated machine.

mod again;
mod altering;
mod as_of;
mod bulk_load;
mod caching;
mod cells;
mod checks;
mod clock;
mod columns;
mod compaction;
mod concurrent;
mod constraints;
mod count;
mod damage;
mod decay;
mod doubt;
mod drafts;
mod dropped;
mod expiry;
mod failures;
mod feed;
mod histories;
mod index_loads;
mod indexes;
mod judged;
mod killed;
mod large_values;
mod listings;
mod many;
mod moved;
mod mtimes;
mod plain;
mod random_constraints;
mod repair;
mod rig;
mod secondary;
mod slices;
mod snapshots;
mod space;
mod torture;
mod waits;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Store;
use super::options::{Background, StoreOptions};
use crate::ErrorKind;
use crate::backend::{Backend, RenameCell, RenameMode, RowListing, Versions};
use crate::env::{CrashMode, FailMode, SimEnv};
use crate::model::*;

/// A change of the modification time.
fn timed(mtime: Option<FileTime>) -> AttributeChange {
    AttributeChange { file: FileChange::of_time(mtime), ttl_ms: None }
}

fn options(env: &SimEnv) -> StoreOptions {
    let mut options = StoreOptions::new("/store");
    options.env = Arc::new(env.clone());
    options.background = Background::Off;
    // What is reserved is measured by it, and written.
    options.memtable_bytes = 1 << 20;
    options
}

fn open(env: &SimEnv) -> Store {
    Store::open(options(env)).unwrap()
}

fn table() -> TableName {
    TableName::parse("t").unwrap()
}

fn schema(attributes: &[(&str, &str)]) -> TableSchema {
    let attributes = attributes.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    TableSchema::new(table(), [FamilySchema::new("f", attributes)])
}

const FILES: &[(&str, &str)] = &[("VERSIONS", "10"), ("NEW_VERSION_BEHAVIOR", "true"), ("KEEP_DELETED_CELLS", "TRUE")];

fn create(store: &Store, attributes: &[(&str, &str)]) {
    store.alter(CatalogueChange::CreateTable(schema(attributes)), Origin(0)).unwrap();
}

fn column(row: &str, qualifier: &str) -> ColumnKey {
    ColumnKey { table: table(), row: row.into(), family: "f".into(), qualifier: qualifier.into() }
}

fn put_cell(qualifier: &str, value: &[u8], time: Time) -> PutCell {
    PutCell {
        family: "f".into(),
        qualifier: qualifier.into(),
        time,
        value: Value::Bytes(value.to_vec()),
        ttl_ms: None,
        file: Default::default(),
        ended_at: None,
    }
}

fn mutate(store: &Store, row: &str, mutation: Mutation, durability: Durability) -> crate::Result<Mutated> {
    let mutations = RowMutations {
        table: table(),
        row: row.into(),
        mutations: vec![mutation],
        durability: Some(durability),
        origin: Origin(0),
    };
    store.mutate(mutations, None)
}

fn put(store: &Store, row: &str, qualifier: &str, value: &[u8]) -> CellInfo {
    let mutation = Mutation::Put(vec![put_cell(qualifier, value, Time::AfterNewest)]);
    mutate(store, row, mutation, Durability::SyncWal).unwrap().written.remove(0)
}

fn unlink(store: &Store, row: &str, qualifier: &str) {
    let kind = DeleteKind::Column { family: "f".into(), qualifier: qualifier.into() };
    let marker = DeleteMarker { kind, time: Time::AfterNewest, erases: false };
    mutate(store, row, Mutation::Delete(vec![marker]), Durability::SyncWal).unwrap();
}

/// What is shown is the same at once, after a clean end, and once it is flushed.
fn through_close_and_flush(env: &SimEnv, store: Store, check: impl Fn(&Store)) -> Store {
    check(&store);
    store.close().unwrap();
    let store = open(env);
    check(&store);
    store.flush(None).unwrap();
    check(&store);
    store
}

fn value(store: &Store, row: &str, qualifier: &str) -> Option<Vec<u8>> {
    let cell = store.newest(&column(row, qualifier), TimeRange::ALL).unwrap()?;
    Some(store.read_value(&cell, 0, usize::MAX).unwrap())
}

fn rows(store: &Store) -> Vec<String> {
    let (time_range, which) = (TimeRange::ALL, Versions::Live);
    let listing = RowListing { table: table(), after: None, before: vec![], time_range, which, limit: 10_000 };
    store.list_rows(&listing).unwrap().iter().map(|row| String::from_utf8(row.to_vec()).unwrap()).collect()
}

fn env_bytes(env: &SimEnv, path: &std::path::Path) -> Vec<u8> {
    use crate::env::Env;
    env.read_file(path).unwrap()
}
